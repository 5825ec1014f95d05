"""Run on a cluster.

Trials are data, and any engine gives the same results to the last bit: in this process, on all
processors of the machine, or on a Ray cluster.
"""

# %%
from gim_lab import Trial, execute

trials = [
    Trial("riverswim", agent, episodes=100, seed=k) for agent in ("psrl", "random") for k in (0, 1)
]
results = execute(trials, engine="serial")  # or "processes"; or "ray", address="auto"
for agent, runs in results.groups("agent"):
    print(agent, runs.column("score").round(3))

# %% [markdown]
# On the command line: `gim run study.toml --engine ray --address auto --out results`. Each finished
# trial is kept; the same command goes on where it was stopped, whatever stopped it.
