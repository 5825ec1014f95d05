"""Shops of one chain: worlds and logs of units that belong together."""

import numpy as np

from gim.belief.family.units import Space, rows_of
from gim.mdp.variables import Variables
from gim_lab.experiments.many.worlds import shop

STOCK, ORDER = 15, 7


def paid(stock, order, left, come):
    """What a day pays; the order is paid for, whether it comes or not."""
    y = min(stock + come, STOCK)
    return 5 * (y - left) - 2.5 * order - 0.3 * left - 2 * (order > 0)


def shop_rows(means, days, seed=0, lost=None):
    """Rows (shop, stock, order, paid, left)."""
    rng, found = np.random.default_rng(seed), []
    for unit, mean in enumerate(means):
        stock = int(rng.integers(STOCK + 1))
        for _ in range(days):
            order = int(np.clip(9 - stock, 0, ORDER)) if rng.random() < 0.7 else rng.integers(8)
            come = 0 if lost is not None and rng.random() < lost[unit] else order
            y = min(stock + come, STOCK)
            left = y - min(y, rng.poisson(mean))
            found.append((unit, stock, int(order), paid(stock, order, left, come), left))
            stock = left
    return found


def shop_log(rows, mean=3.0, seed=0):
    """Rows (stock, order, paid, left) of one shop, whose habit is to order up to nine."""
    found = shop_rows([mean], rows, seed)
    return [(int(stock), order, float(pay), int(left)) for _, stock, order, pay, left in found]


def shop_mdp(mean):
    """A shop as it is."""
    return shop(mean)


def shop_space():
    """What shops are made of."""
    stock, order = Variables({"stock": np.arange(16)}), Variables({"order": np.arange(8)})
    return Space(np.ones((16, 8), bool), stock, order)


def counted(found, A=8):
    """Rows as a family takes them."""
    shop, stock, order, pay, left = np.array(found).T
    return rows_of(shop, stock, order, pay, left, A)
