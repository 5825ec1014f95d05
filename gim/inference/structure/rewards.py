"""Rewards by rules: r(s, a, s') as a table over a key, on top of a linear part where that pays.

A key is a set of features of (s, a, s') (`gim.inference.structure.keys`). The value of a key is the
one that most of its triples agree on, or their mean if few agree, as with noise. Keys are found
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

from gim.inference.structure.keys import Feature, keyed, valued
from gim.inference.structure.linear import design, least_absolute
from gim.inference.structure.moves import Shift
from gim.inference.structure.triples import Floats, Ints, Mask, Triples

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
