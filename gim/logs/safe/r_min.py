"""R-MIN: R-MAX turned round (Brafman and Tennenholtz 2002); what is little known is worth least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim.logs.safe.base import Case, Floats, Safe


@dataclass(frozen=True)
class RMin(Safe):
    """A pair with fewer than n visits pays the least reward at this and every later step.

    Where that leaves all actions alike, the baseline's favourite is played, as always.
    """

    n: Annotated[float, Within(0), "visits from which a pair counts as known"] = 5.0

    def backup(self, case: Case, made: Any, v: Floats, h: int) -> Floats:
        """The Bellman backup of known pairs."""
        q = case.r + case.gamma * case.expected(v)
        return np.where(case.n >= self.n, q, case.steps(h) * case.rewards[0])
