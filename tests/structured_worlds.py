"""Small worlds made of variables, as outcome tables, and counts drawn from them."""

from __future__ import annotations

import itertools
import math

import numpy as np

from gim.analogy.structure import Triples

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))


class World:
    """p(s'|s,a) and r(s,a,s') of a world whose states are tuples.

    `outcomes(x, a)` lists (x', p, r).
    """

    def __init__(self, states, A, outcomes, ends=(), **variables):
        self.states = list(states)
        self.index = {x: s for s, x in enumerate(self.states)}
        self.S, self.A, self.variables = len(self.states), A, variables
        self.P, self.r = np.zeros((self.S, A, self.S)), np.zeros((self.S, A, self.S))
        self.terminal = np.array([x in ends for x in self.states])
        for x, a in itertools.product(self.states, range(A)):
            if x not in ends:
                for y, p, r in outcomes(x, a):
                    self.P[self.index[x], a, self.index[y]] += p
                    self.r[self.index[x], a, self.index[y]] = r
        self.available = np.repeat(~self.terminal[:, None], A, axis=1)

    @property
    def codes(self):
        return np.array(self.states)

    def sampled(self, visits, seed=0, share=1.0, noise=0.0, **others):
        """Counts of so many visits to each pair of a share of the pairs, all others never met."""
        rng = np.random.default_rng(seed)
        n = np.where(rng.random((self.S, self.A)) < share, visits, 0) * self.available
        return self.counted(rng.multinomial(n, self.P + 1e-300), rng, noise, **others)

    def walked(self, steps, seed=0, horizon=50, start=0, noise=0.0, **others):
        """Counts of a random walk."""
        rng = np.random.default_rng(seed)
        N, s = np.zeros((self.S, self.A, self.S)), start
        for step in range(steps):
            a = rng.integers(self.A)
            t = rng.choice(self.S, p=self.P[s, a])
            N[s, a, t] += 1
            s = start if (step + 1) % horizon == 0 or self.terminal[t] else t
        return self.counted(N, rng, noise, **others)

    def counted(self, N, rng, noise=0.0, **others):
        """Triples of counts [S, A, S]."""
        rows = N.reshape(self.S * self.A, self.S)
        pair, t = np.nonzero(rows)
        counts = rows[pair, t].astype(float)
        drawn = [rng.normal(self.r.reshape(rows.shape)[i], noise, int(n))
                 for i, n in zip(zip(pair, t, strict=True), counts, strict=True)]  # fmt: skip
        entered = np.zeros(self.S, bool)
        entered[t] = True
        return Triples(
            np.searchsorted(pair, np.arange(len(rows) + 1)),
            t,
            counts,
            self.available,
            **{
                "codes": self.codes,
                **self.variables,
                "R": [x.sum() for x in drawn],
                "R2": [(x**2).sum() for x in drawn],
                "terminal": self.terminal & entered,
                **others,
            },
        )

    def rows(self):
        """The truth [S*A, S]."""
        return self.P.reshape(self.S * self.A, self.S)


def unmet(triples):
    """Pairs that can be played and never were."""
    return np.flatnonzero((triples.n == 0).ravel() & triples.available.ravel())


def error(world, fitted, pairs):
    """Mean L1 error of what is said of these pairs."""
    said = fitted.rows(pairs).toarray()
    assert np.allclose(said.sum(axis=1), 1)
    return np.abs(said - world.rows()[pairs]).sum(axis=1).mean()


def grid(height=8, width=8, slip=0.2, walls=(), goal=None, size=lambda x: 1):
    cells = [(i, j) for i in range(height) for j in range(width) if (i, j) not in walls]
    exist, goal = set(cells), goal or (height - 1, width - 1)

    def outcomes(x, a):
        for d, p in ((a, 1 - slip), (SIDES[a][0], slip / 2), (SIDES[a][1], slip / 2)):
            y = (x[0] + size(x) * MOVES[d][0], x[1] + size(x) * MOVES[d][1])
            y = y if y in exist else x
            yield y, p, 1.0 if y == goal else -0.04

    return World(cells, 4, outcomes)


def lake():
    """FrozenLake 4x4, slippery."""
    rows, steps = ("SFFF", "FHFH", "FFFH", "HFFG"), ((0, -1), (1, 0), (0, 1), (-1, 0))

    def outcomes(x, a):
        for b in (a - 1, a, a + 1):
            d = steps[b % 4]
            y = (min(max(x[0] + d[0], 0), 3), min(max(x[1] + d[1], 0), 3))
            yield y, 1 / 3, float(rows[y[0]][y[1]] == "G")

    cells = list(itertools.product(range(4), repeat=2))
    return World(cells, 4, outcomes, [x for x in cells if rows[x[0]][x[1]] in "HG"])


def inventory(capacity=30, largest=10, demand=4.0):
    """Lost sales: y = min(s + a, capacity), s' = max(y - d, 0), d Poisson."""
    chances = [math.exp(-demand) * demand**d / math.factorial(d) for d in range(25)]
    chances[-1] += 1 - sum(chances)

    def outcomes(x, a):
        y = min(x[0] + a, capacity)
        for d, p in enumerate(chances):
            left = max(y - d, 0)
            yield (left,), p, 4 * (y - left) - 2 * (y - x[0]) - 0.1 * left - 3 * (a > 0)

    states = [(s,) for s in range(capacity + 1)]
    amounts = np.arange(largest + 1)[:, None]
    return World(states, largest + 1, outcomes, action_codes=amounts, action_ordinal=[True])


def queues(size=8):
    def outcomes(x, a):
        for arrives, one, two in itertools.product((0, 1), repeat=3):
            p = 0.5 * (0.35 if one else 0.65) * (0.2 if two else 0.8)
            joined = [x[0], x[1]]
            admitted = arrives and a > 0 and joined[a - 1] < size - 1
            joined[a - 1] += bool(admitted)
            y = (max(joined[0] - one, 0), max(joined[1] - two, 0))
            yield y, p, 0.0

    return World(itertools.product(range(size), repeat=2), 3, outcomes)


def machines(n=5):
    """SysAdmin on a ring."""

    def outcomes(x, a):
        up = [
            1.0 if a == i + 1 else 0.45 + 0.25 * (1 + x[i - 1]) if x[i] else 0.1 for i in range(n)
        ]
        for y in itertools.product((0, 1), repeat=n):
            p = math.prod(u if v else 1 - u for u, v in zip(up, y, strict=True))
            if p > 0:
                yield y, p, sum(x) - 0.75 * (a > 0)

    states = itertools.product((0, 1), repeat=n)
    return World(states, n + 1, outcomes, ordinal=[False] * n)


def taxi(size=4):
    """Drive, pick up, put down: row, column, passenger (0, 1 waiting, 2 aboard), destination."""
    stands = ((0, 0), (size - 1, size - 1))

    def outcomes(x, a):
        row, col, who, to = x
        if a < 4:
            y = (row + MOVES[a][0], col + MOVES[a][1])
            row, col = y if 0 <= y[0] < size and 0 <= y[1] < size else (row, col)
            yield (row, col, who, to), 1.0, -1.0
        elif a == 4:
            boards = who < 2 and stands[who] == (row, col)
            yield (row, col, 2 if boards else who, to), 1.0, -1.0 if boards else -10.0
        else:
            left = who == 2 and (row, col) in stands
            here = stands.index((row, col)) if left else who
            yield (row, col, here, to), 1.0, 20.0 if left and here == to else -10.0

    cells = itertools.product(range(size), range(size), range(3), range(2))
    return World(cells, 6, outcomes, ordinal=[True, True, False, False])
