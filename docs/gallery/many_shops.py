"""Forty shops: one Parquet file, forty policies.

Each shop has two months of days, too few to learn from alone. Together they show the rule that all
follow, how they differ, and which of them do not get all that they order.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import gim

SHOPS, DAYS = 40, 60
rng = np.random.default_rng(0)
demand = np.clip(3 * np.exp(rng.normal(0, 0.45, SHOPS)), 0.5, 9)
lost = np.where(np.arange(SHOPS) % 2 == 1, 0.2, 0.0)  # orders that are paid and never come
rows = []
for shop in range(SHOPS):
    stock = int(rng.integers(16))
    for day in range(DAYS):
        usual = int(np.clip(9 - stock, 0, 7))
        order = usual if rng.random() < 0.7 else int(rng.integers(8))
        have = min(15, stock + order * int(rng.random() >= lost[shop]))
        sold = min(have, int(rng.poisson(demand[shop])))
        profit = 5 * sold - 2.5 * order - 0.3 * (have - sold) - 2 * (order > 0)
        rows.append((f"shop {shop + 1:02}", day, stock, order, profit, have - sold))
        stock = have - sold
columns = ("shop", "day", "stock", "order", "profit", "left")
table = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
path = Path(tempfile.mkdtemp()) / "shops.parquet"
parquet.write_table(table, path)
print(f"{path.name}: {table.num_rows:,} rows of {', '.join(columns)}")

# %%
names = {"state": "stock", "action": "order", "reward": "profit", "next_state": "left"}
log = gim.from_log(path, **names, unit="shop", step="day")
shops = gim.learn(log, horizon=30)
print(str(shops.family).replace("; ", "\n"))

# %% [markdown]
# Demand is not in the file, nor which orders came: what a day paid and left shows both. What was
# drawn above lies within the interval of most shops.

# %%
print("\n".join(shops.table().splitlines()[:7]))
print(f"shop 01 was drawn with a demand of {demand[0]:.2f}, shop 02 with {demand[1]:.2f}")
slow, fast = (f"shop {k + 1:02}" for k in (demand.argmin(), demand.argmax()))
for shop in (slow, fast):
    print(shop, "orders", [int(shops[shop].policy(stock)) for stock in range(0, 16, 3)])
print("a new shop  ", [int(shops.new.policy(stock)) for stock in range(0, 16, 3)])

# %% [markdown]
# ## What it is worth
#
# As the shops were made up, the truth is known: of what could be gained over what was done, so much
# is, with the others and from each shop's own days alone.

# %%
from gim_lab.experiments.many.worlds import shop as world  # noqa: E402

gained = np.zeros((2, 2))
for k, (name, part) in enumerate(log.by_unit().items()):
    truth = world(demand[k], lost[k])
    for row, learned in zip(gained, (shops[name], gim.learn(part, horizon=30)), strict=True):
        found = learned.compare(truth)
        row += found["return"] - found["baseline"], found["optimal"] - found["baseline"]
together, alone = gained[:, 0] / gained[:, 1]
print(f"with the others {together:.2f}, alone {alone:.2f}")

# %% [markdown]
# ## A map
#
# Who is where: each shop with its interval of nine in ten; a colour for those that lose orders.

# %%
gim.plot.family(shops)

# %% [markdown]
# ## Where to look
#
# More rows help most where the plan still hangs on what is not known; `fits` in the table is lowest
# in shops that are least like the others.

# %%
for each in shops.wanted[:3]:
    print(f"{each.unit}: {each.rows} more rows bring {each.gain:.2f}, all of it {each.most:.2f}")

# %% [markdown]
# On the command line, with a folder for each shop and one page for all:
# `gim learn shops.parquet --state stock --action order --reward profit --next left --unit shop
# --step day --horizon 30 --out shops`. More: [families](../families.md).
