"""Stocks, prices, epidemics, wear and games: decisions in which few actions do much."""

from __future__ import annotations

import itertools
from math import comb, exp, prod, sqrt

import gim
from benchmarks.written.base import Outcomes, cells, inside, written
from benchmarks.written.grids import MOVES


def binomial(n: int, p: float) -> list[float]:
    """Chances of 0 to n successes."""
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@written
def epidemic() -> gim.TabularMDP:
    """30 people, of whom some are ill: three measures against it, the best of which is dear."""
    people = 30

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (ill,) = s
        catches = 1 - exp(-(0.9, 0.6, 0.3)[a] * ill / people)
        chances: dict[int, float] = {}
        for (new, p), (well, q) in itertools.product(
            enumerate(binomial(people - ill, catches)), enumerate(binomial(ill, 0.4))
        ):
            chances[ill + new - well] = chances.get(ill + new - well, 0.0) + p * q
        cost = 0.1 * ill + (0.0, 0.5, 1.5)[a]
        return [(p, (to,), -cost) for to, p in chances.items()]

    return gim.from_step(step, cells(people + 1), range(3), start=(5,), horizon=30)


@written
def reservoir() -> gim.TabularMDP:
    """Water by level and season: what is let out pays, what overflows costs."""
    full = 20
    inflow = ((0.5, 0.3, 0.2, 0, 0), (0.1, 0.2, 0.4, 0.2, 0.1), (0, 0.1, 0.3, 0.3, 0.3))
    dry = (0.2, 0.4, 0.2, 0.1, 0.1)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        level, season = s
        out = min(a, level)
        paid = sqrt(out) * (1.5 if season == 3 else 1.0)
        outcomes: Outcomes = []
        for more, p in enumerate((*inflow, dry)[season]):
            now = level - out + more
            to = (min(now, full), (season + 1) % 4)
            outcomes.append((p, to, paid - 2.0 * max(0, now - full)))
        return [outcome for outcome in outcomes if outcome[0] > 0]

    return gim.from_step(step, cells(full + 1, 4), range(6), start=(5, 0), horizon=40)


@written
def pricing() -> gim.TabularMDP:
    """Eight tickets, twenty days, nine prices; who comes late pays more."""
    days = 20

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        left, day = s
        tomorrow = min(day + 1, days - 1)
        sold = min(1.0, (0.95 - 0.1 * a) * (0.6 + 0.05 * day)) if left else 0.0
        outcomes: Outcomes = [(1.0 - sold, (left, tomorrow), 0.0)]
        return outcomes + [(sold, (left - 1, tomorrow), 1.0 + a)] * (left > 0)

    return gim.from_step(step, cells(9, days), range(9), start=(8, 0), horizon=days)


@written
def parking() -> gim.TabularMDP:
    """Twenty places on the way: the later the better, and the less likely free."""
    end = 20

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        place, free = s
        if a and free:
            return [(1.0, (end + 1, 0), place / 4)]
        if place == end:
            return [(1.0, (end + 1, 0), -5.0)]
        p = max(0.05, 0.6 - 0.03 * (place + 1)) * (place + 1 < end)
        return [(p, (place + 1, 1), -0.05), (1 - p, (place + 1, 0), -0.05)]

    ends = [(end + 1, 0), (end + 1, 1)]
    return gim.from_step(step, cells(end + 2, 2), range(2), start=(0, 0), terminal=ends, horizon=25)


@written
def admission() -> gim.TabularMDP:
    """A queue of up to 15 and three kinds of customers: let in or turn away."""
    most = 15

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        queue, kind = s
        takes = a == 1 and queue < most
        paid = takes * (1.0, 3.0, 6.0)[kind] - 0.1 * queue
        services, kinds = ((0, 0.3), (1, 0.5), (2, 0.2)), ((0, 0.5), (1, 0.3), (2, 0.2))
        return [
            (p * q, (max(queue + takes - served, 0), comes), paid)
            for (served, p), (comes, q) in itertools.product(services, kinds)
        ]

    return gim.from_step(step, cells(most + 1, 3), range(2), start=(0, 0), horizon=50)


@written
def wear() -> gim.TabularMDP:
    """Three parts wear at their own pace; one can be replaced at a time."""
    worn, pace = 3, (0.1, 0.2, 0.3)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        parts = [0 if i == a - 1 else x for i, x in enumerate(s)]
        paid = 3.0 - 2.0 * (a > 0) - 1.5 * sum(x == worn for x in s)
        outcomes: Outcomes = []
        for more in itertools.product((0, 1), repeat=3):
            p = prod(pace[i] if x else 1 - pace[i] for i, x in enumerate(more))
            to = tuple(min(x + m, worn) for x, m in zip(parts, more, strict=True))
            outcomes.append((p, to, paid))
        return outcomes

    return gim.from_step(step, cells(4, 4, 4), range(4), start=(0, 0, 0), horizon=40)


@written
def race() -> gim.TabularMDP:
    """A track with two curves by place and speed: too fast, and all begins anew."""
    length, curves, slow = 25, (8, 17), 2

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        place, speed = s
        outcomes: Outcomes = []
        for p, more in ((0.8, a - 1), (0.2, 0)):
            fast = inside(speed + more, 5)
            to = place + fast
            if fast > slow and any(place < curve <= to for curve in curves):
                outcomes.append((p, (0, 0), -3.0))
            elif to >= length:
                outcomes.append((p, (0, 0), 10.0))
            else:
                outcomes.append((p, (to, fast), -0.1))
        return outcomes

    return gim.from_step(step, cells(length, 5), range(3), start=(0, 0), horizon=60)


@written
def tour() -> gim.TabularMDP:
    """Four corners of a 6 x 6 grid, each of which pays once."""
    corners = [(0, 0), (0, 5), (5, 0), (5, 5)]

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        outcomes: Outcomes = []
        for p, (up, right) in ((0.85, MOVES[a]), (0.15, (0, 0))):
            to, seen, paid = (inside(s[0] + up, 6), inside(s[1] + right, 6)), list(s[2:]), 0.0
            if to in corners and not seen[corners.index(to)]:
                seen[corners.index(to)], paid = 1, 1.0
            outcomes.append((p, (*to, *seen), paid))
        return outcomes

    return gim.from_step(
        step, cells(6, 6, 2, 2, 2, 2), range(4), start=(2, 2, 0, 0, 0, 0), horizon=40
    )


@written
def push() -> gim.TabularMDP:
    """A box on a 5 x 5 grid is to be pushed to its place; then all begins anew."""
    size, place = 5, (2, 3)
    first = (0, 0, 2, 2)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (up, right), box = MOVES[a], s[2:]
        to = (s[0] + up, s[1] + right)
        pushed = (box[0] + up, box[1] + right) if to == box else box
        if not all(0 <= x < size for x in (*to, *pushed)):
            return [(1.0, s, 0.0)]
        if to == box and pushed == place:
            return [(1.0, first, 1.0)]
        return [(1.0, (*to, *pushed), 0.0)]

    states = [s for s in cells(size, size, size, size) if s[:2] != s[2:]]
    return gim.from_step(step, states, range(4), start=first, horizon=50)
