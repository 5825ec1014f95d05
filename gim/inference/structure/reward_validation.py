"""What a rule for rewards says of triples that it has not seen, and how likely it makes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.keys import equal
from gim.inference.structure.linear import design, least_absolute
from gim.inference.structure.moves import Shift
from gim.inference.structure.rewards import EXACT, Seen, Shape, spread_of
from gim.inference.structure.triples import Floats, Ints, Triples
from gim.jit import seldom

FOLDS = 4
SIGMAS = np.array([1e-6, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0])  # of the spread of all rewards
EPSILONS = np.array([0.001, 0.01, 0.05, 0.2, 0.5])
FARTHEST = 690.0  # nats that an error costs at the most


class Judged(NamedTuple):
    """A shape, and what other folds said of each triple."""

    shape: Shape
    error: Floats  # [I] r less what was said
    level: Ints  # [I] of the chain that spoke; -1: none
    logs: Floats  # [I] weighted log-likelihood

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())


class Trust(NamedTuple):
    """How a rule did on held-out triples, by the level of its chain that spoke."""

    hits: Floats  # [levels] share hit exactly; NaN where there was none
    error: Floats  # [levels] root of the mean square error
    judges: Ints  # [levels]


class Residuals(NamedTuple):
    """Rewards less the linear part, of all triples, fitted without each fold."""

    value: Floats  # [folds, I]
    rank: Ints  # [folds, I] one number for all that are equal among those of other folds


class Validation:
    """Held-out triples in folds of pairs, or of next states, as of those never entered."""

    def __init__(self, triples: Triples, seen: Seen, by_next: bool = False) -> None:
        self.triples, self.seen, self.spread = triples, seen, spread_of(seen)
        groups, of = (triples.S, seen.t) if by_next else (triples.S * triples.A, seen.pair)
        self.fold: Ints = (np.random.default_rng(0).permutation(groups) % FOLDS)[of]  # [I]
        self._linear: dict[tuple[str | None, tuple[Shift, ...]], Residuals] = {}

    def judge(self, shape: Shape, keys: list[Ints], coarser: Judged | None = None) -> Judged:
        """What other folds say of each triple by a shape.

        Args:
            shape: what rewards depend on.
            keys: [I] of each level of its chain.
            coarser: the same without the last level, if it was judged already.
        """
        residuals, known = self._residuals(shape), 0
        if coarser is None:
            error = residuals.value[self.fold, np.arange(len(self.fold))]
            level = np.full(len(error), -1)
        else:
            error, level, known = coarser.error.copy(), coarser.level.copy(), len(keys) - 1
        for depth in range(known, len(keys)):
            key, weight = keys[depth], self.seen.weight
            many = int(key.max(initial=0)) + 1
            speak(self.fold, key, many, *residuals, weight, depth, error, level)
        return Judged(shape, error, level, self._likelihood(error))

    def trust(self, judged: Judged) -> Trust:
        """By level."""
        at = [judged.level == level for level in range(len(judged.shape.chain))]
        hit, square = np.abs(judged.error) <= EXACT * self.spread, judged.error**2
        return Trust(
            np.array([hit[each].mean() if each.any() else np.nan for each in at]),
            np.array([np.sqrt(square[each].mean()) if each.any() else np.nan for each in at]),
            np.array([each.sum() for each in at]),
        )

    def _residuals(self, shape: Shape) -> Residuals:
        form = shape.slopes, shape.shifts
        if form not in self._linear:
            value = np.tile(self.seen.mean, (FOLDS, 1))
            kept, rank = self.fold != np.arange(FOLDS)[:, None], np.full(value.shape, -1)
            if shape.slopes is not None:
                X = self.design(shape)
                value -= least_absolute(X, self.seen.mean, self.seen.weight * kept) @ X.T
            for fold, mine in enumerate(kept):
                rank[fold, mine] = equal(value[fold, mine], EXACT * self.spread)
            self._linear[form] = Residuals(value, rank)
        return self._linear[form]

    def design(self, shape: Shape) -> Floats:
        """Columns of the linear part."""
        assert shape.slopes is not None
        seen = self.seen
        form = shape.slopes, shape.shifts
        return design(self.triples, *form, seen.pair, seen.t, len(seen.pair))

    def _likelihood(self, error: Floats) -> Floats:
        """Weighted log-likelihood of each triple at the best sigma and epsilon.

        Sigma is the spread of errors where a rule holds, epsilon the share for which it does not.
        The likelihood is concave in epsilon, so the best of a grid is found by going uphill.
        """
        half = np.minimum(0.5 * (error**2 + self.seen.square) / self.spread**2, FARTHEST)
        weight, highest, e = self.seen.weight, -np.inf, 0
        for sigma in SIGMAS.tolist():
            spike = np.exp(half - np.minimum(half / sigma**2, FARTHEST)) / sigma
            e, total = _highest(spike, weight, e)
            if total > highest:
                highest, logs = total, weight * (_mixed(spike, e) - half)
        return logs


def _mixed(spike: Floats, e: int) -> Floats:
    """Logarithms of spike and slab together, over the slab."""
    return np.log(EPSILONS[e] + (1.0 - EPSILONS[e]) * spike)


def _highest(spike: Floats, weight: Floats, e: int) -> tuple[int, float]:
    """The place on the grid where the likelihood is highest, uphill from `e`, and its height."""
    here = float(weight @ _mixed(spike, e))
    for way in (1, -1):
        begun = e
        while 0 <= e + way < len(EPSILONS):
            there = float(weight @ _mixed(spike, e + way))
            if there <= here:
                break
            e, here = e + way, there
        if e != begun:
            break
    return e, here


@seldom(lambda fold, key, *_: 3 * FOLDS * key.size)
def speak(
    fold: Any,
    key: Any,
    many: int,
    value: Any,
    rank: Any,
    weight: Any,
    depth: int,
    error: Any,
    level: Any,
) -> None:
    """Let keys speak of held-out triples where other folds have met them; see `keys.valued`.

    What more than half agree on is found by their votes against each other (Boyer and Moore, 1991).
    """
    total, mean, votes = np.empty(many), np.empty(many), np.empty(many)
    mass, middle, leader = np.empty(many), np.empty(many), np.empty(many, np.int64)
    for f in range(value.shape[0]):
        for k in range(many):
            total[k] = mean[k] = votes[k] = mass[k] = middle[k] = 0.0
            leader[k] = -1
        for i in range(key.size):
            if fold[i] != f:
                k = key[i]
                total[k] += weight[i]
                mean[k] += weight[i] * value[f, i]
                if rank[f, i] == leader[k]:
                    votes[k] += weight[i]
                elif votes[k] >= weight[i]:
                    votes[k] -= weight[i]
                else:
                    leader[k], votes[k] = rank[f, i], weight[i] - votes[k]
        for i in range(key.size):
            if fold[i] != f and rank[f, i] == leader[key[i]]:
                mass[key[i]] += weight[i]
                middle[key[i]] += weight[i] * value[f, i]
        for i in range(key.size):
            k = key[i]
            if fold[i] == f and total[k] > 0.0:
                most = mass[k] > 0.5 * total[k]
                error[i] = value[f, i] - (middle[k] / mass[k] if most else mean[k] / total[k])
                level[i] = depth
