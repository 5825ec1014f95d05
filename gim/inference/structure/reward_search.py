"""The rule for rewards that says most about held-out pairs, and how far it may be trusted."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from gim.inference.structure.keys import Feature, features_of, keyed
from gim.inference.structure.linear import BY_ACTION, BY_CHANGE, COMMON, WIDEST
from gim.inference.structure.moves import Shift
from gim.inference.structure.reward_validation import Judged, Trust, Validation
from gim.inference.structure.rewards import EXACT, Rewards, Seen, Shape, seen_of
from gim.inference.structure.triples import Floats, Ints, Triples, summed

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
    search = Search(triples, thinned(seen_of(triples)))
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


def thinned(seen: Seen) -> Seen:
    """At most so many as a search looks at."""
    if len(seen.mean) <= SEARCHED:
        return seen
    return seen.at(np.sort(np.random.default_rng(0).permutation(len(seen.mean))[:SEARCHED]))
