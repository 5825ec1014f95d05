"""Transfer: the rules of another world, whatever its size, as a candidate here.

North moves one row up in a hall of 8 x 8 as in one of 16 x 16. A model of a world with the same
variables and as many actions brings its counts along, wherever they mean the same here
(`gim.analogy.structure.relocation`), and the structure that is found in both together predicts
the pairs of this world. It is judged like any candidate before it is trusted.
"""

from __future__ import annotations

import numpy as np

from gim.analogy.candidates.base import Fitted
from gim.analogy.candidates.data import Data
from gim.analogy.candidates.structured import Explained, triples_of
from gim.analogy.structure import Triples, relocated
from gim.analogy.structure.blocks import by_variables
from gim.model.learned import LearnedModel


class RulesOf:
    """What a model of another world says of this one."""

    leaves_one_out = True

    def __init__(self, model: LearnedModel, number: int) -> None:
        self.model, self.number = model, number

    def __str__(self) -> str:
        return f"rules of model {self.number}"

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        return Explained(by_variables(relocated(counted(self.model), triples_of(data))))


def counted(model: LearnedModel) -> Triples:
    """The visits behind a model, spread as it says."""
    rows = model.rows()
    pair = np.repeat(np.arange(model.S * model.A), np.diff(rows.indptr))
    variables, actions = model.variables, model.action_variables
    return Triples(
        rows.indptr,
        rows.indices,
        rows.data * model.visits.ravel()[pair],
        model.available,
        None if variables is None else variables.codes,
        None if variables is None else np.array(variables.ordinal),
        None if actions is None else actions.codes,
        None if actions is None else np.array(actions.ordinal),
    )
