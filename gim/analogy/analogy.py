"""Analogy: inference that knows how far it may be trusted.

Several candidates predict p(.|s,a) of every pair from the others (`gim.analogy.candidates`). Each
predicts whole pairs that it has not seen (`gim.analogy.cross_validation`). What a prediction is
worth and how often the analogy fails is what makes those pairs most likely (`gim.analogy.worth`),
and the candidate under which they are most likely becomes the prior. A pair's own visits decide how
far it counts there (`gim.belief.evidence`). If no candidate makes held-out pairs likelier than
knowing nothing does, nothing is inferred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.params import OneOf, Within
from gim._base.threads import one_thread
from gim._compile.jit import hot, seldom
from gim.analogy.base import Floats, Frame, Inference, Posterior, Prior, no_prior, prior_of
from gim.analogy.candidates import Candidate, Data, suited
from gim.analogy.candidates.base import FAMILIES
from gim.analogy.candidates.structured import triples_of
from gim.analogy.cross_validation import Answers, CrossValidation
from gim.analogy.prior import with_judges
from gim.analogy.reuse import MODEL, offers
from gim.analogy.rewards import infer_rewards
from gim.analogy.ridge import RidgeRewards
from gim.analogy.structure.triples import FOLDS
from gim.analogy.transfer import RulesOf
from gim.analogy.worth import LEAST, Worth, strata_of, worth_of
from gim.model.counts import Counts, nonzeros, rewards_by_triple, transitions
from gim.model.learned import same_variables

# -- predicted rows without their tails: a plan need not read what hardly ever happens


def cut(rows: sparse.csr_array, tail: float) -> sparse.csr_array:
    """The leading successors of each row, all but a mass of `tail`, normalised again.

    Example:
        >>> rows = sparse.csr_array(np.array([[0.5, 0.004, 0.49, 0.006]]))
        >>> cut(rows, 0.005).toarray().round(3).tolist()
        [[0.502, 0.0, 0.492, 0.006]]
    """
    keep = leading(rows.data, rows.indptr.astype(np.int64), tail)
    pair = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[keep]
    sizes = np.bincount(pair, minlength=rows.shape[0])
    sums = np.bincount(pair, rows.data[keep], rows.shape[0])
    data = rows.data[keep] / sums[pair]
    first = np.append(0, np.cumsum(sizes))
    return sparse.csr_array((data, rows.indices[keep], first), shape=rows.shape)


@seldom(lambda data, first, tail: 8 * data.size)
def leading(data: Any, first: Any, tail: float) -> Any:
    """Whether each number is kept: the least of a row go, the first of equals first, up to `tail`.

    Those above it stay in any case; the others are taken from a heap.
    """
    keep = np.ones(data.size, np.bool_)
    longest = 0
    for i in range(first.size - 1):
        longest = max(longest, first[i + 1] - first[i])
    heap = np.empty(longest, np.int64)
    for i in range(first.size - 1):
        size = 0
        for j in range(first[i], first[i + 1]):
            if data[j] <= tail:
                heap[size] = j
                size += 1
        for k in range(size // 2 - 1, -1, -1):
            sink(heap, size, k, data)
        mass = 0.0
        while size > 0:
            mass += data[heap[0]]
            if mass > tail:
                break
            keep[heap[0]] = False
            size -= 1
            heap[0] = heap[size]
            sink(heap, size, 0, data)
    return keep


@hot
def sink(heap: Any, size: int, k: int, data: Any) -> None:
    """Move the entry at k down until no child of its is less, or equal and before it."""
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and less(data, heap[child + 1], heap[child]):
            child += 1
        if not less(data, heap[child], heap[k]):
            break
        heap[k], heap[child] = heap[child], heap[k]
        k = child


@hot
def less(data: Any, i: int, j: int) -> bool:
    """Whether the number at i comes before that at j in rising order."""
    return data[i] < data[j] or (data[i] == data[j] and i < j)


# --


Ints = NDArray[np.int64]
FEW = 8  # held-out pairs whose predictions are alike, below which they have no doubt of their own
LEAST_GAIN = 3.0  # nats over knowing nothing, below which nothing is said
TAIL = 1e-3  # limit: mass of a predicted row that is cut off, its least successors
LARGE, LARGE_TAIL = 1 << 20, 5e-3  # limit: the same from so many numbers of a full table on


class Inferred(NamedTuple):
    """The winner, and what held-out pairs say of it."""

    name: str
    rows: sparse.csr_array  # [S*A, S] its prediction for every pair
    worth: Worth
    behind: Floats  # [S, A] visits that its prediction rests on; inf: no limit is known
    n0: Floats  # [S, A] visits that it is worth where it holds
    doubt: Floats  # [S, A] chance that it does not
    split: CrossValidation
    said: Answers  # what it said of each held-out pair
    candidate: Candidate | None  # None: a model learned elsewhere, as a whole or in part


@dataclass(frozen=True)
class Analogy(Inference):
    """The candidate that predicts held-out pairs best, worth as many visits as it deserves."""

    folds: Annotated[int, Within(2), "parts in which pairs are held out"] = FOLDS
    ridge: Annotated[float, Within(1e-3), "visits that shrinkage is worth before data say more"] = (
        2.0
    )
    most: Annotated[float, Within(0.25), "the most visits that a prediction is worth"] = 200.0
    candidates: Annotated[str, OneOf(*FAMILIES), "who may predict"] = "all"

    retry: ClassVar[float] = 1.5
    reuses: ClassVar[bool] = True
    by_triple: ClassVar[bool] = True
    doubted: ClassVar[bool] = True

    @one_thread()
    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """Choose a candidate on held-out pairs and weigh it; see `Inference`."""
        split = self.split(counts, frame, rng)
        found = None if split is None else self.choose(split, frame)
        return no_prior(*counts.n.shape) if found is None else self._prior(found, frame)

    @one_thread()
    def posterior(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Posterior:
        """See `Inference`."""
        split = self.split(counts, frame, rng)
        found = None if split is None else self.choose(split, frame)
        if split is None or found is None:
            return Posterior(no_prior(*counts.n.shape))
        fitted = None if found.candidate is None else split.fitted(found.candidate)
        paid = split.data.paid is not None and not frame.rewards_known
        other = RidgeRewards(triples_of(split.data)) if paid else None
        return Posterior(self._prior(found, frame), fitted, other)

    def _prior(self, found: Inferred, frame: Frame) -> Prior:
        """What was found, with what is predicted of rewards."""
        split, rewards = found.split, {}
        if not frame.rewards_known:
            shifts = () if found.candidate is None else split.fitted(found.candidate).shifts
            rewards = infer_rewards(split.data, found.rows, shifts)
        leak = np.full(found.n0.shape, found.worth.leak)
        more = {"doubt": found.doubt, "leak": leak, "behind": found.behind, **rewards}
        prior = prior_of(found.rows, found.n0, **more)
        return with_judges(prior, split.pairs[split.judges], cut(found.said.rows, TAIL))

    @one_thread()
    def infer(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Inferred | None:
        """What is said of transitions, with its reasons; None if nothing can be said."""
        split = self.split(counts, frame, rng)
        return None if split is None else self.choose(split, frame)

    def split(
        self, counts: Counts, frame: Frame, rng: np.random.Generator
    ) -> CrossValidation | None:
        """The counts in folds; None if there are too few pairs."""
        playable = frame.available & ~frame.terminal[:, None]
        n = np.where(playable, counts.n, 0).astype(np.float64)
        if np.count_nonzero(n) < 2 * self.folds:
            return None
        N = transitions(counts)
        if not sparse.issparse(N):
            N = sparse.csr_array(nonzeros(N, n), shape=(n.size, len(n)))
        paid = rewards_by_triple(counts, N.indices, N.indptr)
        return CrossValidation(Data(N, n, playable, self.ridge, frame, *paid), self.folds, rng)

    def choose(
        self, split: CrossValidation, frame: Frame, known: list[Candidate] | None = None
    ) -> Inferred | None:
        """The candidate (of `known`) under which held-out pairs are most likely."""
        data = split.data
        known = suited(data, self.candidates) if known is None else known
        by_name = {str(each): each for each in known}
        found: Inferred | None = None
        for name, said in split.race(known).items():
            found = self._better(found, split, name, said, by_name[name])
        for k, model in enumerate(frame.models):
            if same_variables(model, frame):
                other: Any = RulesOf(model, k)
                found = self._better(found, split, str(other), split.one_out(other), other)
        for model in frame.models:
            if found is not None and (model.S, model.A) == (data.S, data.A):
                own, rows = found, self._rows(found, data)
                for name, said, all_rows, cost in offers(model, split, own.said, rows):
                    found = self._better(found, split, name, said, None, all_rows, cost)
        if found is None or found.worth.gain < LEAST_GAIN:
            return None
        if found.candidate is not None:
            tail = TAIL if data.n.size * data.S < LARGE else LARGE_TAIL
            rows, pairs = cut(self._rows(found, data), tail), np.arange(data.n.size)
            behind = split.fitted(found.candidate).visits_behind(pairs).reshape(data.n.shape)
            found = found._replace(rows=rows, behind=behind)
        said = (np.diff(found.rows.indptr) > 0).reshape(found.n0.shape)
        said &= (found.n0 > 0) & (found.behind > 0)
        n0, behind = np.where(said, (found.n0, found.behind), 1.0)
        return found._replace(n0=np.where(said, 1.0 / (1.0 / n0 + 1.0 / behind), 0.0))

    def _rows(self, found: Inferred, data: Data) -> sparse.csr_array:
        """What the winner says of every playable pair, given all data."""
        if found.candidate is None:
            return found.rows
        pairs = np.flatnonzero(data.available.ravel())
        rows = found.split.fitted(found.candidate).rows(pairs)
        sizes = np.zeros(data.S * data.A, np.int64)
        sizes[pairs] = np.diff(rows.indptr)
        return sparse.csr_array(
            (rows.data, rows.indices, np.append(0, np.cumsum(sizes))), shape=(sizes.size, data.S)
        )

    def _strata(
        self, split: CrossValidation, said: Answers, candidate: Candidate | None
    ) -> tuple[Ints, Ints, int]:
        """Groups of pairs [S, A] and of held-out ones [K] whose predictions are alike; how many."""
        data = split.data
        if candidate is None or not candidate.leaves_one_out:
            around = evidence_around(data.n)
            return strata_of(around, around.ravel()[split.pairs])
        level = split.fitted(candidate).levels(np.arange(data.S * data.A))
        action = np.tile(np.arange(data.A), data.S)
        of_all = np.zeros(data.S * data.A, np.int64)  # kinds with few judges are one group
        for kind, least in ((level, FEW), (level * data.A + action, LEAST)):
            of = np.unique(kind, return_inverse=True)[1].ravel()
            many = np.bincount(of[split.pairs], minlength=of.max() + 1) >= least
            of_all = np.where(many[of], of_all.max() + np.cumsum(many)[of], of_all)
        return of_all.reshape(data.n.shape), of_all[split.pairs], int(of_all.max()) + 1

    def gain(self, split: CrossValidation, name: str, said: Answers, candidate: Candidate) -> float:
        """By how many nats likelier held-out pairs are under a candidate than under nothing."""
        return self._better(None, split, name, said, candidate).worth.gain

    def _better(
        self,
        found: Inferred | None,
        split: CrossValidation,
        name: str,
        said: Answers,
        candidate: Candidate | None,
        rows: Any = None,
        margin: float = 0.0,
    ) -> Inferred:
        """The likelier of two: the winner so far, or this candidate, if by more than a margin."""
        data = split.data
        of_all, of_held, strata = self._strata(split, said, candidate)
        worth = worth_of(split.held(said), data.S, of_held, strata, self.most)
        if found is not None and worth.gain <= found.worth.gain + margin:
            return found
        n0 = np.where(data.available, worth.n0[of_all], 0.0)
        doubt = worth.doubt[of_all]
        if candidate is not None and candidate.leaves_one_out:
            doubt = np.maximum(doubt, hardly_tried(split))
        doubt = np.where(data.available, doubt, 0.0)
        behind = np.full(data.n.shape, np.inf)
        return Inferred(name, rows, worth, behind, n0, doubt, split, said, candidate)


def hardly_tried(split: CrossValidation) -> Floats:
    """The least doubt [A] about pairs of an action by how many it was met in, k: 1/2 / (k + 1)^2.

    What others do says little of an action that was tried a few times, perhaps where it matters
    not: that a reboot helps does not show while all machines run. Amounts are spared: what five
    pieces do, four and six tell.
    """
    data = split.data
    made_of = data.facts.action_variables
    if made_of is not None and any(made_of.ordinal):
        return np.zeros(data.A)
    return np.asarray(0.5 / (np.bincount(split.pairs % data.A, minlength=data.A) + 1.0) ** 2)


def evidence_around(n: Floats) -> Floats:
    """Visits behind a prediction of each pair [S, A]: of its state and of its action, elsewhere."""
    return np.minimum(n.sum(axis=1, keepdims=True) - n, n.sum(axis=0) - n)


__all__ = ["FAMILIES", "MODEL", "Analogy", "Inferred"]
