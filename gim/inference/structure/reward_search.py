"""The rule for rewards that says most about held-out pairs, and how far it may be trusted."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from gim.inference.structure.keys import Feature, features_of, keyed, valued
from gim.inference.structure.linear import (
    BY_ACTION,
    BY_CHANGE,
    COMMON,
    WIDEST,
    design,
    least_absolute,
)
from gim.inference.structure.moves import Shift
from gim.inference.structure.rewards import EXACT, Rewards, Seen, Shape, seen_of, spread_of
from gim.inference.structure.triples import Floats, Ints, Triples, summed

FOLDS = 4
DEPTH = 3  # refinements of a key
LEADING = 4  # features that are tried in pairs
MARGIN = 3.0  # nats, besides a standard error, by which a finer key must be better
SIGMAS = np.array([1e-6, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0])  # of the spread of all rewards
EPSILONS = np.array([0.001, 0.01, 0.05, 0.2, 0.5])
SEARCHED = 5_000  # triples that a search looks at


class Judged(NamedTuple):
    """A shape, and what other folds said of each triple."""

    shape: Shape
    error: Floats  # [I] r less what was said
    level: Ints  # [I] of the chain that spoke; -1: none
    logs: Floats  # [I] weighted log-likelihood
    sigma: float  # of what holds
    epsilon: float  # share that it does not hold for

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())


class Trust(NamedTuple):
    """How a rule did on held-out triples, by the level of its chain that spoke."""

    hits: Floats  # [levels] share hit exactly; NaN where there was none
    error: Floats  # [levels] root of the mean square error
    judges: Ints  # [levels]


class Exam:
    """Held-out triples in folds of pairs, or of next states, as of those never entered."""

    def __init__(self, triples: Triples, seen: Seen, by_next: bool = False) -> None:
        self.triples, self.seen, self.spread = triples, seen, spread_of(seen)
        groups, of = (triples.S, seen.t) if by_next else (triples.S * triples.A, seen.pair)
        self.fold: Ints = (np.random.default_rng(0).permutation(groups) % FOLDS)[of]  # [I]
        self._keys: dict[tuple[Feature, ...], Ints] = {}
        self._linear: dict[tuple[str | None, tuple[Shift, ...]], list[Floats]] = {}

    def judge(self, shape: Shape) -> Judged:
        """What other folds say of each triple by a shape."""
        seen, tolerance = self.seen, EXACT * self.spread
        error, level = seen.mean.copy(), np.full(len(seen.mean), -1)
        for fold, residual in enumerate(self._residuals(shape)):
            out = self.fold == fold
            error[out] = residual[out]
            for depth, features in enumerate(shape.chain):
                key = self._key(features)
                many = int(key.max(initial=0)) + 1
                value = valued(key[~out], residual[~out], seen.weight[~out], many, tolerance)
                met = out & (np.bincount(key[~out], minlength=many) > 0)[key]
                error[met], level[met] = residual[met] - value[key[met]], depth
        return Judged(shape, error, level, *self._likelihood(error))

    def trust(self, judged: Judged) -> Trust:
        """By level."""
        at = [judged.level == level for level in range(len(judged.shape.chain))]
        hit, square = np.abs(judged.error) <= EXACT * self.spread, judged.error**2
        return Trust(
            np.array([hit[each].mean() if each.any() else np.nan for each in at]),
            np.array([np.sqrt(square[each].mean()) if each.any() else np.nan for each in at]),
            np.array([each.sum() for each in at]),
        )

    def _key(self, features: tuple[Feature, ...]) -> Ints:
        if features not in self._keys:
            self._keys[features] = keyed(self.triples, features, self.seen.pair, self.seen.t)
        return self._keys[features]

    def _residuals(self, shape: Shape) -> list[Floats]:
        """Rewards less the linear part, of all triples, fitted without each fold."""
        form = shape.slopes, shape.shifts
        if form not in self._linear:
            y, found = self.seen.mean, [self.seen.mean] * FOLDS
            if shape.slopes is not None:
                X = self.design(shape)
                for fold in range(FOLDS):
                    kept = self.fold != fold
                    b = least_absolute(X[kept], y[kept], self.seen.weight[kept])
                    found[fold] = y - X @ b
            self._linear[form] = found
        return self._linear[form]

    def design(self, shape: Shape) -> Floats:
        """Columns of the linear part."""
        assert shape.slopes is not None
        seen = self.seen
        form = shape.slopes, shape.shifts
        return design(self.triples, *form, seen.pair, seen.t, len(seen.pair))

    def _likelihood(self, error: Floats) -> tuple[Floats, float, float]:
        """Weighted log-likelihood of each triple at the best sigma and epsilon, and these."""
        square = (error**2 + self.seen.square) / self.spread**2
        best = -np.inf
        found = np.zeros(len(error)), self.spread, 0.5
        for sigma in SIGMAS:
            spike = -np.minimum(0.5 * square / sigma**2, 700.0) - np.log(sigma)
            for epsilon in EPSILONS:
                logs = np.logaddexp(np.log1p(-epsilon) + spike, np.log(epsilon) - 0.5 * square)
                if (total := float(logs @ self.seen.weight)) > best:
                    best = total
                    found = logs * self.seen.weight, float(sigma * self.spread), float(epsilon)
        return found


def rewards_of(
    triples: Triples, shifts: tuple[Shift, ...] = (), shape: Shape | None = None
) -> tuple[Rewards, Trust, Trust]:
    """The rule that held-out pairs find best, its trust, and that where the next state is new.

    Args:
        triples: with R.
        shifts: after-states that transitions found.
        shape: of an earlier search, to be fitted again; None searches.
    """
    search = Search(triples, thinned(seen_of(triples)))
    best = search.best(shifts) if shape is None else search.judge(shape)
    trusts = [exam.trust(judged) for exam, judged in zip(search.exams, best.judged, strict=True)]
    return Rewards(triples, best.shape), trusts[0], trusts[1]


class Offer(NamedTuple):
    """A shape, judged on held-out pairs and on held-out next states."""

    shape: Shape
    judged: tuple[Judged, ...]

    @property
    def logs(self) -> Floats:
        """Of both exams, by triple."""
        return np.sum([each.logs for each in self.judged], axis=0)

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())


class Search:
    """Both exams count: a rule must not claim more about states never entered than it can."""

    def __init__(self, triples: Triples, seen: Seen) -> None:
        self.triples, self.seen = triples, seen
        self.exams = Exam(triples, seen), Exam(triples, seen, by_next=True)

    def judge(self, shape: Shape) -> Offer:
        """By both exams."""
        return Offer(shape, tuple(exam.judge(shape) for exam in self.exams))

    def best(self, shifts: tuple[Shift, ...] = ()) -> Offer:
        """The best table, on top of a plane or not."""
        offers = [self.judge(Shape())]
        for slopes in (COMMON, BY_CHANGE, BY_ACTION):
            if self.certain(offers[-1]):
                return offers[-1]
            shape = Shape(slopes=slopes, shifts=shifts)
            columns = self.exams[0].design(shape).shape[1]
            if columns <= WIDEST and len(self.seen.mean) >= 2 * columns:
                offers.append(self.judge(shape))
        found = self.refined(offers[0])
        if len(offers) > 1 and not self.certain(found):
            linear = self.refined(max(offers[1:], key=lambda offer: offer.score))
            found = linear if linear.score > found.score + MARGIN else found
        return self.stepwise(found)

    def refined(self, found: Offer) -> Offer:
        """Refine the key while it pays: by one feature, by two, or by two and the action."""
        features = features_of(self.triples)
        while len(found.shape.chain) <= DEPTH and not self.certain(found):
            last = found.shape.chain[-1]
            tried = {(f,): self._finer(found, (f,)) for f in features if f not in last}
            leading = sorted(tried, key=lambda more: -tried[more].score)[:LEADING]
            best = max(tried.values(), key=lambda offer: offer.score, default=found)
            for one, other in combinations(leading, 2):
                for more in (one + other, (features[0], *one, *other)):
                    best = max(best, self._finer(found, more), key=lambda offer: offer.score)
            gain = summed(self.seen.pair, best.logs - found.logs, self.triples.n.size)
            if gain.sum() <= MARGIN + np.sqrt(gain @ gain):
                break
            found = best
        return found

    def stepwise(self, found: Offer) -> Offer:
        """The same key one feature at a time, unless that is worse.

        A key that was never met then falls back on the most that is known of it: a passenger never
        met before pays for a step as all others do.
        """
        last = found.shape.chain[-1]
        best = self.judge(found.shape._replace(chain=((),)))
        while best.shape.chain[-1] != last:
            left = [f for f in last if f not in best.shape.chain[-1]]
            best = max((self._finer(best, (f,)) for f in left), key=lambda offer: offer.score)
        return best if best.score > found.score - MARGIN else found

    def certain(self, offer: Offer) -> bool:
        """Whether every held-out triple is hit."""
        worst = max((np.abs(each.error).max(initial=0.0) for each in offer.judged), default=0.0)
        return bool(worst <= EXACT * self.exams[0].spread)

    def _finer(self, found: Offer, more: tuple[Feature, ...]) -> Offer:
        chain = found.shape.chain
        finer = (*chain, tuple(sorted({*chain[-1], *more})))
        return self.judge(found.shape._replace(chain=finer))


def thinned(seen: Seen) -> Seen:
    """At most so many as a search looks at."""
    if len(seen.mean) <= SEARCHED:
        return seen
    return seen.at(np.sort(np.random.default_rng(0).permutation(len(seen.mean))[:SEARCHED]))
