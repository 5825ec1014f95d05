"""Inference by the family that a world belongs to: what is predicted of every pair of one unit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from gim.analogy.base import Floats, Frame, Inference, Posterior, Prior, no_prior, prior_of
from gim.analogy.candidates import Fitted
from gim.belief.family.family import Family, Found
from gim.belief.family.units import Ints, Rows, rows_of
from gim.model.counts import Counts, nonzeros, rewards_by_triple, transitions

AGAIN = 1.25  # limit: visits over those at the last look at whether a unit belongs
MOST = 200.0  # visits that a prediction is worth at the most
TAIL = 1e-4  # limit: chance of a next state that is kept


@dataclass
class Left:
    """Whether a unit was found not to belong, and what is inferred of it then."""

    left: bool = False
    visits: int = 0  # when it was last asked
    due: float = 0.0  # visits at which to look again
    prior: Prior | None = None


@dataclass(frozen=True)
class ByFamily(Inference, name="by_family"):
    """What a unit's rows say of it, given a family of others like it (`gim.Family`).

    A unit that does not belong is left to `otherwise`, the inference that there would be without.
    """

    # no parameters: a family cannot be written in a spec string
    family: Any = field(default=None, init=False, repr=False, compare=False)
    otherwise: Any = field(default=None, init=False, repr=False, compare=False)
    rows: Any = field(default=None, init=False, repr=False, compare=False)
    kept: Left = field(default_factory=Left, init=False, repr=False, compare=False)

    by_triple: ClassVar[bool] = True
    reuses: ClassVar[bool] = True
    elsewhere: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ()

    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """Predict every pair by the family and by what was met here."""
        if self.family is None:
            return no_prior(*counts.n.shape)
        visits, kept, rows = int(counts.n.sum()), self.kept, self._rows(counts)
        if visits < kept.visits:  # a part of the data, or other data
            kept = Left()
        kept.visits = visits
        if not kept.left:
            found = self.family.of(rows)
            if visits < kept.due:
                return prior_of_found(self.family, found, frame.available)
            kept.due = AGAIN * visits
            kept.left = self.family.left_by(rows, found.evidence)
            if not kept.left:
                return prior_of_found(self.family, found, frame.available)
            kept.due = 0.0
        if visits >= kept.due or kept.prior is None:
            kept.due = AGAIN * visits
            none = no_prior(*counts.n.shape)
            kept.prior = none if self.otherwise is None else self.otherwise(counts, frame, rng)
        return kept.prior

    def posterior(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Posterior:
        """The same, drawn with what resampling its units says of the family.

        What all units have shown is what cannot be excluded of one.
        """
        prior = self(counts, frame, rng)
        if self.family is None or self.kept.left:
            alone = None if self.family is None else self.otherwise
            return Posterior(prior) if alone is None else alone.posterior(counts, frame, rng)
        all_of_it = self.family.rows
        S, A = counts.n.shape
        shown = sparse.coo_array((all_of_it.n, (all_of_it.pair, all_of_it.next)), (S * A, S))
        unit = OfUnit(self.family, self._rows(counts))
        return Posterior(prior, unit, None, sparse.csr_array(shown))

    def _rows(self, counts: Counts) -> Rows:
        whole = self.rows is not None and int(counts.n.sum()) == int(self.rows.n.sum())
        return self.rows if whole else rows_of_counted(counts)


class OfUnit(Fitted):
    """What a family says of a unit, to be drawn."""

    ruled = True

    def __init__(self, family: Family, rows: Rows) -> None:
        self.family, self.unit = family, rows

    def rows(self, pairs: Ints) -> sparse.csr_array:
        """What is believed."""
        return sparse.csr_array(self.family.of(self.unit).p[pairs])

    def drawn(self, pairs: Ints, rng: np.random.Generator) -> sparse.csr_array:
        """By one of the families that its units may be of, and one draw of the unit in it."""
        return sparse.csr_array(self.family.of(self.unit, int(rng.integers(1 << 31))).p[pairs])


def by_family(
    family: Family | None, otherwise: Inference | None = None, rows: Rows | None = None
) -> ByFamily:
    """Inference by a family.

    Args:
        family: None infers nothing.
        otherwise: what is inferred for a unit that does not belong.
        rows: those of the unit, where they are at hand: what single rows paid says more than means.
    """
    made = ByFamily()
    for name, value in (("family", family), ("otherwise", otherwise), ("rows", rows)):
        object.__setattr__(made, name, value)
    return made


def rows_of_counted(counts: Counts) -> Rows:
    """Rows of one unit from counts of its pairs; rewards are means of triples, or of pairs."""
    S, A = counts.n.shape
    N = transitions(counts)
    if sparse.issparse(N):
        n, next, first = N.data, N.indices, N.indptr
    else:
        n, next, first = nonzeros(np.ascontiguousarray(N), counts.n.astype(np.float64))
    pair = np.repeat(np.arange(S * A), np.diff(first))
    sums = rewards_by_triple(counts, next, np.asarray(first, np.int64))[0]
    mean = counts.R.ravel()[pair] / np.maximum(counts.n.ravel()[pair], 1)
    mean = mean if sums is None else sums / np.maximum(n, 1e-300)
    keep = n > 0
    pair, next, n, mean = pair[keep], np.asarray(next)[keep], n[keep], mean[keep]
    return rows_of(np.zeros(len(pair)), pair // A, pair % A, mean, next, A, n)


def prior_of_found(family: Family, found: Found, available: Any) -> Prior:
    """What is believed of a unit, as a prediction for every pair."""
    S, A = family.space.S, family.space.A
    kept = np.where(found.p >= TAIL, found.p, 0.0)
    total = kept.sum(axis=1)
    says = (total > 0) & np.asarray(available, bool).ravel()
    rows = sparse.csr_array(kept / np.where(total > 0, total, 1.0)[:, None])
    n0 = np.where(says, MOST * found.behind / (MOST + found.behind), 0.0).reshape(S, A)
    pair = np.repeat(np.arange(S * A), np.diff(rows.indptr))
    r_next = found.r[pair, rows.indices]
    r = np.asarray(np.bincount(pair, rows.data * r_next, S * A), np.float64)
    spread = max((family.paid.range[1] - family.paid.range[0]) / 4.0, 1e-9)
    doubt = (found.doubt / (found.doubt + spread**2)).reshape(S, A)
    eps: Floats = np.full((S, A), family.kinds.eps)
    # where a triple pays one thing or another, one row of it is not what it pays
    by_next = {} if family.rule.fails else {"r_next": r_next}
    return prior_of(
        rows,
        n0,
        doubt=eps,
        behind=found.behind.reshape(S, A),
        leak=eps,
        **by_next,
        r=r.reshape(S, A),
        r_n0=n0.copy(),
        r_doubt=doubt,
        r_noise=np.full((S, A), family.paid.noise),
    )
