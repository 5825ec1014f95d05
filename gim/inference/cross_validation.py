"""The split of a candidate: it predicts whole pairs that it has not seen, fold by fold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gim.inference.base import Floats
from gim.inference.candidates import Candidate, Data, valid
from gim.inference.held_out import Judges, Mask, mean
from gim.inference.racing import finalists
from gim.model.projection import project_simplex


class CrossValidation:
    """Counts in folds of held-out pairs.

    Args:
        N, n: counts [S, A, S] and visits [S, A].
        playable: [S, A].
        folds: parts in which the judges are held out.
        ridge: visits that shrinkage within a candidate is worth.
        rng: draws the folds.
        by_state: hold out all pairs of a state at once: what is said of states never met.
    """

    def __init__(
        self,
        N: Floats,
        n: Floats,
        playable: Mask,
        folds: int,
        ridge: float,
        rng: np.random.Generator,
        by_state: bool = False,
    ) -> None:
        self.N, self.n, self.playable, self.ridge = N, n, playable, ridge
        self.judges = Judges.of(N, n)
        self.place = np.full(n.shape, -1)  # [S, A] the fold in which a pair is held out
        if by_state:
            self.place[:] = (rng.permutation(len(n)) % folds)[:, None]
        else:
            self.place[self.judges.pairs] = rng.permutation(len(self.judges.n)) % folds
        self.fold: NDArray[np.int64] = self.place[self.judges.pairs]  # [K] of each judge
        self.folds = folds

    @cached_property
    def parts(self) -> list[Data]:
        """The data without each fold; candidates share what they compute from them."""
        return [self._data(self.place == k) for k in range(self.folds)]

    def held(self, known: Mapping[str, Candidate]) -> dict[str, Floats]:
        """What each candidate says of each judge without its fold, [K, S], if it may be the best.

        After the first fold only those go on that are not clearly behind.
        """
        first = {name: self._answer(predict, 0) for name, predict in known.items()}
        here = self.fold == 0
        judges = Judges(self.judges.pairs & (self.place == 0), *(x[here] for x in self.judges[1:]))
        errors = {name: judges.distances(q) for name, q in first.items()}
        last = finalists(errors, judges.weights)
        return {name: self.answers(known[name], first[name]) for name in last}

    def answers(self, predict: Candidate, first: Floats | None = None) -> Floats:
        """What a candidate says of each judge without its fold, [K, S]; `first`: of fold 0."""
        q = np.empty(self.judges.N.shape)
        for k in range(self.folds):
            known = k == 0 and first is not None
            q[self.fold == k] = first if known else self._answer(predict, k)
        return q

    def everything(self, predict: Candidate) -> Floats:
        """What it says of every pair, given all data: [S, A, S]."""
        return valid(predict(self._data(np.zeros(self.n.shape, bool))), self.playable)

    def score(self, errors: Floats) -> tuple[float, float]:
        """Mean of the judges' squared errors [K] and its standard error."""
        return mean(errors, self.judges.weights)

    def _answer(self, predict: Candidate, k: int) -> Floats:
        """What a candidate says of the judges of a fold, [.., S]."""
        return project_simplex(predict(self.parts[k], self.judges.pairs & (self.place == k)))

    def _data(self, out: Mask) -> Data:
        return Data(self.N, np.where(out, 0.0, self.n), self.playable, self.ridge)
