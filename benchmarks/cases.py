"""Worlds of practice with fixed numbers: seats, shops, a queue, a dark room, a machine that wears.

Each function gives a `gim.TabularMDP` whose states are tuples, so that the learner sees variables.
They are smaller kin of what firms decide by day or by hour; every number stands in the code.
"""

from __future__ import annotations

from math import exp, factorial

import numpy as np
from numpy.typing import ArrayLike

import gim
from benchmarks.written.base import Outcomes, cells, inside

SEATS, DAYS = 14, 30
PRICES, SALE = (3, 5, 8, 13), (0.9, 0.7, 0.45, 0.15)  # of a seat, and who takes it at most
STOCK, ORDERS = 15, 7
SPEEDS = ((0, 0.2), (1, 0.45), (3, 0.75))  # of a server: cost a step, chance of a service


def poisson(mean: float, k: int) -> list[float]:
    """Chances of 0 to k - 1, and of k or more."""
    p = [exp(-mean) * mean**i / factorial(i) for i in range(k)]
    return [*p, max(0.0, 1.0 - sum(p))]


def demand(mean: float, k: int, lumpy: bool = False) -> list[float]:
    """The same; `lumpy`: three days in five are quiet (.4 of the mean), the others busy (1.9)."""
    if not lumpy:
        return poisson(mean, k)
    quiet, busy = poisson(0.4 * mean, k), poisson(1.9 * mean, k)
    return [0.6 * p + 0.4 * q for p, q in zip(quiet, busy, strict=True)]


def anywhere(states: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """A start that is any of them alike."""
    return dict.fromkeys(states, 1 / len(states))


def revenue() -> gim.TabularMDP:
    """Fourteen seats, thirty days, four prices; at most one customer a day, and later likelier."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        left, day = s
        tomorrow = min(DAYS - 1, day + 1)
        sold = SALE[a] * (0.5 + 0.5 * day / (DAYS - 1)) if left else 0.0
        kept: Outcomes = [(1 - sold, (left, tomorrow), 0.0)]
        return kept + [(sold, (left - 1, tomorrow), float(PRICES[a]))] * (left > 0)

    states, start = cells(SEATS + 1, DAYS), (SEATS, 0)
    return gim.from_step(step, states, range(len(PRICES)), start=start, horizon=DAYS)


def shop(mean: float, lost: float = 0.0, lumpy: bool = False) -> gim.TabularMDP:
    """A stock of up to 15, orders of up to 7; `lost`: chance that an order is paid and never comes.

    A piece sold pays 5, one ordered costs 2.5, one kept .3, an order 2. It begins with any stock.
    """

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (stock,) = s
        outcomes: Outcomes = []
        for come, chance in ((a, 1 - lost), (0, lost)):
            have = min(stock + come, STOCK)
            for wanted, p in enumerate(demand(mean, have, lumpy)):
                left = have - wanted
                pays = 5 * (have - left) - 2.5 * a - 0.3 * left - 2 * (a > 0)
                outcomes.append((chance * p, (left,), pays))
        return outcomes

    states = cells(STOCK + 1)
    return gim.from_step(step, states, range(ORDERS + 1), start=anywhere(states), horizon=30)


def queue(come: float, serve: ArrayLike) -> gim.TabularMDP:
    """A queue of up to 19 and three speeds of its server, with these chances of a service."""
    most, chances = 19, np.asarray(serve)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (waiting,) = s
        up, down = come * (1 - chances[a]), chances[a] * (1 - come)
        pays = -0.3 * waiting - SPEEDS[a][0]
        moves = ((1, up), (-1, down), (0, 1 - up - down))
        return [(p, (inside(waiting + by, most + 1),), pays) for by, p in moves]

    states = cells(most + 1)
    return gim.from_step(step, states, range(3), start=anywhere(states), horizon=40)


def drawn_queue(rng: np.random.Generator) -> gim.TabularMDP:
    """The same with rates that are drawn."""
    come = rng.uniform(0.15, 0.6)
    serve = np.array([chance for _, chance in SPEEDS]) * rng.uniform(0.7, 1.25)
    return queue(come, np.clip(serve, 0, 0.95))


def dark_room(goal: int) -> gim.TabularMDP:
    """A room of 10 x 10 cells, and one, 10 x + y, that pays 1 whenever a step ends there."""
    size, moves = 10, ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0))

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        to = inside(s[0] + moves[a][0], size), inside(s[1] + moves[a][1], size)
        return [(1.0, to, float(size * to[0] + to[1] == goal))]

    return gim.from_step(step, cells(size, size), range(len(moves)), horizon=100)


def wearing(levels: int = 8) -> gim.TabularMDP:
    """A machine that wears: run it at a cost of its wear, or replace it for 5."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (wear,) = s
        if a == 1:
            return [(1.0, (0,), -5.0)]
        worn = inside(wear + 1, levels)
        return [(0.5, (worn,), -float(wear)), (0.5, s, -float(wear))]

    return gim.from_step(step, cells(levels), range(2), horizon=30)


def unrelated(rng: np.random.Generator, S: int = 16, A: int = 6) -> gim.TabularMDP:
    """Rows and rewards drawn one by one: nothing can be inferred."""
    P, R = rng.dirichlet(np.full(S, 0.15), (S, A)), rng.normal(0, 3, (S, A))
    return gim.TabularMDP(P, R, start=4, horizon=15)
