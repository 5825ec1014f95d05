"""Rewards by rules: r(s, a, s') as a table over a key, on top of a linear part where that pays.

A key is a set of features of (s, a, s'). Its value is the one that most of its triples agree on, or
their mean if few agree, as with noise. Keys are found greedily: each refines the last, and where a
key was never met the coarser one before it speaks. They are judged on held-out pairs *and* on
held-out next states, so that a rule does not claim more about states never entered than it can, by

    (1 - epsilon) N(r; f(key), sigma^2) + epsilon N(r; f(key), spread^2)

at the epsilon and sigma that suit it best. An exact hit is worth much there, so that the rule with
most exact hits wins where rewards are certain.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gim._compile.jit import seldom
from gim.analogy.structure.moves import Shift
from gim.analogy.structure.triples import (
    FOLDS,
    OFTEN,
    Floats,
    Ints,
    Mask,
    Triples,
    placed,
    ranked,
    summed,
)

EXACT = 1e-6  # of the spread of rewards: so near is a hit
ROUNDING = 1e-9  # of the largest reward: what differs by less is the same
SIGMAS = np.array([1e-6, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0])  # of the spread of all rewards
EPSILONS = np.array([0.003, 0.05, 0.5])
FARTHEST = 690.0  # limit: nats that an error costs; exp goes no farther
DEPTH = 3  # limit: refinements of a key
LEADING = 4  # limit: features that are tried in pairs
MARGIN = 3.0  # nats, besides a standard error, by which a finer key must be better
SEARCHED = 5_000  # limit: triples that a search looks at
AT_ONCE = 1 << 15  # triples that are predicted together, or as many as were seen

# -- rewards that are linear in the variables, by least absolute deviations

# Constants: of each action; of each action and change of a variable. Slopes of each action.
COMMON, BY_CHANGE, BY_ACTION = "common", "by change", "by action"
MOST_ACTIONS = 32  # limit: up to which each action has a constant of its own
WIDEST = 64  # limit: columns up to which slopes by action are tried
REWEIGHTED = 20  # limit: times that weights are found anew
NEAR = 1e-7  # of the spread of rewards: what is so near lies on the plane
SAMPLED = 1000  # limit: triples that a plane is fitted to


def design(
    triples: Triples, slopes: str, shifts: tuple[Shift, ...], pair: Ints, t: Ints, seen: int
) -> Floats:
    """Columns [triples, .]: constants, variables before and after, and after the action.

    The first `seen` triples are those that a plane is to be fitted to.
    """
    s, a = np.divmod(pair, triples.A)
    codes = triples.codes
    columns = [*codes[s].T.astype(np.float64), *codes[t].T.astype(np.float64)]
    for variable, j, sign in shifts:
        moved = codes[s, variable] + sign * triples.action_codes[a, j]
        columns.append(np.clip(moved, 0, codes[:, variable].max()).astype(np.float64))
    if triples.A > MOST_ACTIONS:
        amounts = triples.action_codes[a].T.astype(np.float64)
        return np.column_stack([np.ones(len(pair)), (a > 0).astype(np.float64), *amounts, *columns])
    actions = [(a == b).astype(np.float64) for b in range(triples.A)]
    if slopes == BY_ACTION:
        columns = [column * action for column in columns for action in actions]
    if slopes == BY_CHANGE:
        for change in (codes[t] - codes[s]).T:
            key = ranked(np.column_stack([a, change]))
            kinds = np.unique(key[:seen])[: WIDEST + 1]
            actions += [(key == each).astype(np.float64) for each in kinds]
    return np.column_stack([np.ones(len(pair)), *actions[1:], *columns])


def least_absolute(X: Floats, y: Floats, weights: Floats) -> Floats:
    """Coefficients [F, d] that minimise sums of weights |y - X b|; the first column is 1.

    Args:
        X: [I, d].
        y: [I].
        weights: [F, I], for each of F planes; what has none does not count there.
    """
    if len(y) > SAMPLED:
        few = np.linspace(0, len(y) - 1, SAMPLED).astype(np.int64)
        X, y, weights = X[few], y[few], weights[:, few]
    found = np.zeros((len(weights), X.shape[1]))
    kept = weights > 0
    middle = np.array([_median(y, each) for each in kept])
    spread = (np.abs(y - middle[:, None]) * kept).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
    found[:, 0] = middle  # where nothing varies
    vary = np.flatnonzero(spread)
    if not len(vary):
        return found
    weights, kept, spread = weights[vary], kept[vary], spread[vary, None]
    centre = kept @ X / kept.sum(axis=1, keepdims=True)
    centre[:, 0] = 0.0  # what never varies is left to the constant
    moved, w = X - centre[:, None], weights
    error = np.full(w.shape, np.inf)
    for _ in range(REWEIGHTED):
        before, error = error, np.abs(y - (moved @ _solved(moved, y, w)[:, :, None])[:, :, 0])
        if (np.abs(error - before) <= 0.1 * NEAR * spread).all():
            break
        w = weights / np.maximum(error, 1e-6 * spread)
    half = np.array([[_median(*each)] for each in zip(error, kept, strict=True)])
    near = kept & (error <= np.maximum(NEAR * spread, 1e-3 * half))
    enough = near.sum(axis=1, keepdims=True) >= X.shape[1]
    b = _solved(moved, y, weights * np.where(enough, near, error <= half))
    b[:, 0] -= (centre * b).sum(axis=1)
    found[vary] = b
    return found


def _median(values: Floats, kept: Mask) -> float:
    return float(np.median(values[kept])) if kept.any() else 0.0


def _solved(X: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted least squares [F, d] of X [F, I, d]; a little ridge where columns depend."""
    weighted = X * weights[:, :, None]
    left, right = X.transpose(0, 2, 1) @ weighted, y @ weighted
    scale = np.sqrt(np.maximum(np.diagonal(left, axis1=1, axis2=2), 1e-300))
    left = left / (scale[:, :, None] * scale[:, None]) + 1e-12 * np.eye(left.shape[1])
    return np.asarray(np.linalg.solve(left, (right / scale)[:, :, None])[:, :, 0] / scale)


