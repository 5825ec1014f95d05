"""Steps that fail, doors of one way, goods that perish: worlds in which one visit says little."""

from __future__ import annotations

from math import exp, factorial

import numpy as np

import gim
from benchmarks.written.base import Outcomes, cells, inside, written
from benchmarks.written.grids import MOVES, grid, moved


@written
def lazy() -> gim.TabularMDP:
    """Moves fail in six of ten cases, with other names in every cell; cells have no variables."""
    size, rng = 5, np.random.default_rng(7)
    names = {s: rng.permutation(4) for s in cells(size, size)}
    pays = {(4, 4): 1.0, (2, 0): 0.6, (1, 3): 0.3}
    world = grid(
        size,
        30,
        lambda s: pays.get((s[0], s[1]), 0.0),
        goal=False,
        leads=lambda s, a: moved(s, MOVES[names[s][a]], size),
        works=0.4,
    )
    return gim.TabularMDP(
        world.transitions, world.rewards, world.start, world.horizon, variables=None
    )


@written
def one_way_doors() -> gim.TabularMDP:
    """A fifth of the moves of a grid is blocked, often in one direction only."""
    size, rng = 9, np.random.default_rng(3)
    blocked = {(s, a): rng.random() < 0.2 for s in cells(size, size) for a in range(4)}
    end = (size - 1, size - 1)
    return grid(
        size,
        60,
        lambda s: 1.0 if s == end else -0.01,
        leads=lambda s, a: (s[0], s[1]) if blocked[s, a] else moved(s, MOVES[a], size),
    )


@written
def switch() -> gim.TabularMDP:
    """A switch turns left into right; one step in five fails, in one half they are longer."""
    size = 10

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        x, turned = s
        if a == 2:
            return [(0.9, (x, 1 - turned), -0.05), (0.1, s, -0.05)]
        way = (1 if a == 1 else -1) * (-1 if turned else 1)
        to = inside(x + way * (1 if x < size // 2 else 2), size)
        return [(0.8, (to, turned), float(to == size - 1 and turned == 1)), (0.2, s, 0.0)]

    return gim.from_step(step, cells(size, 2), range(3), start=(4, 0), horizon=30)


@written
def perishable() -> gim.TabularMDP:
    """Goods of today and yesterday, thrown away tomorrow; demand shows in part only."""
    most, mean = 5, 3.0
    demand = [exp(-mean) * mean**k / factorial(k) for k in range(11)]
    demand.append(1.0 - sum(demand))

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        old, new = s
        outcomes: Outcomes = []
        for wanted, p in enumerate(demand):
            of_old = min(wanted, old)
            of_new = min(wanted - of_old, new)
            profit = 3.0 * (of_old + of_new) - 1.5 * a - (old - of_old)
            outcomes.append((p, (new - of_new, a), profit))
        return outcomes

    return gim.from_step(step, cells(most + 1, most + 1), range(most + 1), horizon=30)


@written
def polling() -> gim.TabularMDP:
    """One server for three queues; to go to another one costs, and its first service is slow."""
    arrivals, room = (0.2, 0.15, 0.1), 4

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        *queues, at = s
        outcomes: Outcomes = []
        works = 0.7 if a == at else 0.4
        cost = 0.1 * sum(queues) + (0.3 if a != at else 0.0)
        for served, p in ((1, works), (0, 1.0 - works)):
            for comes, q in ((0, arrivals[0]), (1, arrivals[1]), (2, arrivals[2]), (3, 0.55)):
                after = [n - (served and k == a and n > 0) for k, n in enumerate(queues)]
                after = [min(n + (k == comes), room) for k, n in enumerate(after)]
                outcomes.append((p * q, (*after, a), float(served and queues[a] > 0) - cost))
        return outcomes

    return gim.from_step(step, cells(room + 1, room + 1, room + 1, 3), range(3), horizon=60)


@written
def charging() -> gim.TabularMDP:
    """A battery is charged, kept or sold from, at prices that wander."""
    most, prices = 10, 5

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        have, price = s
        costs = 0.2 + 0.3 * price
        bought, sold = min(2, most - have) * (a == 0), min(1, have) * (a == 2)
        pays = 1.6 * costs * sold - costs * bought
        return [
            (p, (have + bought - sold, inside(price + change, prices)), pays)
            for change, p in ((-1, 0.25), (0, 0.5), (1, 0.25))
        ]

    return gim.from_step(step, cells(most + 1, prices), range(3), start=(0, 2), horizon=40)
