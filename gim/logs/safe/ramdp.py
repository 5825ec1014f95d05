"""RaMDP: rewards adjusted by what is not known (Petrik, Ghavamzadeh and Chow 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim.logs.safe.base import Case, Floats, Safe


@dataclass(frozen=True)
class RaMDP(Safe):
    """Plan with r(s,a) - kappa (r_max - r_min) / sqrt(n(s,a))."""

    kappa: Annotated[float, Within(0), "of the penalty, in widths of the rewards"] = 0.5

    def start(self, case: Case) -> Floats:
        """The adjusted rewards, [S, A]."""
        width = case.rewards[1] - case.rewards[0]
        return case.r - self.kappa * width / np.sqrt(np.maximum(case.n, 1e-12))

    def backup(self, case: Case, made: Any, v: Floats, h: int) -> Floats:
        """The Bellman backup of the adjusted rewards."""
        return made + case.gamma * case.expected(v)
