"""Chains, games, trade, queues and machines."""

from __future__ import annotations

import itertools
from math import exp, factorial

import numpy as np

import gim
from benchmarks.written.base import Outcomes, cells, inside, written


def chain_of(length: int, distraction: float) -> gim.TabularMDP:
    """One action goes back to the start, which pays a little, the other on to the end: 1."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (x,) = s
        if a == 0:
            return [(1.0, (0,), distraction * (x == 0))]
        return [(0.8, (inside(x + 1, length),), float(x == length - 1)), (0.2, s, 0.0)]

    return gim.from_step(step, cells(length), range(2), horizon=60)


@written
def chain() -> gim.TabularMDP:
    """25 states; the start pays .02."""
    return chain_of(25, 0.02)


@written
def far_chain() -> gim.TabularMDP:
    """The same; the start pays .3."""
    return chain_of(25, 0.3)


@written
def gambler() -> gim.TabularMDP:
    """Stakes of 1 to 10 on a coin with .45, from 20 to 40."""
    most = 40

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (have,) = s
        stake = min(a + 1, have, most - have)
        won = have + stake
        return [(0.45, (won,), float(won == most)), (0.55, (have - stake,), 0.0)]

    ends = [(0,), (most,)]
    return gim.from_step(step, cells(most + 1), range(10), start=(20,), terminal=ends, horizon=60)


@written
def car_rental() -> gim.TabularMDP:
    """Two places with up to 8 cars; up to two are moved overnight."""
    most = 8

    def demand(mean: float, largest: int) -> list[float]:
        p = [exp(-mean) * mean**k / factorial(k) for k in range(largest)]
        return [*p, 1 - sum(p)]

    both = list(itertools.product(enumerate(demand(2, 5)), enumerate(demand(3, 6))))

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        moves = max(-s[1], min(s[0], a - 2))
        here, there = min(s[0] - moves, most), min(s[1] + moves, most)
        outcomes: Outcomes = []
        for (i, p), (j, q) in both:
            out, away = min(i, here), min(j, there)
            to = (min(here - out + 1, most), min(there - away + 2, most))
            outcomes.append((p * q, to, out + away - 0.2 * abs(moves)))
        return outcomes

    return gim.from_step(step, cells(most + 1, most + 1), range(5), start=(4, 4), horizon=40)


@written
def balance() -> gim.TabularMDP:
    """A pole by angle and speed: 1 for every step that it stands."""
    angles, speeds = 11, 9

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        angle, speed = s[0] - 1, s[1]
        pull = 1 if angle > angles // 2 + 1 else -1 if angle < angles // 2 - 1 else 0
        outcomes: Outcomes = []
        for gust, p in ((-1, 0.15), (0, 0.7), (1, 0.15)):
            fast = inside(speed + a - 1 + pull + gust, speeds)
            to = inside(angle + fast - speeds // 2 + 1, angles + 2)
            outcomes.append((p, (to, fast), float(0 < to <= angles)))
        return outcomes

    ends = [(x, v) for x in (0, angles + 1) for v in range(speeds)]
    return gim.from_step(
        step, cells(angles + 2, speeds), range(3), start=(6, 4), terminal=ends, horizon=60
    )


@written
def elevator() -> gim.TabularMDP:
    """Six floors, three of them with calls: down, up, open."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        floor, calls, paid = s[0], list(s[1:]), 0.0
        if a < 2:
            floor = inside(floor + (1 if a else -1), 6)
        elif floor % 2 and calls[floor // 2]:
            calls[floor // 2], paid = 0, 1.0
        outcomes: Outcomes = []
        for new in itertools.product((0, 1), repeat=3):
            p = float(np.prod([0.1 if x else 0.9 for x in new]))
            to = (floor, *(int(c or x) for c, x in zip(calls, new, strict=True)))
            outcomes.append((p, to, paid - 0.1 * sum(calls)))
        return outcomes

    return gim.from_step(step, cells(6, 2, 2, 2), range(3), horizon=60)


@written
def arithmetic() -> gim.TabularMDP:
    """x becomes k x + c modulo 30: regular, but no displacement."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        (x,) = s
        y, z = ((1, 2, 3, 5, 7)[a] * x + (1, 0, 4, 2, 11)[a]) % 30, (x + 1) % 30
        return [(0.9, (y,), float(y == 7)), (0.1, (z,), float(z == 7))]

    return gim.from_step(step, cells(30), range(5), horizon=20)


@written
def graph() -> gim.TabularMDP:
    """Sixty places, three ways from each, drawn by lot: nothing to be inferred."""
    rng = np.random.default_rng(3)
    to, pays = rng.integers(0, 60, (60, 3)), rng.random((60, 3)) * (rng.random((60, 3)) < 0.05)
    return gim.from_step(
        lambda s, a: [(1.0, (int(to[s[0], a]),), float(pays[s[0], a]))],
        cells(60),
        range(3),
        horizon=25,
    )


@written
def repair() -> gim.TabularMDP:
    """Four machines that wear out: repair one of them, at a cost, or let all run."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        if a < 4:
            mended = tuple(0 if i == a else x for i, x in enumerate(s))
            return [(1.0, mended, 0.25 * sum(x < 3 for i, x in enumerate(s) if i != a) - 0.5)]
        outcomes: Outcomes = []
        for worn in itertools.product((0, 1), repeat=4):
            p = float(
                np.prod([0.2 + 0.05 * i if w else 0.8 - 0.05 * i for i, w in enumerate(worn)])
            )
            to = tuple(min(3, x + w) for x, w in zip(s, worn, strict=True))
            outcomes.append((p, to, 0.5 * sum(x < 3 for x in s)))
        return outcomes

    return gim.from_step(step, cells(4, 4, 4, 4), range(5), horizon=40)


@written
def tandem() -> gim.TabularMDP:
    """Two queues in a row, and a helper who serves one of them or both by halves."""
    most = 8

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        rates = ((0.6, 0.1), (0.1, 0.6), (0.3, 0.3))[a]
        outcomes: Outcomes = []
        for comes, first, second in itertools.product((0, 1), repeat=3):
            p = 0.25 if comes else 0.75
            p *= rates[0] if first else 1 - rates[0]
            p *= rates[1] if second else 1 - rates[1]
            x, y, pays = s[0], s[1], -0.1 * sum(s)
            if second and y:
                y, pays = y - 1, pays + 2.0
            if first and x and y < most:
                x, y = x - 1, y + 1
            outcomes.append((p, (min(x + comes, most), y), pays))
        return outcomes

    return gim.from_step(step, cells(most + 1, most + 1), range(3), horizon=60)


@written
def battery() -> gim.TabularMDP:
    """Buy, hold or sell by the hour; what is kept may leak."""
    price = (1, 1, 1, 2, 3, 4, 4, 3, 5, 6, 4, 2)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        hour, kept = s
        after = inside(kept + 1 - a, 7)
        pays, later = float(price[hour] * (kept - after)), (hour + 1) % 12
        return [(0.9, (later, after), pays), (0.1, (later, max(after - 1, 0)), pays)]

    return gim.from_step(step, cells(12, 7), range(3), horizon=48)


@written
def nim() -> gim.TabularMDP:
    """Take one to three of twenty; the other one plays at random; the last one wins."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        left = s[0] - min(a + 1, s[0])
        if left == 0:
            return [(1.0, (0,), 1.0)]
        takes = range(1, min(3, left) + 1)
        return [(1 / len(takes), (left - k,), 0.0) for k in takes]

    return gim.from_step(step, cells(21), range(3), start=(20,), terminal=[(0,)], horizon=20)


@written
def lights() -> gim.TabularMDP:
    """Seven lamps in a ring: a button switches three of them and fails now and then."""
    lamps = 7

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        near = {(a + k) % lamps for k in (-1, 0, 1)}
        to = tuple(1 - x if i in near else x for i, x in enumerate(s))
        return [(0.9, to, sum(to) / lamps), (0.1, s, sum(s) / lamps)]

    return gim.from_step(step, cells(*[2] * lamps), range(lamps), horizon=20)
