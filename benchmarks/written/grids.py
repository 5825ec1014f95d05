"""Worlds on a grid: doors, traps, walls, moves that mean something else elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import gim
from benchmarks.written.base import Outcomes, cells, inside, written

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))


def moved(place: tuple[int, ...], move: tuple[int, int], size: int) -> tuple[int, int]:
    """The cell next to it, or the same at a border."""
    return inside(place[0] + move[0], size), inside(place[1] + move[1], size)


def grid(
    size: int,
    horizon: int,
    pays: Callable[[tuple[int, ...]], float],
    *,
    goal: bool = True,
    leads: Callable[[tuple[int, ...], int], tuple[int, int]] | None = None,
    works: float = 0.9,
) -> gim.TabularMDP:
    """A square grid: a move works or leaves one in place; `leads` says where it would lead."""
    end = (size - 1, size - 1)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        to = leads(s, a) if leads else moved(s, MOVES[a], size)
        return [(works, to, pays(to)), (1 - works, s, pays(s))]

    return gim.from_step(
        step, cells(size, size), range(4), terminal=[end] if goal else [], horizon=horizon
    )


@written
def key_and_door() -> gim.TabularMDP:
    """A wall with a door, which opens to who has fetched the key."""
    size, wall = 5, 2

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        outcomes: Outcomes = []
        dx, dy = MOVES[a]
        for move, p in (((dx, dy), 0.9), ((dy, dx), 0.05), ((-dy, -dx), 0.05)):
            x, y = moved(s, move, size)
            if x == wall and not (y == wall and s[2]):
                x, y = s[0], s[1]
            key = int(s[2] or (x, y) == (0, size - 1))
            outcomes.append((p, (x, y, key), float((x, y) == (size - 1, size - 1))))
        return outcomes

    ends = [(size - 1, size - 1, key) for key in (0, 1)]
    return gim.from_step(step, cells(size, size, 2), range(4), terminal=ends, horizon=60)


@written
def deep_sea() -> gim.TabularMDP:
    """The exploration problem of that name: twelve times right, at a small cost, or nothing."""
    size = 12

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        column, depth = s
        to = inside(column + (1 if a else -1), size)
        found = a == 1 and to == size - 1 and depth == size - 1
        return [(1.0, (to, depth + 1), -0.01 / size * a + found)]

    bottom = [(x, size) for x in range(size)]
    return gim.from_step(step, cells(size, size + 1), range(2), terminal=bottom, horizon=size)


@written
def traps() -> gim.TabularMDP:
    """A grid in which every sixth cell or so sends one back to the start."""

    def leads(s: tuple[int, ...], a: int) -> tuple[int, int]:
        x, y = moved(s, MOVES[a], 10)
        trap = (x * 7 + y * 13 + x * y) % 6 == 0 and (x, y) != (9, 9)
        return (0, 0) if trap else (x, y)

    return grid(10, 80, lambda s: float(s == (9, 9)), goal=False, leads=leads)


@written
def permuted() -> gim.TabularMDP:
    """A grid in which the four moves have other names in every cell."""
    rng = np.random.default_rng(5)
    names = {s: rng.permutation(4) for s in cells(7, 7)}
    return grid(
        7, 50, lambda s: float(s == (6, 6)), leads=lambda s, a: moved(s, MOVES[names[s][a]], 7)
    )


@written
def shortest_path() -> gim.TabularMDP:
    """Every step costs 1, those into the swamp, which one gap crosses, 6."""
    return grid(8, 80, lambda s: -6.0 if s[0] == 4 and s[1] != 6 else -1.0, works=0.8)


@written
def mirror() -> gim.TabularMDP:
    """In the farther half of the grid every move goes the other way."""

    def leads(s: tuple[int, ...], a: int) -> tuple[int, int]:
        sign = -1 if s[0] >= 4 else 1
        return moved(s, (sign * MOVES[a][0], sign * MOVES[a][1]), 8)

    return grid(8, 60, lambda s: float(s == (7, 7)), leads=leads)


@written
def maze() -> gim.TabularMDP:
    """A quarter of the cells are walls, and a little is paid near the start."""
    rng = np.random.default_rng(11)
    walls = {s for s in cells(9, 9) if rng.random() < 0.25 and s[1] > 0 and s[0] < 8}

    def leads(s: tuple[int, ...], a: int) -> tuple[int, int]:
        to = moved(s, MOVES[a], 9)
        return (s[0], s[1]) if to in walls else to

    pays = {(8, 8): 1.0, (0, 2): 0.05}
    return grid(9, 70, lambda s: pays.get(s, 0.0), goal=False, leads=leads)
