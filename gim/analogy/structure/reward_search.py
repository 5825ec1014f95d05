"""The rule for rewards that says most about held-out pairs, and how far it may be trusted."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gim._compile.jit import seldom
from gim.analogy.structure.moves import Shift
from gim.analogy.structure.rewards import (
    BY_ACTION,
    BY_CHANGE,
    COMMON,
    EXACT,
    WIDEST,
    Feature,
    Rewards,
    Seen,
    Shape,
    design,
    equal,
    features_of,
    keyed,
    least_absolute,
    seen_of,
    spread_of,
)
from gim.analogy.structure.triples import Floats, Ints, Triples, placed, summed

# -- what a rule for rewards says of triples that it has not seen, and how likely it makes them


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
        colour, of = triples.colours.pair, seen.pair
        if by_next:
            colour, of = triples.colours.state, seen.t
        drawn = np.random.default_rng(0).permutation(colour.size)[placed(colour)]
        self.fold: Ints = (drawn % FOLDS)[of]  # [I]
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


# --


DEPTH = 3  # refinements of a key
LEADING = 4  # features that are tried in pairs
MARGIN = 3.0  # nats, besides a standard error, by which a finer key must be better
SEARCHED = 5_000  # triples that a search looks at


def rewards_of(
    triples: Triples, shifts: tuple[Shift, ...] = (), shape: Shape | None = None
) -> tuple[Rewards, Trust, Trust]:
    """The rule that held-out pairs find best, its trust, and that where the next state is new.

    Args:
        triples: with R.
        shifts: after-states that transitions found.
        shape: of an earlier search, to be fitted again; None searches.
    """
    search = Search(triples, thinned(triples, seen_of(triples)))
    best = search.best(shifts) if shape is None else search.judge(shape)
    both = zip(search.validations, best.judged, strict=True)
    trusts = [validation.trust(judged) for validation, judged in both]
    return Rewards(triples, best.shape), trusts[0], trusts[1]


class Offer(NamedTuple):
    """A shape, judged on held-out pairs and on held-out next states."""

    shape: Shape
    judged: tuple[Judged, ...]

    @property
    def logs(self) -> Floats:
        """Of both validations, by triple."""
        return np.sum([each.logs for each in self.judged], axis=0)

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())


class Search:
    """Both validations count: a rule must not claim more about states never entered than it can."""

    def __init__(self, triples: Triples, seen: Seen) -> None:
        self.triples, self.seen = triples, seen
        self.validations = Validation(triples, seen), Validation(triples, seen, by_next=True)
        self._keys: dict[tuple[Feature, ...], Ints] = {}
        self._judged: dict[Shape, Offer] = {}

    def judge(self, shape: Shape, coarser: Offer | None = None) -> Offer:
        """By both, once; `coarser` is the same without the last level, if there is one."""
        if shape not in self._judged:
            keys = [self._key(features) for features in shape.chain]
            before = [None, None] if coarser is None else coarser.judged
            both = zip(self.validations, before, strict=True)
            judged = tuple(validation.judge(shape, keys, each) for validation, each in both)
            self._judged[shape] = Offer(shape, judged)
        return self._judged[shape]

    def _key(self, features: tuple[Feature, ...]) -> Ints:
        if features not in self._keys:
            self._keys[features] = keyed(self.triples, features, self.seen.pair, self.seen.t)
        return self._keys[features]

    def best(self, shifts: tuple[Shift, ...] = ()) -> Offer:
        """The best table, on top of a plane or not."""
        offers = [self.judge(Shape())]
        for slopes in (COMMON, BY_CHANGE, BY_ACTION):
            if self.certain(offers[-1]):
                return offers[-1]
            shape = Shape(slopes=slopes, shifts=shifts)
            columns = self.validations[0].design(shape).shape[1]
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
        return bool(worst <= EXACT * self.validations[0].spread)

    def _finer(self, found: Offer, more: tuple[Feature, ...]) -> Offer:
        chain = found.shape.chain
        finer = (*chain, tuple(sorted({*chain[-1], *more})))
        return self.judge(found.shape._replace(chain=finer), found)


def thinned(triples: Triples, seen: Seen) -> Seen:
    """At most so many as a search looks at."""
    if len(seen.mean) <= SEARCHED:
        return seen
    drawn = np.random.default_rng(0).permutation(triples.S * triples.A)
    drawn = drawn[placed(triples.colours.pair)][seen.pair]
    return seen.at(np.sort(np.argsort(drawn, kind="stable")[:SEARCHED]))
