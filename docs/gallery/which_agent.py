"""Which agent should I take?

Begin with the default, `analogist`: it infers what variables do and falls back on counting where
they do nothing. Where a step must take microseconds, or there are very many episodes, take a plain
learner. Look for yourself on a world like yours:
"""

# %%
import gim
import gim.plot

agents = ("psrl", "ucbvi", "q_learning")
runs = {name: gim.run(name, "riverswim", episodes=300, seeds=range(5)) for name in agents}
for name, group in runs.items():
    spent = sum(t for phase, t in group[0].seconds.items() if phase != "compiling")
    print(f"{name:12} score {group.score:.2f}, milliseconds {1000 * spent:.2f}")

# %% [markdown]
# The dashed line is the optimum. Regret tells apart curves that lie on each other.

# %%
gim.plot.curves(runs)

# %% [markdown]
# | you have | take |
# | --- | --- |
# | variables (stock, row, queue), few episodes | `analogist` |
# | no structure, a model may be learned | `psrl`, `ucbvi` |
# | many cheap episodes, no model | `q_learning` |
# | the paper's algorithm | `gim.GIM.paper()` |
# | a log and no simulator | `gim.learn` |
