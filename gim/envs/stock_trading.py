"""Stock trading: sectors of stocks that rise together."""

from __future__ import annotations

from functools import reduce
from typing import Annotated

import numpy as np
from scipy import sparse

from gim._base.params import Within
from gim.envs.base import check_entries, described, made_of, task
from gim.mdp.tabular import TabularMDP

KEEP, BUY, SELL = range(3)


@task("gim/StockTrading-v0", examples=("sectors=1,horizon=8",))
def stock_trading(
    sectors: Annotated[int, Within(1, 20), "sectors of the market"] = 3,
    stocks: Annotated[int, Within(1, 20), "stocks of each sector"] = 2,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
) -> TabularMDP:
    """Own the sectors that rise (Strehl, Diuk and Littman, 2007).

    ## Description
    The stock-trading world of the literature on learning the structure of factored MDPs: 3 sectors
    of 2 stocks. Each stock of a sector rises with probability 0.1 + 0.8 times the share of the
    sector's stocks that have risen, else it falls, independently of all others. So a stock depends
    on its sector alone, and trading moves no price. The horizon is this project's.

    ## Action Space
    `Discrete(2 sectors + 1)`: 0 does nothing, k buys sector k, `sectors` + k sells it (counted from
    1); it is owned, or not, from the next step on. Buying what is owned changes nothing.

    ## Observation Space
    `Discrete(2^(sectors (stocks + 1)))`: for each sector whether it is owned and whether each of
    its stocks has risen; the variables of the first sector change slowest.

    ## Starting State
    Nothing owned, nothing has risen.

    ## Rewards
    For each sector owned before the step: 1 for each of its stocks that has risen, -1 for each that
    has fallen.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `sectors`, `stocks` and `horizon`.

    ## Version History
    * v0: first version
    """
    states = made_of(
        **{
            name: range(2)
            for k in range(1, sectors + 1)
            for name in (f"own{k}", *(f"stock{k}_{i}" for i in range(1, stocks + 1)))
        }
    )
    check_entries("stock_trading", len(states.codes) * (2 * sectors + 1) * 2 ** (sectors * stocks))
    tables = [sector(stocks, order) for order in (KEEP, BUY, SELL)]
    orders = [(KEEP, 0), *((order, k) for order in (BUY, SELL) for k in range(sectors))]
    P = [
        reduce(sparse.kron, [tables[order if j == k else KEEP] for j in range(sectors)])
        for order, k in orders
    ]
    names = ["nothing", *(f"{do} {k}" for do in ("buy", "sell") for k in range(1, sectors + 1))]
    bits = states.codes.reshape(-1, sectors, stocks + 1)  # [S, sectors, own and stocks]
    paid = (bits[:, :, 0] * (2 * bits[:, :, 1:] - 1).sum(axis=2)).sum(axis=1)
    return TabularMDP(
        P,
        np.repeat(paid[:, None], len(P), axis=1),
        axes="ASS",
        start=0,
        horizon=horizon,
        **described(states, names),
    )


def sector(stocks: int, order: int) -> sparse.csr_array:
    """Transitions of one sector under an order for it, [2^(stocks + 1), 2^(stocks + 1)]."""
    bits = made_of(own=range(2), **{str(i): range(2) for i in range(stocks)}).codes
    own, risen = bits[:, 0], bits[:, 1:]
    owned = own if order == KEEP else np.full(own.size, order == BUY)
    rises = 0.1 + 0.8 * risen.mean(axis=1)
    n = risen.sum(axis=1)  # of the next state
    p = rises[:, None] ** n * (1 - rises)[:, None] ** (stocks - n)
    return sparse.csr_array(p * (owned[:, None] == own))
