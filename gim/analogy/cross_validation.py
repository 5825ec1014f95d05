"""Cross-validation: what candidates say of whole pairs that they have not seen.

Every pair that was met is held out, those met once included. A candidate that can leave out one
pair at a time does (`Fitted.apart`); the others are fitted once for each of a few folds. What is
kept of a prediction q is what weighs it: its chances of the successors that were met, and the sum
of its squares; and for the pairs that will judge a certificate (`gim.belief.certificate`) all of
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.candidates import Candidate, Data, Fitted
from gim.analogy.structure.triples import OFTEN, placed
from gim.analogy.worth import HeldOut

# -- who is worth all folds: candidates far behind after one fold are judged no further


Floats = NDArray[np.float64]
MARGIN = 2.0  # limit: standard errors behind the leader that rule a candidate out
FINALISTS = 6  # limit: that are judged further


def finalists(errors: Mapping[str, Floats], weights: Floats) -> list[str]:
    """The names of candidates that may still be the best, the leader first.

    All were judged on the same pairs, so it is their differences that count: pairs that are hard
    for all say nothing about who is better.

    Args:
        errors: each candidate's squared error at each judge of the first fold, [K].
        weights: of the judges in a mean, [K].

    Example:
        >>> judged = {"bad": np.array([3.0, 5.0, 4.0]), "good": np.array([1.0, 2.5, 2.0])}
        >>> finalists(judged, np.ones(3))
        ['good']
    """
    share = weights / weights.sum()
    ranked = sorted(errors, key=lambda name: float(share @ errors[name]))
    return [
        name for name in ranked[:FINALISTS] if not _behind(errors[name], errors[ranked[0]], share)
    ]


def _behind(errors: Floats, leader: Floats, share: Floats) -> bool:
    difference = errors - leader
    mean = float(share @ difference)
    return mean > MARGIN * float(np.sqrt(share**2 @ (difference - mean) ** 2))


# --


Ints = NDArray[np.int64]
KEPT = 1 << 20  # numbers in the whole rows that are kept, at the most


class Answers(NamedTuple):
    """What is predicted of each held-out pair by one who has not seen it."""

    q: Floats  # [nnz] of each successor that was met
    square: Floats  # [K] sum of the squares of the whole row
    level: Ints  # [K] what kind of evidence it rests on
    behind: Floats  # [K] visits behind it; inf: no limit is known
    rows: sparse.csr_array  # [judges, S] the whole predictions of those that judge


class CrossValidation:
    """Counts in folds of held-out pairs.

    Args:
        data: the counts.
        folds: parts in which the pairs are held out.
        rng: draws the folds.
    """

    def __init__(self, data: Data, folds: int, rng: np.random.Generator) -> None:
        self.data, self.folds = data, folds
        self.pairs: Ints = np.flatnonzero(data.n.ravel() > 0)  # [K]
        self.n: Floats = data.n.ravel()[self.pairs]  # [K]
        rows = data.rows[self.pairs]
        self.first, self.next, self.N = rows.indptr.astype(np.int64), rows.indices, rows.data
        self.row: Ints = np.repeat(np.arange(self.pairs.size), np.diff(self.first))  # [nnz]
        self._fitted: dict[str, Fitted] = {}
        order = rng.permutation(self.pairs.size)[placed(data.colours.pair[self.pairs])]
        self.fold = order % folds
        self.judges: Ints = np.flatnonzero(order < max(KEPT // data.S, 1))  # places in `pairs`

    @property
    def weights(self) -> Floats:
        """In a mean over pairs: the noise of few visits counts less, many visits are alike."""
        return self.n / (self.n + OFTEN)

    @cached_property
    def parts(self) -> list[Data]:
        """The data without each fold; candidates share what they compute from them."""
        return [self._without(k) for k in range(self.folds)]

    def race(self, known: list[Candidate]) -> dict[str, Answers]:
        """What each candidate says of each pair, if it may be the best.

        After the first fold only those go on that are not clearly behind, those that leave out
        one pair at a time included.
        """
        alone = [each for each in known if each.leaves_one_out]
        said = {str(each): self.one_out(each) for each in alone}
        known = [each for each in known if not each.leaves_one_out]
        here = self.fold == 0
        first = {str(each): self._fold_answers(each, 0) for each in known}
        errors = {name: self.errors(each)[here] for name, each in (said | first).items()}
        last = finalists(errors, self.weights[here]) if here.any() else list(first)
        by_name = {str(each): each for each in known}
        return said | {n: self.answers(by_name[n], first[n]) for n in last if n in first}

    def one_out(self, candidate: Candidate) -> Answers:
        """What a candidate that can leave out one pair at a time says of each."""
        fitted = self.fitted(candidate)
        rows = fitted.apart(self.pairs)
        assert rows is not None
        behind = fitted.visits_behind(self.pairs, apart=True)
        return self.read(rows, fitted.levels(self.pairs), behind)

    def fitted(self, candidate: Candidate) -> Fitted:
        """The candidate, fitted to all data, once."""
        if str(candidate) not in self._fitted:
            self._fitted[str(candidate)] = candidate.fit(self.data)
        return self._fitted[str(candidate)]

    def answers(self, candidate: Candidate, first: Answers | None = None) -> Answers:
        """What a candidate says of each pair without its fold; `first`: what of fold 0."""
        total = first if first is not None else self._fold_answers(candidate, 0)
        for k in range(1, self.folds):
            more = self._fold_answers(candidate, k)
            total = Answers(*(one + other for one, other in zip(total, more, strict=True)))
        return total

    def read(
        self, rows: sparse.csr_array, level: Ints, behind: Floats, which: Ints | None = None
    ) -> Answers:
        """What rows [pairs, S] say of held-out pairs (of `which`, places in `pairs`)."""
        which = np.arange(self.pairs.size) if which is None else which
        q, square = np.zeros(self.N.size), np.zeros(self.pairs.size)
        levels, visits = np.zeros(self.pairs.size, np.int64), np.zeros(self.pairs.size)
        place = np.full(self.pairs.size, -1)
        place[which] = np.arange(which.size)
        if which.size:
            mine = place[self.row] >= 0
            q[mine] = _entries(rows, place[self.row[mine]], self.next[mine])
            some = np.diff(rows.indptr) > 0
            square[which[some]] = np.add.reduceat(rows.data**2, rows.indptr[:-1][some])
            levels[which], visits[which] = level, behind
        return Answers(q, square, levels, visits, taken(rows, place[self.judges]))

    def errors(self, said: Answers) -> Floats:
        """||p_hat - q||^2 of each pair less ||p_hat||^2, which is the same for all who predict."""
        hits = np.bincount(self.row, self.N * said.q, self.pairs.size) / self.n
        return said.square - 2.0 * hits

    def held(self, said: Answers) -> HeldOut:
        """The pairs with what was predicted of them."""
        return HeldOut(self.pairs, self.first, self.N, said.q, said.behind)

    def _fold_answers(self, candidate: Candidate, k: int) -> Answers:
        which = np.flatnonzero(self.fold == k)
        fitted = candidate.fit(self.parts[k])
        pairs = self.pairs[which]
        behind = fitted.visits_behind(pairs)
        return self.read(fitted.rows(pairs), fitted.levels(pairs), behind, which)

    def _without(self, k: int) -> Data:
        out = np.zeros(self.data.n.size, bool)
        out[self.pairs[self.fold == k]] = True
        return self.data.without(out.reshape(self.data.n.shape))


def taken(rows: sparse.csr_array, place: Ints) -> sparse.csr_array:
    """The rows at these places, each from its end; an empty one where a place is -1."""
    size = np.where(place >= 0, np.diff(rows.indptr)[place], 0) if rows.shape[0] else 0 * place
    first = np.append(0, np.cumsum(size))
    last = rows.indptr[1:][place] - 1 if rows.shape[0] else place
    at = np.repeat(last + first[:-1], size) - np.arange(first[-1])
    return sparse.csr_array(
        (rows.data[at], rows.indices[at], first), shape=(place.size, rows.shape[1])
    )


def _entries(rows: Any, row: Ints, column: Ints) -> Floats:
    """The entries of CSR rows at these places."""
    if not row.size:
        return np.zeros(0)
    return np.asarray(rows[row, column]).ravel().astype(np.float64)
