"""Can I watch it learn?

A film of three tables, states down and actions across: which pairs were met, the transitions to
one state as they are believed by then, and how far they are off. Here a grid of 5 x 5, and the
transitions to its middle.

![What is known, what is learned and the error, step by step](../pictures/walk.gif)
"""

# %%
import tempfile
from pathlib import Path

import gim
import gim.plot

film = Path(tempfile.mkdtemp()) / "walk.gif"
grid = gim.make("gridworld:height=5,width=5,horizon=20")
gim.plot.walk(gim.Analogist(), grid, film, s=12, episodes=12, frames=20)

# %% [markdown]
# That is the last frame; the film is the file. The table in the middle is right before the first
# one is full: pairs that were never met are predicted from those that were. The same learner
# without inference has met more pairs after as many steps, and is further off:

# %%
gim.plot.walk(gim.Analogist(infer=None), grid, s=12, episodes=12, frames=2)

# %% [markdown]
# With `gim.GIM(m=5)` the first table is the known-ness mask of the paper: a pair counts as known
# after m visits, and the completion comes at once when a share rho of the pairs is known.
