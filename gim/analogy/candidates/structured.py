"""Variables: what states are made of, and how actions change it (`gim.analogy.structure`).

North moves one row up wherever one is; ordering 5 at a stock of 10 is like ordering 6 at 9. Where
nothing is said of what states are made of, their numbers are tried as coordinates. Types of states
are learned from what their actions do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.candidates.base import Candidate, Fitted
from gim.analogy.candidates.data import Data
from gim.analogy.structure import Rule, RuleNames, Triples, rules
from gim.analogy.structure.blocks import by_numbers, by_variables
from gim.analogy.structure.product import SUPPORTS, Product
from gim.analogy.structure.state_types import by_types

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Explained(Fitted):
    """A structure, fitted."""

    ruled = True

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        if not structure.read:  # else they speak of variables that only it knows
            shifts = (shift for block in structure.blocks for shift in block.form.move.shifts)
            self.shifts = tuple(each for each in shifts if not isinstance(each[1], tuple))

    def rows(self, pairs: Ints) -> sparse.csr_array:
        """See `Fitted`."""
        return _ordered(self.structure.rows(pairs))

    def apart(self, pairs: Ints) -> sparse.csr_array:
        """See `Fitted`."""
        return _ordered(self.structure.rows(pairs, apart=True))

    def levels(self, pairs: Ints) -> Ints:
        """How far each prediction had to back off, and how few pairs are behind it."""
        level = np.asarray(self.structure.levels(pairs, apart=True), np.int64)
        if not isinstance(self.structure, Product):
            return level
        return SUPPORTS * level + SUPPORTS - 1 - self.structure.support(pairs, apart=True)

    def visits_behind(self, pairs: Ints, apart: bool = False) -> Floats:
        """See `Fitted`."""
        return np.asarray(self.structure.visits_behind(pairs, apart), np.float64)

    def drawn(self, pairs: Ints, rng: np.random.Generator) -> sparse.csr_array:
        """See `Fitted`: the chances of each context are drawn, for all pairs in it."""
        return _ordered(self.structure.drawn(rng).rows(pairs))

    def rules(self, names: RuleNames) -> list[Rule]:
        """See `Fitted`."""
        return rules(self.structure, names)


class Structured:
    """What the candidates that see structure share; `of` finds it in the counts."""

    leaves_one_out: ClassVar[bool] = True
    speaks: ClassVar[bool] = True
    of: ClassVar[Any]

    @classmethod
    def suited(cls, data: Data) -> list[Any]:
        """Anywhere."""
        return [cls()]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        return Explained(type(self).of(triples_of(data)))


@dataclass(frozen=True)
class Variables(Structured, Candidate):
    """Blocks of variables, each with its own outcomes, contexts and after-states."""

    of = staticmethod(by_variables)

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """Where it is known what states are made of."""
        return [] if data.facts.variables is None else super().suited(data)


@dataclass(frozen=True)
class Numbers(Structured, Candidate):
    """The numbers of the states, read as coordinates."""

    of = staticmethod(by_numbers)

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """Where nothing is known of what states are made of."""
        return super().suited(data) if data.facts.variables is None else []


@dataclass(frozen=True)
class Types(Structured, Candidate):
    """Types of states, learned from what their actions do.

    A pair has its say in the type of its state, so only folds can tell how well it is predicted.
    """

    leaves_one_out: ClassVar[bool] = False
    of = staticmethod(by_types)


def triples_of(data: Data) -> Triples:
    """The counts with what their states and actions are made of."""
    facts = data.facts
    variables, actions = facts.variables, facts.action_variables
    return Triples(
        data.rows.indptr,
        data.rows.indices,
        data.rows.data,
        data.available,
        None if variables is None else variables.codes,
        None if variables is None else np.array(variables.ordinal),
        None if actions is None else actions.codes,
        None if actions is None else np.array(actions.ordinal),
        data.paid,
        data.paid2,
        facts.terminal,
        facts.pays,
    )


def _ordered(rows: Any) -> sparse.csr_array:
    rows = sparse.csr_array(rows)
    rows.sort_indices()
    return rows
