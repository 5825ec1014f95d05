"""My CSV log: a policy from what was recorded.

No simulator, only a table of what happened. Here it is made up by a shop that orders at random;
yours comes from a file.
"""

# %%
import csv
import tempfile
from pathlib import Path

import numpy as np

import gim

rng = np.random.default_rng(0)
path = Path(tempfile.mkdtemp()) / "orders.csv"
stock, rows = 0, []
for _ in range(4000):
    order = int(rng.integers(0, 6))
    left = max(stock + order - int(rng.poisson(3)), 0)
    left = min(left, 12)
    rows.append((stock, order, 3 * (stock + order - left) - 2 * order - 0.2 * left, left))
    stock = left
with path.open("w", newline="") as file:
    csv.writer(file).writerows([("stock", "order", "profit", "next"), *rows])

# %%
log = gim.from_log(path, state="stock", action="order", reward="profit", next_state="next")
log

# %% [markdown]
# `learn` gives a policy that does not trust what was hardly tried, its worth with bounds, and
# what to try first to know more.

# %%
learned = gim.learn(log, discount=0.9)
print(learned.value)
print([learned.policy(s) for s in (0, 3, 6, 9)])
