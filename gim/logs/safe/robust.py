"""Robust value iteration over intervals of probabilities (Givan, Leach and Dean 2000).

Every p(s'|s,a) lies within an interval around its estimate (Hoeffding's, for all triples at once);
nature picks the worst distribution within them, and the policy is the best against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim.logs.safe.base import Case, Floats, Safe


@dataclass(frozen=True)
class Robust(Safe):
    """The best policy against the worst world within the intervals."""

    delta: Annotated[float, Within(1e-12, 1), "probability that an interval may fail"] = 0.1
    scale: Annotated[float, Within(0), "of the intervals; 1 is Hoeffding's bound"] = 0.1

    def start(self, case: Case) -> tuple[Floats, Floats]:
        """The least p(s'|s,a), and by how much it may be larger, [S, A, S] each."""
        P = case.dense()
        L = math.log(2 * P.size / self.delta)
        width = self.scale * np.sqrt(L / (2 * np.maximum(case.n, 1e-12)))[:, :, None]
        low = np.maximum(P - width, 0.0)
        return low, np.minimum(P + width, 1.0) - low

    def backup(self, case: Case, made: Any, v: Floats, h: int) -> Floats:
        """The worst expectation: what is free goes to the worst states first."""
        low, room = made
        order = np.argsort(v, kind="stable")
        low, room, v = low[:, :, order], room[:, :, order], v[order]
        before = np.cumsum(room, axis=2) - room
        free = 1.0 - low.sum(axis=2, keepdims=True)
        p = low + np.clip(free - before, 0.0, room)
        return case.r + case.gamma * (p @ v)
