"""Are my runs enough?

Two agents on the same seeds: the mean difference with its interval, and how many runs would be
needed should the difference be what it seems.
"""

# %%
from gim_lab import execute, grid
from gim_lab.experiments.statistics import compare, hint

trials = grid(["casinoland"], ["rmax:m=10", "psrl"], episodes=200, seeds=range(6))
results = execute(trials, engine="serial")
rmax, psrl = (results.where(agent=name).column("score") for name in ("rmax:m=10", "psrl"))
found = compare(psrl, rmax)
print(
    f"psrl - rmax: {found.difference.mean:+.3f}, 95 % {found.difference.low:+.3f} to "
    f"{found.difference.high:+.3f}"
)
print(hint("rmax", "psrl", found) or "told apart")

# %% [markdown]
# On the command line `gim compare casinoland --agents "rmax:m=10,psrl" --runs 6` prints the same.
