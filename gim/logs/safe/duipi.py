"""DUIPI: uncertainty propagated along with values (Schneegass, Udluft and Martinetz 2008; 2011).

With p a posterior mean under a Dirichlet prior and V the values of the next step,

    Q = r + gamma p.V,
    var Q = gamma^2 p^2.var V + (r + gamma V)^2 . var p + var r,

both backed up side by side, with the covariances left out. The policy takes the best Q - xi sd(Q).
Discounted, it moves a t-th of the way to that in sweep t, as the paper has it: else it may swing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim.logs.safe.base import Case, Floats, Safe, sweeps, under


@dataclass(frozen=True)
class DUIPI(Safe):
    """The best of Q - xi sd(Q)."""

    xi: Annotated[float, Within(0), "standard deviations that a value is lowered by"] = 0.5
    alpha: Annotated[float, Within(1e-9), "Dirichlet prior of each successor"] = 0.1

    def start(self, case: Case) -> tuple[Floats, Floats, Floats]:
        """The posterior mean and variance of p, [S, A, S], and the variance of r, [S, A]."""
        total = (case.n + self.alpha * len(case.r))[:, :, None]
        p = (case.dense() * case.n[:, :, None] + self.alpha) / total
        p[case.terminal] = np.eye(len(case.r))[case.terminal][:, None, :]
        width = case.rewards[1] - case.rewards[0]
        of_r = (case.spread + width**2 * self.alpha) / (case.n + self.alpha)
        return p, p * (1 - p) / (total + 1), of_r

    def both(self, case: Case, made: Any, v: Floats, var: Floats) -> tuple[Floats, Floats]:
        """Q and its variance, [S, A] each."""
        p, of_p, of_r = made
        gamma = case.gamma
        ahead = case.r[:, :, None] + gamma * v
        return case.r + gamma * (p @ v), gamma**2 * (p**2 @ var) + (of_p * ahead**2).sum(2) + of_r

    def __call__(self, case: Case) -> NDArray[Any]:
        """See `Safe`; the policy is random if discounted."""
        made, S = self.start(case), len(case.r)
        v, var = np.zeros(S), np.zeros(S)
        endless = case.horizon is None
        pi: Any = np.where(case.playable, 1.0, 0.0) / case.playable.sum(axis=1, keepdims=True)
        policy = []
        for t in range(1, (sweeps(case.gamma) if endless else case.horizon or 0) + 1):
            q, of_q = self.both(case, made, v, var)
            best = self.choose(case, made, q - self.xi * np.sqrt(of_q))
            pi = pi + (np.eye(q.shape[1])[best] - pi) / t if endless else best
            share = pi**2 if endless else pi
            v, var = (np.where(case.terminal, 0.0, x) for x in (under(pi, q), under(share, of_q)))
            policy.append(pi)
        return pi / pi.sum(axis=1, keepdims=True) if endless else np.stack(policy[::-1])
