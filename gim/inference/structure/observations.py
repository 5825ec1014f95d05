"""What was counted of a block of variables, whatever explains it: all moves of a block share it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gim.inference.structure.moves import Values, values_of
from gim.inference.structure.triples import Floats, Ints, Triples, summed

FOLDS, MANY_FOLDS, FEW_PAIRS = 4, 8, 100  # parts in which pairs are held out; more if few


class Weights(NamedTuple):
    """What counts count: the visits of a pair, less and less as they become many."""

    of: Floats  # [I] observations
    visits: Floats  # [P] pairs


class Observations:
    """Pairs that were met and the values that they reached; those of a pair are together."""

    def __init__(self, triples: Triples, variables: tuple[int, ...]) -> None:
        self.triples = triples
        self.values: Values = values_of(triples, variables)
        self.pairs = triples.met
        V = len(self.values.codes)
        slot = np.searchsorted(self.pairs, triples.pair)
        kept = triples.counts > 0
        key = slot[kept] * V + self.values.of_state[triples.indices[kept]]
        unique, where = np.unique(key, return_inverse=True)
        self.slot, self.target = np.divmod(unique, V)  # [I] pair (by its place) and value
        self.of_triple = where.ravel()  # [triples with counts] the observation that each is part of
        self.weight: Floats = summed(where.ravel(), triples.counts[kept], len(unique))
        self.first = np.searchsorted(self.slot, np.arange(len(self.pairs) + 1))  # [P + 1]
        self.visits: Floats = triples.n.ravel()[self.pairs]  # [P]
        order = np.random.default_rng(len(self.pairs)).permutation(len(self.pairs))
        self.folds = MANY_FOLDS if len(self.pairs) < FEW_PAIRS else FOLDS
        self.fold: Ints = order % self.folds  # [P] in which each pair is held out
        self._contexts: dict[tuple[int, ...], tuple[Ints, Ints]] = {}
        self._weights: dict[tuple[float, int | None], Weights] = {}

    def slot_of(self, pairs: Ints) -> Ints:
        """The place of each pair among those that were met; -1 if it was not."""
        if not len(self.pairs):
            return np.full(len(pairs), -1)
        slot = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        return np.where(self.pairs[slot] == pairs, slot, -1)

    def contexts(self, features: tuple[int, ...]) -> tuple[Ints, Ints]:
        """What contexts by these features are called [C], rising, and that of each pair [P]."""
        if features not in self._contexts:
            keys, at = np.unique(self.triples.context(features, self.pairs), return_inverse=True)
            self._contexts[features] = keys, at.ravel().astype(np.int64)
        return self._contexts[features]

    def weights(self, most: float, without: int | None = None) -> Weights:
        """Counts such that no pair counts for more than `most` visits: N / (1 + n / most).

        Where pairs differ, one that was met a thousand times must not speak for all others. Pairs
        of the fold `without` count for nothing.
        """
        if (most, without) not in self._weights:
            less = 1.0 + self.visits / most
            kept = np.ones(len(less)) if without is None else (self.fold != without) * 1.0
            self._weights[most, without] = Weights(
                self.weight * (kept / less)[self.slot], self.visits * kept / less
            )
        return self._weights[most, without]
