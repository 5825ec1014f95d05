"""Low rank: dynamic matrices that share factors of the states, or of the actions.

From the residual counts Y = N - n mu, where mu is the pooled marginal, so that what data do not
support shrinks towards the marginal; how much, the data say, too. Every visit is used by its
weight, and the result is projected on the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gim._base.params import OneOf, Within
from gim.analogy.candidates.base import Candidate, Fitted, Rows
from gim.analogy.candidates.data import Data
from gim.analogy.candidates.lowrank import low_rank

RANKS = (2, 4, 8)


@dataclass(frozen=True)
class Factors(Candidate):
    """All dynamic matrices share factors of states (mode "state") or of actions."""

    mode: Annotated[str, OneOf("state", "action"), "whose factors are shared"] = "state"
    rank: Annotated[int, Within(1), "how many factors"] = 2

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """A rank above half of what there is imposes nothing."""
        sizes = {"state": data.S, "action": data.A} if data.small else {}
        return [cls(mode, r) for mode, size in sizes.items() for r in RANKS if 2 * r <= size]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        residuals, scale = data.everywhere(self.mode)
        w = low_rank(residuals, data.start(self.mode, self.rank), data.ridge) * scale
        w = w if self.mode == "state" else w.transpose(1, 0, 2)
        flat = np.ascontiguousarray(w).reshape(data.S * data.A, -1)
        return Rows(data, lambda pairs: data.mu + flat[pairs])
