"""Inventory: how much to order when sales are uncertain and what is not in stock is lost."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim.envs.base import LISTED, check_entries, described, made_of, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP


@task("gim/Inventory-v0", examples=("capacity=6,largest=3,demand=2.0,horizon=8",))
def inventory(
    capacity: Annotated[int, Within(1), "units that fit in the store"] = 50,
    largest: Annotated[int, Within(0), "units of the largest order"] = 20,
    demand: Annotated[float, Within(0, 10_000), "mean of the Poisson demand of a step"] = 8.0,
    lead: Annotated[int, Within(0, 9), "steps from an order to its arrival"] = 0,
    price: Annotated[float, "earned for a unit sold"] = 4.0,
    cost: Annotated[float, "paid for a unit that arrives and fits"] = 2.0,
    holding: Annotated[float, "paid for a unit left over"] = 0.1,
    fixed: Annotated[float, "paid for an order of any size"] = 3.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
) -> TabularMDP:
    """Run a store with lost sales, a fixed cost of ordering, and perhaps a lead time.

    ## Description
    The single-item inventory of the textbooks (Puterman, 1994, section 3.2; Scarf, 1960, for the
    fixed cost), with numbers of this project. With y = min(s + arriving, capacity) units for sale
    and Poisson demand d, s' = max(y - d, 0) are left: what is asked for beyond y is lost, so that
    demand shows only where stock is left over. Ordering 5 at stock 10 is like ordering 6 at stock
    9: both leave from the same y.

    ## Action Space
    `Discrete(largest + 1)`: the units ordered, an ordinal variable. Without a lead time they arrive
    at once, before the demand; what does not fit is refused and not paid for.

    ## Observation Space
    `Discrete`: the stock, 0 to `capacity`. With a lead time also what is under way: the variable
    `due_k` arrives in k steps, `due_0` before the demand of this step. An order joins the end.

    ## Starting State
    Nothing in stock, nothing under way.

    ## Rewards
    By the next state: `price` (y - s') - `cost` (y - s) - `holding` s' - `fixed` [a > 0].

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `capacity`, `largest`, `demand`, `lead`, `price`, `cost`, `holding`, `fixed` and `horizon`.

    ## Version History
    * v0: first version
    """
    on_the_way = {f"due_{k}": range(largest + 1) for k in range(lead)}
    states = made_of(stock=range(capacity + 1), **on_the_way)
    actions = made_of(order=range(largest + 1))
    check_entries("inventory", len(states.codes) * (largest + 1) * (capacity + 1), LISTED)
    chances = leftovers(capacity, demand)  # [y, s']
    stock, order = states.codes[:, 0], actions.codes[:, 0]
    due = np.empty((stock.size, order.size, lead + 1), np.int64)  # [S, A] with the order behind
    due[..., :lead] = states.codes[:, None, 1:]
    due[..., lead] = order
    y = np.minimum(stock[:, None] + due[..., 0], capacity)  # [S, A]
    s, a, left = np.nonzero(chances[y])
    t = np.ravel_multi_index((left, *due[s, a, 1:].T), [len(v) for v in states.values.values()])
    y = y[s, a]
    r = price * (y - left) - cost * (y - stock[s]) - holding * left - fixed * (order[a] > 0)
    return from_outcomes(
        np.column_stack([s, a, t, chances[y, left], r]),
        start=0,
        horizon=horizon,
        **described(states, actions),
    )


def leftovers(capacity: int, demand: float) -> NDArray[np.float64]:
    """Chances [y, s'] that s' of y units are left after a Poisson demand."""
    enough = capacity + int(demand + 10 * math.sqrt(demand)) + 20  # more is never asked for
    log = math.log(demand) if demand else -math.inf
    powers = [0.0, *(d * log - math.lgamma(d + 1) for d in range(1, enough))]
    exactly = np.exp(np.array(powers) - demand)  # P(d)
    or_more = exactly[::-1].cumsum()[::-1]  # P(d or more), summed from the smallest term
    y, left = np.indices((capacity + 1, capacity + 1))
    sold = np.maximum(y - left, 0)
    return np.where(left == 0, or_more[y], np.where(left <= y, exactly[sold], 0.0))
