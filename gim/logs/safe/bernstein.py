"""Lower confidence bounds by the variance of what comes next, for pairs that were met at all.

After VI-LCB with Bernstein's inequality (Li et al. 2024), which lowers a value by a multiple of

    sqrt(Var(r + gamma V') / n),

the standard error of its estimate, and by a term in 1/n where n is small; in place of that term,
pairs with few visits are worth least, as in R-MIN. Unlike penalties by the range of rewards
(RaMDP, VI-LCB) this asks no more care of a pair than the noise there calls for.

With xi <= 1 and rows of counts alone no value falls where those ahead rise: a next state seen once
in n visits lies at most sqrt(n - 1) standard deviations above the mean. So sweeps converge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim.logs.safe.base import Case, Floats, Safe


@dataclass(frozen=True)
class Bernstein(Safe):
    """The best of Q less xi standard errors; a pair with fewer than n visits is worth least."""

    xi: Annotated[float, Within(0), "standard errors that a value is lowered by"] = 0.7
    n: Annotated[float, Within(0), "visits from which a pair counts as known"] = 4.0

    def backup(self, case: Case, made: Any, v: Floats, h: int) -> Floats:
        """The Bellman backup less the penalty, at least the least that is possible."""
        ahead = case.expected(v)
        variance = np.maximum(case.expected(v**2) - ahead**2, 0.0)
        error = np.sqrt((case.gamma**2 * variance + case.spread) / np.maximum(case.n, 1e-12))
        least = case.steps(h) * case.rewards[0]
        q = case.r + case.gamma * ahead - self.xi * error
        floor = min(least, 0.0) if case.terminal.any() else least
        return np.where(case.n >= self.n, np.maximum(q, floor), floor)
