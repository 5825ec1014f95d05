"""VI-LCB: value iteration with lower confidence bounds (Rashidinejad et al. 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.logs.safe.base import Case, Floats, Safe


@dataclass(frozen=True)
class VILCB(Safe):
    """Each value is lowered by scale V_max sqrt(ln(2 S A / delta) / 2n), V_max being its range."""

    delta: Annotated[float, Within(1e-12, 1), "probability that a bound may fail"] = 0.1
    scale: Annotated[float, Within(0), "of the penalty; 1 is Hoeffding's bound"] = 0.1

    def start(self, case: Case) -> Floats:
        """The penalty [S, A] for a range of values of 1."""
        L = math.log(2 * case.n.size / self.delta)
        return self.scale * np.sqrt(L / (2 * np.maximum(case.n, 1e-12)))

    def backup(self, case: Case, made: Floats, v: Floats, h: int) -> Floats:
        """The Bellman backup less the penalty, at least the least that is possible."""
        low, high = (case.steps(h) * r for r in case.rewards)
        floor = min(low, 0.0) if case.terminal.any() else low
        q = case.r + case.gamma * case.expected(v) - made * (high - low)
        return np.maximum(q, floor)
