"""The paper's own way to learn many tasks: factors of earlier tasks complete the matrices of a new.

Dynamic matrices of related tasks have factors of states and of actions in common (the paper's
outlook): P_t = U C_t V' with U and V as in earlier tasks (`prior=`) and cores C_t of this task,
which are fitted to its own counts by least squares. Cores shrink to the mean of earlier ones, as
far as these are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.analogy.candidates.base import LIMIT, Candidate, Fitted, Floats, Ints, Rows
from gim.analogy.candidates.data import Data
from gim.model.counts import dense
from gim.model.learned import LearnedModel


def suits(model: LearnedModel, data: Data) -> bool:
    """Whether a model is of the same states and actions, and something was seen."""
    return (model.S, model.A) == (data.S, data.A) and bool(model.visits.any())


def matrices(model: LearnedModel) -> Floats:
    """Its transitions [S, A, S]; a pair of which nothing is known has the mean of the others."""
    P = np.array(dense(model.rows(), (model.S, model.A)), np.float64)
    known = model.supported & model.available
    P[~known] = P[known].mean(axis=0)
    return P


class Cores(Rows):
    """Rows by a ridge regression on features of pairs."""

    def __init__(self, data: Data, x: Floats, core: Floats, inverse: Floats) -> None:
        super().__init__(data, lambda pairs: x[pairs] @ core, "all")
        self.leverage = np.einsum("pi,ij,pj->p", x, inverse, x)

    def visits_behind(self, pairs: Ints, apart: bool = False) -> Floats:
        """As many visits of the pair itself would leave as much doubt."""
        return np.minimum(1.0 / np.maximum(self.leverage[pairs], 1.0 / LIMIT), LIMIT)


@dataclass(frozen=True)
class Carried(Candidate):
    """Factors of states and of actions of earlier tasks, with a core of this one."""

    rank: Annotated[int, Within(1), "factors of the states, and of the actions"] = 2

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """A rank above half of what there is imposes nothing."""
        fits = data.small and any(suits(model, data) for model in data.facts.models)
        return [cls(r) for r in (1, 2, 4) if fits and 2 * r <= min(data.S, data.A)]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        models = [matrices(each) for each in data.facts.models if suits(each, data)]
        if not models:
            return Rows(data, lambda pairs: np.tile(data.mu, (pairs.size, 1)), "all")
        S, A, r = data.S, data.A, min(self.rank, data.S, data.A)
        P = np.stack(models)  # [K, S, A, S]
        U = np.linalg.eigh(np.einsum("ksat,kzat->sz", P, P, optimize=True))[1][:, -r:]
        V = np.linalg.eigh(np.einsum("ksat,ksbt->ab", P, P, optimize=True))[1][:, -r:]
        x = np.einsum("sr,aq->sarq", U, V).reshape(S * A, r * r)
        cores = np.einsum("sr,aq,ksat->krqt", U, V, P, optimize=True).reshape(len(P), r * r, S)
        mean = cores.mean(axis=0)
        apart = ((cores - mean) ** 2).sum() / max(len(P) - 1, 1) if len(P) > 1 else (mean**2).sum()
        ridge = (data.mu * (1.0 - data.mu)).sum() * r * r / max(apart, 1e-12)
        n = data.n.ravel()
        inverse = np.linalg.inv((x * n[:, None]).T @ x + ridge * np.eye(r * r))
        core = inverse @ ((data.rows.T @ x).T + ridge * mean)
        return Cores(data, x, core, inverse)
