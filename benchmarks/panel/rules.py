"""Six worlds to try what is said of uncertainty on: rules that hold in part, drift, no rule at all.

Rewards are paid all over the place, so that a value is never a matter of one cell alone.
"""

from __future__ import annotations

import numpy as np

import gim
from benchmarks import cases
from benchmarks.written.base import Outcomes, cells, inside
from benchmarks.written.grids import MOVES, moved


def two_regions() -> gim.TabularMDP:
    """In the west moves work; in the east they go back, two cells at a time, at even odds."""
    size, half = 8, 4
    pays = np.random.default_rng(21).random((size, size)) ** 3
    pays[half:] *= 2.0

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        if s[0] < half:
            ways = [(0.85, moved(s, MOVES[a], size)), (0.15, (s[0], s[1]))]
        else:
            back = (-2 * MOVES[a][0], -2 * MOVES[a][1])
            ways = [(0.5, moved(s, back, size)), (0.5, (s[0], s[1]))]
        return [(p, to, float(pays[to])) for p, to in ways]

    return gim.from_step(step, cells(size, size), range(4), start=(2, 4), horizon=30)


def mostly() -> gim.TabularMDP:
    """A ring of 40 places: actions go on by 1 to 5, and one pair in eight leads elsewhere."""
    places, rng = 40, np.random.default_rng(22)
    odd, elsewhere = rng.random((places, 5)) < 0.125, rng.integers(0, places, (places, 5))
    pays = rng.random(places) ** 3

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (place,) = s
        to = int(elsewhere[place, a]) if odd[place, a] else (place + a + 1) % places
        return [(0.9, (to,), float(pays[to])), (0.1, s, float(pays[place]))]

    return gim.from_step(step, cells(places), range(5), horizon=20)


def drift() -> gim.TabularMDP:
    """A grid with a wind to the south, the stronger the farther east."""
    size, south = 7, (0, 1)
    pays = np.random.default_rng(23).random((size, size)) ** 3

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        to, wind = moved(s, MOVES[a], size), 0.1 * s[0]
        blown = moved(to, south, size)
        return [(wind, blown, float(pays[blown])), (1 - wind, to, float(pays[to]))]

    return gim.from_step(step, cells(size, size), range(4), start=(0, 3), horizon=30)


def counter() -> gim.TabularMDP:
    """A queue of up to 24, and one or two who serve it; who finds it long may walk away."""
    most = 24

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (waiting,) = s
        comes, served = 0.6 * (1 - 0.5 * waiting / most), (0.0, 0.35, 0.65)[a] * (waiting > 0)
        pays = -0.1 * waiting - (0.0, 0.3, 0.9)[a]
        outcomes: Outcomes = []
        for new, p in ((1, comes), (0, 1 - comes)):
            for done, q in ((1, served), (0, 1 - served)):
                outcomes.append((p * q, (inside(waiting + new - done, most + 1),), pays + 2 * done))
        return outcomes

    return gim.from_step(step, cells(most + 1), range(3), start=(6,), horizon=40)


def two_sorts_of_days() -> gim.TabularMDP:
    """A shop whose days are quiet or busy: its demand is no Poisson."""
    return cases.shop(3.0, lumpy=True)


def no_structure() -> gim.TabularMDP:
    """Rows and rewards drawn one by one."""
    rng = np.random.default_rng(24)
    P, R = rng.dirichlet(np.full(20, 0.2), (20, 4)), rng.normal(0, 1, (20, 4))
    return gim.TabularMDP(P, R, horizon=20)
