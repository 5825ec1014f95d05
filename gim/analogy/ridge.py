"""Rewards by regression: what states, actions and changes are worth on average, and how surely.

A rule for rewards (`gim.analogy.structure.rewards`) is right or wrong; where none holds, what a
triple (s, a, s') pays may still be much like what others paid. Its reward is a sum of parts,

    r(s,a,s') = m + (value of each variable of s) + (of s') + a + (change of each variable)
                  + a (amount of each variable) + a (change of each variable) + u(s,a) + e,

each with a normal prior of mean 0 (Bayesian ridge regression); the variance of the parts of one
action, that of the others and that of e are those under which the rewards are likeliest (MacKay
1992). u is what pairs pay on top, e what is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from gim.analogy.structure.triples import OFTEN, Floats, Ints, Triples

LEVELS = 48  # of a variable that have a value each; more of them share one
CHANGES = 8  # changes that are told apart, up and down; larger ones count as these
SCALES = 10.0 ** np.arange(-3.0, 4.0)  # prior variances of parts, relative to that of e


class Paid(NamedTuple):
    """What regression says of the rewards of some triples."""

    r: Floats  # [triples]
    variance: Floats  # [triples] posterior, e included


class RidgeRewards:
    """Rewards of triples by regression on what they are made of.

    Args:
        triples: with R.
    """

    def __init__(self, triples: Triples) -> None:
        assert triples.R is not None
        self.triples = triples
        mean, weight = triples.R / triples.counts, triples.counts / (1 + triples.counts / OFTEN)
        self.low, self.high = float(mean.min()), float(mean.max())
        x, own = self._parts(triples.pair, triples.indices)
        self.m = float(np.average(mean, weights=weight))
        root, y = np.sqrt(weight)[:, None], (mean - self.m) * np.sqrt(weight)
        gram, right, square = (root * x).T @ (root * x), (root * x).T @ y, float(y @ y)
        tried = [_evidence(gram, right, square, len(y), np.full(len(right), a)) for a in SCALES]
        shared = SCALES[int(np.argmax([each[0] for each in tried]))]
        tried += [_evidence(gram, right, square, len(y), np.where(own, a, shared)) for a in SCALES]
        _, self.noise, self.factor, self.beta = max(tried, key=lambda each: each[0])
        left = mean - self.m - x @ self.beta
        half = linalg.solve_triangular(self.factor, (root * x).T, lower=True)
        apart = left / np.maximum(1.0 - (half * half).sum(axis=0), 1e-9)  # had it not been seen
        total = float(weight @ (mean - self.m) ** 2)
        self.open = min(float(weight @ apart**2) / total, 1.0) if total > 0 else 0.0
        self._fit_pairs(left, weight)

    def _fit_pairs(self, left: Floats, weight: Floats) -> None:
        """What each pair pays on top, shrunk by what such parts vary."""
        pair, size = self.triples.pair, self.triples.S * self.triples.A
        n = np.bincount(pair, weight, size)
        sums = np.bincount(pair, weight * left, size)
        own = np.bincount(pair, (weight * left) ** 2, size)
        couples = np.bincount(pair, weight, size) ** 2 - np.bincount(pair, weight**2, size)
        between = max(float((sums**2 - own).sum()) / max(float(couples.sum()), 1e-9), 0.0)
        self.between = min(between, self.noise)
        rest = max(self.noise - self.between, 1e-3 * self.noise, 1e-300)
        self.extra = sums / (n + rest / max(self.between, 1e-300))
        self.left_open = self.between * rest / (rest + n * self.between)
        self.rest = rest

    def predict(self, pair: Ints, t: Ints) -> Paid:
        """Of triples (s*A + a, s')."""
        r, variance = np.empty(len(pair)), np.empty(len(pair))
        covariance = linalg.cho_solve((self.factor, True), np.eye(len(self.beta)))  # over noise
        for begin in range(0, len(pair), 1 << 14):
            part = slice(begin, begin + (1 << 14))
            x, own = self._parts(pair[part], t[part])
            r[part] = self.m + x @ self.beta + self.extra[pair[part]]
            variance[part] = self.left_open[pair[part]]
            a = pair[part] % self.triples.A
            for action in np.unique(a).tolist():  # parts of the others are 0
                some, few = np.flatnonzero(a == action), self._used(own, action)
                root = np.linalg.cholesky(covariance[np.ix_(few, few)])
                half = x[np.ix_(some, few)] @ root
                variance[part][some] += self.noise * (half * half).sum(axis=1)
        return Paid(np.clip(r, self.low, self.high), variance + self.rest)

    def _used(self, own: Any, action: int) -> Ints:
        """The parts that triples of an action have: all shared ones, and its own."""
        first, A = int(np.argmax(own)) if own.any() else len(own), self.triples.A
        place = np.arange(len(own))
        return np.flatnonzero(~own | ((place - first) % A == action))

    def drawn(self, pair: Ints, t: Ints, draws: int, rng: np.random.Generator) -> Floats:
        """How far other values of the parts would take the rewards of triples, [draws, triples]."""
        luck = rng.standard_normal((len(self.beta), draws))
        away = np.sqrt(self.noise) * linalg.solve_triangular(self.factor.T, luck, lower=False)
        r, off = self.predict(pair, t).r, np.empty((draws, len(pair)))
        for begin in range(0, len(pair), 1 << 14):
            part = slice(begin, begin + (1 << 14))
            moved = self._parts(pair[part], t[part])[0] @ away
            off[:, part] = np.clip(r[part] + moved.T, self.low, self.high) - r[part]
        return off

    def _parts(self, pair: Ints, t: Ints) -> tuple[Floats, Any]:
        """The parts of triples [triples, parts], and which of them are of one action alone."""
        world = self.triples
        s, a, A = pair // world.A, pair % world.A, world.A
        action = np.eye(A)[a]
        shared, own = [action], []
        for j, ordinal in enumerate(world.ordinal):
            before, after = world.codes[s, j], world.codes[t, j]
            levels = int(world.codes[:, j].max()) + 1
            many = min(levels, LEVELS)
            each = np.eye(many)
            shared += [each[(2 * x + 1) * many // (2 * levels)] for x in (before, after)]
            if ordinal:
                far = min(CHANGES, levels - 1)
                change = np.clip(after - before, -far, far)
                shared.append(np.eye(2 * far + 1)[change + far])
                middle = (before - 0.5 * (levels - 1)) / levels  # the same if they are turned round
                own += [action * middle[:, None], action * (change / CHANGES)[:, None]]
            else:
                shared.append((after == before)[:, None].astype(np.float64))
        shared.append(world.terminal[t][:, None].astype(np.float64))
        x = np.concatenate(shared + own, axis=1)
        return x, np.arange(x.shape[1]) >= sum(part.shape[1] for part in shared)


def _evidence(gram: Floats, right: Floats, square: float, n: int, scale: Floats) -> Any:
    """ln of the chance of the rewards under prior variances by part, up to a constant.

    Besides, the variance of e, the factor of the posterior precision, and the parts.
    """
    factor = np.linalg.cholesky(gram + np.diag(1.0 / scale))
    half = linalg.solve_triangular(factor, right, lower=True)
    noise = max(float(square - half @ half), 1e-12 * square, 1e-300) / n
    beta = linalg.solve_triangular(factor.T, half, lower=False)
    spread = 2.0 * np.log(np.diag(factor)).sum() + np.log(scale).sum()
    return -0.5 * (n * np.log(noise) + spread), noise, factor, beta
