"""SPIBB: improve only where the log knows enough (Laroche, Trichelair, Tachet des Combes 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.logs.safe.base import Bools, Case, Floats, Safe


@dataclass(frozen=True)
class SPIBB(Safe):
    """Pairs with fewer than n visits keep the baseline's probability; the rest goes to the best."""

    n: Annotated[float, Within(0), "visits from which a pair may differ from the baseline"] = 10.0

    def start(self, case: Case) -> Bools:
        """The bootstrapped pairs [S, A], which are left to the baseline."""
        return (case.n < self.n) | ~case.playable

    def backup(self, case: Case, made: Bools, v: Floats, h: int) -> Floats:
        """The Bellman backup."""
        return case.r + case.gamma * case.expected(v)

    def choose(self, case: Case, made: Bools, q: Floats) -> Floats:
        """The baseline where it must be, and all that is left on the best of the others."""
        pi = np.where(made, case.baseline, 0.0)
        free, S = ~made.all(axis=1), np.arange(len(q))
        best = np.where(made, -np.inf, q).argmax(axis=1)
        pi[S[free], best[free]] += 1.0 - pi.sum(axis=1)[free]
        return pi


@dataclass(frozen=True)
class LowerSPIBB(SPIBB):
    """Pairs with fewer than n visits have at most the baseline's probability (Pi_<=b-SPIBB)."""

    def choose(self, case: Case, made: Bools, q: Floats) -> Floats:
        """From the best action down, each as much as it may have, until all is given away."""
        most = np.where(made, case.baseline, 1.0)
        order = np.argsort(-q, axis=1, kind="stable")
        given = np.take_along_axis(most, order, axis=1)
        before = np.cumsum(given, axis=1) - given
        given = np.clip(1.0 - before, 0.0, given)
        pi = np.empty_like(given)
        np.put_along_axis(pi, order, given, axis=1)
        return pi / pi.sum(axis=1, keepdims=True)  # for rounding