# -- what a reward may depend on: features of a triple (s, a, s'); a set of them is a key


def features_of(triples: Triples, pair: Ints, t: Ints) -> dict[str, Ints]:
    """What triples (s*A + a, s') may be told apart by: the action first, the next state, and more.

    The variables of the action, of s' and of s, changes, edges, whether nothing changes, and
    whether the episode ends.
    """
    s, a = np.divmod(pair, triples.A)
    before, after, own = triples.codes[s], triples.codes[t], triples.action_codes
    found = {"action": a, "next state": t}
    found |= {f"action {j}": own[a, j] for j in range(own.shape[1]) if own.shape[1] > 1}
    for name, columns in (("next", after), ("now", before), ("change", after - before)):
        found |= {f"{name} {i}": column for i, column in enumerate(columns.T)}
    found |= {f"edge {i}": triples.edges[s, i] for i in np.flatnonzero(triples.edged)}
    found["stays"] = (s == t).astype(np.int64)
    return found | ({"end": triples.terminal[t] * 1} if triples.terminal.any() else {})


Key = tuple[str, ...]  # features, in the order of `features_of`
Chain = tuple[Key, ...]  # from coarse to fine


class Shape(NamedTuple):
    """What a reward depends on."""

    chain: Chain = ((),)
    slopes: str | None = None  # of the linear part, if there is one: see `design`
    shifts: tuple[Shift, ...] = ()  # after-states that the linear part may use


def keyed(features: dict[str, Ints], key: Key, many: int) -> Ints:
    """The key of each triple: triples that no feature of these tells apart share it."""
    none = np.zeros(many, np.int64)
    return ranked(np.column_stack([features[each] for each in key] or [none]))


def equal(y: Floats, tolerance: float) -> Ints:
    """One number for all values that differ by no more than rounding."""
    order = np.argsort(y, kind="stable")
    rank = np.empty(len(y), np.int64)
    rank[order] = np.cumsum(np.diff(y[order], prepend=y[order[:1]]) > tolerance)
    return rank


