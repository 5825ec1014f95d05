"""Variables: what states are made of, and how actions change it (`gim.inference.structure`).

North moves one row up wherever one is; ordering 5 at a stock of 10 is like ordering 6 at 9. Where
nothing is said of what states are made of, their numbers are tried as coordinates: the number
itself, and (s // width, s % width) for the width that explains most of the moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.inference.candidates.base import Candidate, Fitted
from gim.inference.candidates.data import Data
from gim.inference.structure import Triples, fitted
from gim.params import Within

Ints = NDArray[np.int64]


class Explained(Fitted):
    """A product of blocks of variables, fitted."""

    def __init__(self, triples: Triples) -> None:
        self.triples, self.product = triples, fitted(triples)
        self.shifts = tuple(shift for form in self.product.form for shift in form.move.shifts)

    def rows(self, pairs: Ints) -> sparse.csr_array:
        """See `Fitted`."""
        return self._sorted(self.product.rows(pairs))

    def apart(self, pairs: Ints) -> sparse.csr_array:
        """See `Fitted`."""
        return self._sorted(self.product.rows(pairs, apart=True))

    def levels(self, pairs: Ints) -> Ints:
        """How far each prediction had to back off."""
        return self.product.levels(pairs, apart=True)

    def _sorted(self, rows: Any) -> sparse.csr_array:
        rows = sparse.csr_array(rows)
        rows.sort_indices()
        return rows


@dataclass(frozen=True)
class Structured(Candidate, name="variables"):
    """Changes of variables, in contexts that back off."""

    width: Annotated[int, Within(0), "of a grid of the states' numbers; 0: the variables given"] = 0

    leaves_one_out: ClassVar[bool] = True

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """The variables given, or two ways to read the numbers of the states."""
        if data.S < 4 or data.facts is None:
            return []
        if data.facts.variables is not None:
            return [cls()]
        return [cls(width) for width in sorted({1, widest_explained(data)})]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        return Explained(triples_of(data, self.width))


def triples_of(data: Data, width: int = 0) -> Triples:
    """The counts with what their states and actions are made of."""
    facts = data.facts
    variables = getattr(facts, "variables", None)
    if width:
        s = np.arange(data.S)
        codes = s[:, None] if width == 1 else np.column_stack([s // width, s % width])
        ordinal: Any = np.ones(codes.shape[1], bool)
    elif variables is None:
        codes, ordinal = np.arange(data.S)[:, None], np.zeros(1, bool)
    else:
        codes, ordinal = variables.codes, np.array(variables.ordinal)
    actions = getattr(facts, "action_variables", None)
    return Triples(
        data.rows.indptr,
        data.rows.indices,
        data.rows.data,
        data.available,
        codes,
        ordinal,
        None if actions is None else actions.codes,
        None if actions is None else np.array(actions.ordinal),
        data.paid,
        data.paid2,
        None if facts is None else facts.terminal,
    )


def widest_explained(data: Data) -> int:
    """The divisor of S under which moves of the same action look most alike.

    Each move is explained by the other moves of its action: the sum of the logarithms of their
    shares, one move left out.
    """
    pair = np.repeat(np.arange(data.S * data.A), np.diff(data.rows.indptr))
    s, a, t, N = pair // data.A, pair % data.A, data.rows.indices, data.rows.data
    best, found = -np.inf, 1
    for width in (m for m in range(2, data.S // 2 + 1) if data.S % m == 0):
        down, right = t // width - s // width, t % width - s % width
        key = (a * (2 * data.S + 1) + down + data.S) * (2 * data.S + 1) + right + data.S
        _, of = np.unique(key, return_inverse=True)
        alike, all_moves = np.bincount(of, N)[of], np.bincount(a, N, data.A)[a]
        score = float(N @ np.log((alike - 1.0 + 0.1) / (all_moves - 1.0 + 0.1 * data.S)))
        if score > best:
            best, found = score, width
    return found
