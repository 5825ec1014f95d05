"""What so many visits cannot exclude: rewards, next states and first states that were never seen.

A pair that paid 10 three times may pay 0 the next time, and a state from which no episode began may
be where the next one does. So bounds count visits that were never made. For the reward of a pair
there are two sorts of them, one at either end of what a reward may be, for its next states one that
may lead anywhere. Each counts for

    20 / (repeats + 10)

visits: `repeats` are the visits of pairs that were met before, all pairs together. How far rewards
scatter, and how often next states are new, is told by what they did; but while there are few
repeats every pair may be like that one coin, whatever they say. A thousand leave little of it.

First states, and states of a log, of which nobody has listed what there are, follow Good (1953):
what is new comes about as often as what was seen once only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FEW = 10.0  # repeats that count for nothing yet; twice as many
OFTEN = 0.5  # first states seen once, besides those that were
NEW = 0.25  # states of a log seen once, besides those that were
# Of all that rewards as they were seen make possible: how far a bound may move if there are others.
RESTS = 0.1


def weight(N: sparse.csr_array) -> float:
    """Visits that each end of the range of rewards counts for, and all unseen next states do.

    Args:
        N: [S*A, S] the visits.
    """
    repeats = np.maximum(np.asarray(N.sum(axis=1)).ravel() - 1.0, 0.0).sum()
    return 2 * FEW / (float(repeats) + FEW)


def widened(low: float, high: float) -> tuple[float, float]:
    """A range of rewards as far again to either side: what was seen need not be all there is.

    A bound that moves by more than RESTS of all that is possible, if it is asked for with this
    range instead of the one that was seen, rests on what nobody has told.
    """
    wide = max(high - low, abs(low), abs(high))
    return low - wide, high + wide


class Beginnings(NamedTuple):
    """Where episodes begin, as far as it was seen."""

    known: Floats  # [S] chances; what is missing to 1 begins in a state that is none of these
    seen: Floats  # [S] episodes that began in each; of size 0 where `known` is certain
    may: Bools  # [S] states in which one may begin
    listed: bool = True  # whether they begin in these states only
    once: float = 0.0  # states entered only once, of those of which nobody has listed all

    @property
    def mean(self) -> Floats:
        """The chances [S] on the average over all that may be."""
        if not self.seen.size:
            return self.known
        unseen, once = self.may & (self.seen == 0), float((self.seen == 1).sum())
        more = (OFTEN + once) * (not self.listed or bool(unseen.any()))
        here = 1.0 if self.listed else (self._left + 1) / (self._left + self.once + 2)
        share = here * more / max(int(unseen.sum()), 1)
        return np.asarray((self.seen + share * unseen) / (self.seen.sum() + more))

    @property
    def _left(self) -> float:
        return float(np.count_nonzero(self.may))

    def drawn(self, models: int, rng: np.random.Generator) -> Floats:
        """Chances in so many models, [models, S], or [1, S] if they are certain.

        What is missing to 1 begins in a state that nobody has listed.
        """
        if not self.seen.size:
            return self.known[None]
        p = rng.standard_gamma(self.seen, (models, self.seen.size))
        unseen = self.may & (self.seen == 0)
        more = rng.standard_gamma(OFTEN + float((self.seen == 1).sum()), (models, 1))
        if self.listed and not unseen.any():
            more *= 0.0
        total = np.maximum(p.sum(axis=1, keepdims=True) + more, 1e-300)
        if unseen.any():
            here = rng.standard_exponential((models, int(unseen.sum())))
            fresh = (models, 1)
            share = 1.0 if self.listed else rng.beta(self._left + 1, self.once + 1, fresh)
            p[:, unseen] = share * more * here / here.sum(axis=1, keepdims=True)
        return np.asarray(p / total)


def new_states(N: sparse.csr_array, models: int, rng: np.random.Generator) -> Floats:
    """The chance [models] that a step leads to a state that was never seen; N [S*A, S] visits."""
    entered = np.asarray(N.sum(axis=0)).ravel()
    once = float((entered == 1).sum()) + NEW
    return np.asarray(rng.beta(once, max(float(entered.sum()), NEW), models))
