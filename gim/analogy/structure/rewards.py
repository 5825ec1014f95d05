"""Rewards by rules: r(s, a, s') as a table over a key, on top of a linear part where that pays.

A key is a set of features of (s, a, s') (`gim.analogy.structure.rewards`). The value of a key is
the one that most of its triples agree on, or their mean if few agree, as with noise. Keys are found
greedily on held-out pairs: each refines the last, and where a key was never met the coarser one
before it speaks. A rule is judged by

    (1 - epsilon) N(r; f(key), sigma^2) + epsilon N(r; f(key), spread^2)

at the epsilon and sigma that suit it best. An exact hit is worth much there, so that the rule with
most exact hits wins where rewards are certain.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from gim.analogy.structure.moves import Shift
from gim.analogy.structure.triples import Floats, Ints, Mask, Triples, distinct, ranked, summed

# -- rewards that are linear in the variables, by least absolute deviations


# Constants: of each action; of each action and change of a variable. Slopes of each action.
COMMON, BY_CHANGE, BY_ACTION = "common", "by change", "by action"
MOST_ACTIONS = 32  # up to which each action has a constant of its own
WIDEST = 64  # columns up to which slopes by action are tried
REWEIGHTED = 20
NEAR = 1e-7  # of the spread of rewards: what is so near lies on the plane
SAMPLED = 2000  # triples that a plane is fitted to


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
    for _ in range(REWEIGHTED):
        error = np.abs(y - (moved @ _solved(moved, y, w)[:, :, None])[:, :, 0])
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


# --


# -- what a reward may depend on: features of a triple (s, a, s'); a set of them is a key


class Feature(NamedTuple):
    """Something that a triple has."""

    kind: str
    variable: int = -1  # of the state or the action, if it is one of a variable


def features_of(triples: Triples) -> list[Feature]:
    """The action and its variables, those of s and s', changes, edges, s', if it is s or an end."""
    k, own = triples.k, triples.action_codes.shape[1]
    return [
        Feature("action"),
        Feature("next state"),
        *(Feature("action variable", j) for j in range(own if own > 1 else 0)),
        *(Feature("next", i) for i in range(k)),
        *(Feature("variable", i) for i in range(k)),
        *(Feature("change", i) for i in range(k)),
        *(Feature("edge", i) for i in np.flatnonzero(triples.edged).tolist()),
        Feature("stays"),
        *([Feature("end")] if triples.terminal.any() else []),
    ]


def column(triples: Triples, feature: Feature, pair: Ints, t: Ints) -> Ints:
    """The values of one feature for triples (pair, t)."""
    s, a = np.divmod(pair, triples.A)
    kind, i = feature
    if kind == "action":
        return a
    if kind == "action variable":
        return triples.action_codes[a, i]
    if kind == "next":
        return triples.codes[t, i]
    if kind == "variable":
        return triples.codes[s, i]
    if kind == "edge":
        return triples.edges[s, i]
    if kind == "change":
        return triples.codes[t, i] - triples.codes[s, i]
    if kind == "end":
        return triples.terminal[t].astype(np.int64)
    return t if kind == "next state" else (s == t).astype(np.int64)


def keyed(triples: Triples, features: tuple[Feature, ...], pair: Ints, t: Ints) -> Ints:
    """The key of each triple: triples that no feature of these tells apart share it."""
    return ranked(
        np.column_stack([column(triples, each, pair, t) for each in features] or [0 * pair])
    )


def valued(key: Ints, y: Floats, weight: Floats, many: int, tolerance: float) -> Floats:
    """The value of each key [many]: that of most, if more than half agree on it; else the mean."""
    total = summed(key, weight, many)
    value = summed(key, weight * y, many) / np.maximum(total, 1e-300)
    rounded = equal(y, tolerance)
    width = rounded.max(initial=0) + 1
    cell, of = distinct(key * width + rounded)
    mass = summed(of, weight, len(cell))
    middle = summed(of, weight * y, len(cell)) / np.maximum(mass, 1e-300)
    most = mass > 0.5 * total[cell // width]
    value[cell[most] // width] = middle[most]
    return value


def equal(y: Floats, tolerance: float) -> Ints:
    """One number for all values that differ by no more than rounding."""
    order = np.argsort(y, kind="stable")
    rank = np.empty(len(y), np.int64)
    rank[order] = np.cumsum(np.diff(y[order], prepend=y[order[:1]]) > tolerance)
    return rank


# --


EXACT = 1e-6  # of the spread of rewards: so near is a hit
ROUNDING = 1e-9  # of the largest reward: what differs by less is the same
FEW = 5.0  # visits that a pair met often counts for
AT_ONCE = 1 << 15  # triples that are predicted together, or as many as were seen


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


class Shape(NamedTuple):
    """What a reward depends on."""

    chain: tuple[tuple[Feature, ...], ...] = ((),)  # features of the keys, from coarse to fine
    slopes: str | None = None  # of the linear part, if there is one: see `linear.design`
    shifts: tuple[Shift, ...] = ()  # after-states that the linear part may use


class Rewards:
    """A rule for rewards, fitted.

    Args:
        triples: with R, and R2 where rewards are noisy.
        shape: what the rule depends on; `reward_search.rewards_of` finds one.
    """

    def __init__(self, triples: Triples, shape: Shape) -> None:
        self.triples, self.shape = triples, shape
        self.seen = seen_of(triples)
        self.spread = spread_of(self.seen)
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
        """The same by the chain alone."""
        said, level = np.zeros(len(pair)), np.full(len(pair), -1)
        if len(self.seen.mean):
            size = max(AT_ONCE, len(self.seen.mean))
            for i in range(0, len(pair), size):
                some = slice(i, i + size)
                said[some], level[some] = self._predicted(pair[some], t[some])
        return said, level

    def _predicted(self, pair: Ints, t: Ints) -> tuple[Floats, Ints]:
        """The same for so many that their features take little memory."""
        base, residual = self._plane(pair, t), self._left
        said, level = np.zeros(len(pair)), np.full(len(pair), -1)
        for depth, features in enumerate(self.shape.chain):
            both = np.append(self.seen.pair, pair), np.append(self.seen.t, t)
            key, asked = np.split(keyed(self.triples, features, *both), [len(residual)])
            many = int(max(key.max(), asked.max(initial=0))) + 1
            value = valued(key, residual, self.seen.weight, many, EXACT * self.spread)
            met = (np.bincount(key, minlength=many) > 0)[asked]
            said[met], level[met] = value[asked[met]], depth
        return said + base, level

    def _plane(self, pair: Ints, t: Ints) -> Floats:
        """The linear part of the triples asked for."""
        if self.shape.slopes is None:
            return np.zeros(len(pair))
        seen = len(self.seen.mean)
        both = np.append(self.seen.pair, pair), np.append(self.seen.t, t)
        X = design(self.triples, self.shape.slopes, self.shape.shifts, *both, seen)
        return np.asarray(X[seen:] @ self._slopes)

    @cached_property
    def _slopes(self) -> Floats:
        """The coefficients of the linear part."""
        assert self.shape.slopes is not None
        seen = self.seen
        form = self.triples, self.shape.slopes, self.shape.shifts
        X = design(*form, seen.pair, seen.t, len(seen.mean))
        return least_absolute(X, seen.mean, seen.weight[None])[0]

    @cached_property
    def _left(self) -> Floats:
        """What the linear part leaves of the rewards that were seen."""
        return self.seen.mean - self._plane(self.seen.pair, self.seen.t)


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
    weight = N / (1.0 + n / FEW) if square.any() else N / n
    return Seen(pair, triples.indices[kept], mean, square, weight)


def spread_of(seen: Seen) -> float:
    """Between the least and the largest reward; 1 if all are the same."""
    largest = float(np.abs(seen.mean).max(initial=0.0))
    spread = float(np.ptp(seen.mean)) if len(seen.mean) else 0.0
    return spread if spread > ROUNDING * largest else 1.0