@seldom(lambda fold, key, *_: 3 * FOLDS * key.size)
def speak(
    fold: Any,
    key: Any,
    many: int,
    value: Any,
    rank: Any,
    weight: Any,
    depth: int,
    said: Any,
    level: Any,
) -> None:
    """Let keys speak of triples of each fold where others have met them.

    They have the values and ranks [folds, triples] that are left without the fold.

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
                said[i] = middle[k] / mass[k] if most else mean[k] / total[k]
                level[i] = depth


# -- what was seen


class Seen(NamedTuple):
    """Rewards by triple."""

    pair: Ints  # [I]
    t: Ints  # [I] next state
    mean: Floats  # [I]
    square: Floats  # [I] mean square about the mean
    weight: Floats  # [I]

    def at(self, which: Mask | Ints) -> Seen:
        """Some of them."""
        pair, t, mean, square, weight = self
        return Seen(pair[which], t[which], mean[which], square[which], weight[which])


def seen_of(triples: Triples) -> Seen:
    """Rewards of the triples that have counts."""
    if triples.R is None:
        raise ValueError("rewards by triple are not given: pass R (and R2, if rewards are noisy)")
    kept = triples.counts > 0
    N, pair = triples.counts[kept], triples.pair[kept]
    mean = triples.R[kept] / N
    square = np.zeros(len(N)) if triples.R2 is None else triples.R2[kept] / N - mean**2
    square[square < ROUNDING * mean**2] = 0.0
    n = triples.n.ravel()[pair]
    # What is certain is no surer for having been met often: each pair has one vote.
    weight = N / (1.0 + n / OFTEN) if square.any() else N / n
    return Seen(pair, triples.indices[kept], mean, square, weight)


def spread_of(seen: Seen) -> float:
    """Between the least and the largest reward; 1 if all are the same."""
    largest = float(np.abs(seen.mean).max(initial=0.0))
    spread = float(np.ptp(seen.mean)) if len(seen.mean) else 0.0
    return spread if spread > ROUNDING * largest else 1.0


class Rewards:
    """A rule for rewards, fitted.

    Args:
        triples: with R, and R2 where rewards are noisy.
        shape: what the rule depends on.
    """

    def __init__(self, triples: Triples, shape: Shape) -> None:
        self.triples, self.shape = triples, shape
        self.seen = seen_of(triples)
        self.spread = spread_of(self.seen)
        self._slopes: Floats | None = None  # of the linear part, once it is fitted
        self.entered: Mask = np.zeros(triples.S, bool)  # [S] states that some triple leads to
        self.entered[self.seen.t] = True

    def predict(self, pair: Ints, t: Ints) -> tuple[Floats, Ints]:
        """Mean rewards of triples (pair, t), and the level of the chain that spoke of each.

        The finest is len(shape.chain) - 1; -1 where nothing was seen at all.
        """
        said, level = self._by_rule(np.asarray(pair, np.int64), np.asarray(t, np.int64))
        odd, pays = self._odd
        return np.where(odd[t], pays[t], said), level

    @cached_property
    def _odd(self) -> tuple[Mask, Floats]:
        """Next states [S] that pay all who come the same, and never what the rule says; what it is.

        A goal that one pair has reached is no reason for a finer key, but it is a goal.
        """
        pair, t, mean, square, _ = self.seen
        odd, pays = np.zeros(self.triples.S, bool), np.zeros(self.triples.S)
        if not square.any():  # with noise anybody differs
            odd[t], pays[t] = True, mean
            wrong = np.abs(self._by_rule(pair, t)[0] - mean) > EXACT * self.spread
            odd[t[~wrong | (np.abs(pays[t] - mean) > EXACT * self.spread)]] = False
        return odd, pays

    def _by_rule(self, pair: Ints, t: Ints) -> tuple[Floats, Ints]:
        """The same by the chain alone, some at a time."""
        seen, known = self.seen, len(self.seen.mean)
        said, level, size = np.zeros(len(pair)), np.full(len(pair), -1), max(AT_ONCE, known)
        for i in range(0, len(pair) if known else 0, size):
            some = slice(i, i + size)
            of = np.append(seen.pair, pair[some]), np.append(seen.t, t[some])
            features, many = features_of(self.triples, *of), len(of[0])
            base = self._plane(*of)
            value = np.append(seen.mean, np.zeros(many - known)) - base
            rank = np.append(equal(value[:known], EXACT * self.spread), np.full(many - known, -1))
            weight = np.append(seen.weight, np.zeros(many - known))
            fold = (np.arange(many) < known).astype(np.int64)
            told, depth = np.zeros(many), np.full(many, -1)
            for d, names in enumerate(self.shape.chain):
                key = keyed(features, names, many)
                room = int(key.max(initial=0)) + 1
                speak(fold, key, room, value[None], rank[None], weight, d, told, depth)
            said[some], level[some] = (told + base)[known:], depth[known:]
        return said, level

    def _plane(self, pair: Ints, t: Ints) -> Floats:
        """The linear part of triples, of which those that were seen come first."""
        seen, shape = self.seen, self.shape
        if shape.slopes is None:
            return np.zeros(len(pair))
        X = design(self.triples, shape.slopes, shape.shifts, pair, t, len(seen.mean))
        if self._slopes is None:
            own = X[: len(seen.mean)]
            self._slopes = least_absolute(own, seen.mean, seen.weight[None])[0]
        return np.asarray(X @ self._slopes)


# -- the search


class Judged(NamedTuple):
    """A shape, and what was said of each held-out triple, by pairs [0] and by next states [1]."""

    shape: Shape
    error: Floats  # [2, I] r less what was said
    level: Ints  # [2, I] of the chain that spoke; -1: none
    logs: Floats  # [2, I] weighted log-likelihood

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())


class Search:
    """The rule that says most about held-out pairs and next states."""

    def __init__(self, triples: Triples) -> None:
        seen = seen_of(triples)
        if len(seen.mean) > SEARCHED:
            drawn = _drawn(triples.colours.pair)[seen.pair]
            seen = seen.at(np.sort(np.argsort(drawn, kind="stable")[:SEARCHED]))
        self.triples, self.seen, self.spread = triples, seen, spread_of(seen)
        colours = triples.colours
        of_pair, of_next = _drawn(colours.pair)[seen.pair], _drawn(colours.state)[seen.t]
        self.fold: Ints = np.array([of_pair, of_next]) % FOLDS  # [2, I]
        self.features = features_of(triples, seen.pair, seen.t)
        self._judged: dict[Shape, Judged] = {}
        self._left: dict[Shape, tuple[Floats, Ints]] = {}

    def judge(self, shape: Shape, coarser: Judged | None = None) -> Judged:
        """What other folds say of each triple; `coarser` is the same without the last key."""
        if shape not in self._judged:
            mean, chain = self.seen.mean, shape.chain
            value, rank = self._residuals(shape._replace(chain=((),)))  # [2, folds, I] each
            own = np.take_along_axis(value, self.fold[:, None], axis=1)[:, 0]
            error, level, known = own.copy(), np.full(own.shape, -1), 0
            if coarser is not None:
                error, level, known = coarser.error.copy(), coarser.level.copy(), len(chain) - 1
            said = own - error
            for depth in range(known, len(chain)):
                key = keyed(self.features, chain[depth], len(mean))
                room = int(key.max(initial=0)) + 1
                for f in (0, 1):
                    given = self.fold[f], key, room, value[f], rank[f], self.seen.weight, depth
                    speak(*given, said[f], level[f])
            error = own - said
            logs = np.array([self._likelihood(each) for each in error])
            self._judged[shape] = Judged(shape, error, level, logs)
        return self._judged[shape]

    def _residuals(self, plain: Shape) -> tuple[Floats, Ints]:
        """Rewards less the linear part fitted without each fold, and one number for all equals."""
        if plain not in self._left:
            seen = self.seen
            kept = (self.fold[:, None] != np.arange(FOLDS)[:, None]).reshape(2 * FOLDS, -1)
            value = np.tile(seen.mean, (2 * FOLDS, 1))
            if plain.slopes is not None:
                X = self.design(plain)
                value -= least_absolute(X, seen.mean, seen.weight * kept) @ X.T
            rank = np.full(value.shape, -1)
            for each, mine, left in zip(rank, kept, value, strict=True):
                each[mine] = equal(left[mine], EXACT * self.spread)
            both = (2, FOLDS, len(seen.mean))
            self._left[plain] = value.reshape(both), rank.reshape(both)
        return self._left[plain]

    def design(self, shape: Shape) -> Floats:
        """Columns of the linear part."""
        assert shape.slopes is not None
        pair, t = self.seen.pair, self.seen.t
        return design(self.triples, shape.slopes, shape.shifts, pair, t, len(pair))

    def best(self, shifts: tuple[Shift, ...] = ()) -> Judged:
        """The best table, on top of a plane or not."""
        offers = [self.judge(Shape())]
        for slopes in (COMMON, BY_CHANGE, BY_ACTION):
            if self.certain(offers[-1]):
                return offers[-1]
            shape = Shape(slopes=slopes, shifts=shifts)
            columns = self.design(shape).shape[1]
            if columns <= WIDEST and len(self.seen.mean) >= 2 * columns:
                offers.append(self.judge(shape))
        found = self.refined(offers[0])
        if len(offers) > 1 and not self.certain(found):
            linear = self.refined(max(offers[1:], key=lambda offer: offer.score))
            found = linear if linear.score > found.score + MARGIN else found
        return self.stepwise(found)

    def refined(self, found: Judged) -> Judged:
        """Refine the key while it pays: by one feature, by two, or by two and the action."""
        while len(found.shape.chain) <= DEPTH and not self.certain(found):
            last = found.shape.chain[-1]
            tried = {(f,): self._finer(found, (f,)) for f in self.features if f not in last}
            leading = sorted(tried, key=lambda more: -tried[more].score)[:LEADING]
            best = max(tried.values(), key=lambda offer: offer.score, default=found)
            for one, other in combinations(leading, 2):
                for more in (one + other, ("action", *one, *other)):
                    best = max(best, self._finer(found, more), key=lambda offer: offer.score)
            gain = (best.logs - found.logs).sum(axis=0)
            gain = summed(self.seen.pair, gain, self.triples.n.size)
            if gain.sum() <= MARGIN + np.sqrt(gain @ gain):
                break
            found = best
        return found

    def stepwise(self, found: Judged) -> Judged:
        """The same key one feature at a time, unless that is worse.

        A key that was never met then falls back on the most that is known of it: a passenger never
        met before pays for a step as all others do.
        """
        last, best = found.shape.chain[-1], self.judge(found.shape._replace(chain=((),)))
        while best.shape.chain[-1] != last:
            left = [f for f in last if f not in best.shape.chain[-1]]
            best = max((self._finer(best, (f,)) for f in left), key=lambda offer: offer.score)
        return best if best.score > found.score - MARGIN else found

    def certain(self, offer: Judged) -> bool:
        """Whether every held-out triple is hit."""
        return bool(np.abs(offer.error).max(initial=0.0) <= EXACT * self.spread)

    def _finer(self, found: Judged, more: Key) -> Judged:
        chain, both = found.shape.chain, {*found.shape.chain[-1], *more}
        key = tuple(f for f in self.features if f in both)
        return self.judge(found.shape._replace(chain=(*chain, key)), found)

    def _likelihood(self, error: Floats) -> Floats:
        """Weighted log-likelihood of each triple at the best sigma and epsilon.

        Sigma is the spread of errors where a rule holds, epsilon the share for which it does not.
        """
        half = np.minimum(0.5 * (error**2 + self.seen.square) / self.spread**2, FARTHEST)
        highest, logs = -np.inf, half
        for sigma in SIGMAS.tolist():
            spike = np.exp(half - np.minimum(half / sigma**2, FARTHEST)) / sigma
            mixed = np.log(EPSILONS[:, None] + (1.0 - EPSILONS[:, None]) * spike)
            totals = mixed @ self.seen.weight
            if totals.max() > highest:
                highest, logs = float(totals.max()), mixed[totals.argmax()] - half
        return np.asarray(self.seen.weight * logs)


def _drawn(colour: Any) -> Ints:
    """A number of each, drawn in the order of colours."""
    return np.random.default_rng(0).permutation(colour.size)[placed(colour)]
