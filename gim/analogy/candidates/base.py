"""What a candidate is: from the counts of some pairs, a prediction of p(.|s,a) for any.

Which candidate predicts held-out pairs best is found out by `gim.analogy.analogy`; a candidate
need not know how good it is. To add one, write one file in this package::

    @dataclass(frozen=True)
    class Uniform(Candidate):                      # registered as `uniform`
        def fit(self, data):
            return Rows(data, lambda pairs: np.full((pairs.size, data.S), 1 / data.S))

A held-out pair leaves no trace: it has n = 0 and an empty row in the data. One in a package of your
own is found as well (docs/extending.md); `gim.testing.check_candidate` checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.registry import Registered, Registry
from gim.analogy.candidates.data import Data
from gim.analogy.structure.rule import Rule, RuleNames
from gim.analogy.structure.triples import MOST
from gim.model.projection import project_simplex

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

candidates = Registry("candidate", "gim.analogy.candidates")

# Families, each within the next: what `gim.Analogy(candidates=...)` lets in.
LIMIT, LEAST = 1e9, 1e-12  # visits that are as good as no limit; in place of no visit at all
FAMILIES = ("marginal", "means", "all")


class Fitted:
    """A candidate that has seen its data."""

    shifts: tuple[Any, ...] = ()  # after-states of ordinal actions that were found
    ruled: ClassVar[bool] = False  # whether pairs follow rules that `drawn` draws, each for all

    def rows(self, pairs: Ints) -> sparse.csr_array:
        """Distributions of the next state of these pairs s*A + a, [pairs, S]; empty: no opinion."""
        raise TypeError(f"{type(self).__name__} must define rows(pairs)")

    def apart(self, pairs: Ints) -> sparse.csr_array | None:
        """The same, each as if its own pair had not been counted; None: only folds can tell."""
        return None

    def levels(self, pairs: Ints) -> Ints:
        """What kind of evidence each prediction rests on, as whole numbers from 0."""
        return np.zeros(pairs.size, np.int64)

    def visits_behind(self, pairs: Ints, apart: bool = False) -> Floats:
        """Visits behind each prediction, its own left out if `apart`; inf: no limit is known.

        A rule seen three times is worth three visits, however many pairs it speaks of.
        """
        return np.full(pairs.size, np.inf)

    def together(self, pairs: Ints) -> Ints:
        """Which pairs are predicted from the same visits, and so err together: a number each."""
        return pairs

    def drawn(self, pairs: Ints, rng: np.random.Generator) -> sparse.csr_array:
        """The rows as they may be, given the visits behind them: one draw for pairs that err alike.

        `rows` are the mean of these. Where pairs are predicted from the same visits, all of them
        get more, or less, of a next state.
        """
        return tilted(self.rows(pairs), self.together(pairs), self.visits_behind(pairs), rng)

    def rules(self, names: RuleNames) -> list[Rule]:
        """What was found, for people to read; asked for if the candidate `speaks`."""
        return []


def tilted(
    rows: sparse.csr_array, group: Ints, behind: Floats, rng: np.random.Generator
) -> sparse.csr_array:
    """Rows whose next states are weighted by gamma variables, the same for a group of rows.

    A single row q is then a draw from Dirichlet(B q), B the visits `behind` it.
    """
    sizes = np.diff(rows.indptr)
    of, members = np.unique(group, return_inverse=True, return_counts=True)[1:]
    of = of.ravel()
    visits = np.bincount(of, np.minimum(behind, LIMIT)) / members
    key = np.repeat(of, sizes) * rows.shape[1] + rows.indices
    keys, place = np.unique(key, return_inverse=True)
    shared = np.bincount(place.ravel(), rows.data, keys.size) / members[keys // rows.shape[1]]
    alpha = np.maximum(shared * visits[keys // rows.shape[1]], LEAST)
    weight = rng.standard_gamma(alpha) / alpha
    data = rows.data * weight[place.ravel()]
    row = np.repeat(np.arange(sizes.size), sizes)
    total = np.bincount(row, data, sizes.size)[row]
    data = np.where(total > 0, data / np.where(total > 0, total, 1.0), rows.data)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


class Rows(Fitted):
    """A fitted candidate that predicts by a function of the pairs, in rising order.

    Args:
        data: what it was fitted to.
        predict: the function.
        alike: what pairs share that are predicted from the same visits: "action", "state" or "all".
    """

    def __init__(
        self, data: Data, predict: Callable[[Ints], Floats], alike: str = "action"
    ) -> None:
        self.data, self.predict, self.alike = data, predict, alike

    def rows(self, pairs: Ints) -> sparse.csr_array:
        """Predicted rows, projected on the simplex."""
        return sparse.csr_array(project_simplex(np.ascontiguousarray(self.predict(pairs))))

    def visits_behind(self, pairs: Ints, apart: bool = False) -> Floats:
        """Visits of the pairs that share what predicts it, and one for what that begins with.

        A pair counts for MOST visits in the end.
        """
        counted = self.data.n / (1.0 + self.data.n / MOST)
        if self.alike == "all":
            return np.full(pairs.size, 1.0 + counted.sum())
        axis = 1 if self.alike == "state" else 0
        return np.asarray(1.0 + counted.sum(axis=axis)[self.together(pairs)], np.float64)

    def together(self, pairs: Ints) -> Ints:
        """See `Fitted`: pairs that share a state, or an action, or all of them."""
        if self.alike == "all":
            return np.zeros(pairs.size, np.int64)
        return pairs // self.data.A if self.alike == "state" else pairs % self.data.A


@dataclass(frozen=True)
class Candidate(Registered, registry=candidates):
    """Base of all candidates: the fields are the parameters, `fit` takes the data."""

    family: ClassVar[str] = "all"
    leaves_one_out: ClassVar[bool] = False  # whether what it fits has `apart`
    speaks: ClassVar[bool] = False  # whether what it fits has `rules`: see `gim.Run.analogies`

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """Those of its kind that can say something of such data, the simplest first."""
        return [cls()]

    def fit(self, data: Data) -> Fitted:
        """Learn from the counts of some pairs."""
        raise TypeError(f"{type(self).__name__} must define fit(data)")


def suited(data: Data, family: str = "all") -> list[Candidate]:
    """All candidates of a family that can say something of such data."""
    allowed = FAMILIES[: FAMILIES.index(family) + 1]
    kinds: list[Any] = [candidates[name] for name in candidates.names()]
    return [each for kind in kinds for each in kind.suited(data) if each.family in allowed]
