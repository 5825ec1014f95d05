"""Inventory of two items that share a lorry."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import LISTED, check_entries, described, made_of, task
from gim.envs.inventory import leftovers
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP


@task("gim/Inventory2-v0", examples=("capacity=2,largest=1,horizon=8",))
def inventory2(
    capacity: Annotated[int, Within(1), "units of each item that fit in the store"] = 9,
    largest: Annotated[int, Within(0), "units of the largest order of an item"] = 4,
    demand1: Annotated[float, Within(0, 10_000), "mean of the Poisson demand of item 1"] = 2.0,
    demand2: Annotated[float, Within(0, 10_000), "mean of the Poisson demand of item 2"] = 1.0,
    price: Annotated[float, "earned for a unit sold"] = 4.0,
    cost: Annotated[float, "paid for a unit that arrives and fits"] = 2.0,
    holding: Annotated[float, "paid for a unit left over"] = 0.1,
    fixed: Annotated[float, "paid for an order, of one item or both"] = 3.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
) -> TabularMDP:
    """Run a store of two items whose orders share one fixed cost.

    ## Description
    The joint replenishment problem (Goyal and Satir, 1989, for a survey) with two items, each as
    in `inventory`: y = min(s + a, capacity), s' = max(y - d, 0), independent Poisson demands.
    Fetching both at once costs no more than fetching one, which is all that ties them together.
    The numbers are this project's, those of `inventory` on a smaller scale.

    ## Action Space
    `Discrete((largest + 1)^2)`: the orders of both items, two ordinal variables; the second runs
    faster.

    ## Observation Space
    `Discrete((capacity + 1)^2)`: the stocks of both items; the second runs faster.

    ## Starting State
    Nothing in stock.

    ## Rewards
    By the next state: `price` (y - s') - `cost` (y - s) - `holding` s', summed over the items, less
    `fixed` where anything is ordered.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `capacity`, `largest`, `demand1`, `demand2`, `price`, `cost`, `holding`, `fixed`, `horizon`.

    ## Version History
    * v0: first version
    """
    states = made_of(stock1=range(capacity + 1), stock2=range(capacity + 1))
    actions = made_of(order1=range(largest + 1), order2=range(largest + 1))
    n = capacity + 1
    check_entries("inventory2", n**4 * (largest + 1) ** 2, LISTED)
    chances = [leftovers(capacity, demand) for demand in (demand1, demand2)]  # [y, s'] each
    y = np.minimum(states.codes[:, None] + actions.codes, capacity)  # [S, A, 2]
    both = (chances[0][y[..., 0]][..., :, None] * chances[1][y[..., 1]][..., None, :]).reshape(
        len(states.codes), len(actions.codes), n * n
    )
    s, a, t = np.nonzero(both)
    before, filled, left = states.codes[s], y[s, a], states.codes[t]
    r = (price * (filled - left) - cost * (filled - before) - holding * left).sum(axis=1)
    r -= fixed * (actions.codes[a] > 0).any(axis=1)
    return from_outcomes(
        np.column_stack([s, a, t, both[s, a, t], r]),
        start=0,
        horizon=horizon,
        **described(states, actions),
    )
