"""What a safe policy is: a way to back up values, and one to choose actions by them.

The loop is the same for all: backward over a horizon, or to the fixed point if discounted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Params

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TOLERANCE = 1e-9  # of discounted values, relative to the largest that is possible
MOST_DENSE = 1 << 24  # entries of a table [S, A, S]


class Case(NamedTuple):
    """What is known of the world, from visits alone or with what is inferred."""

    P: Any  # CSR of S*A rows: the estimate; a pair of which nothing is known stays where it is
    r: Floats  # [S, A] the estimate; of such a pair the least that is possible
    n: Floats  # [S, A] visits behind the estimate, pseudo-visits included
    spread: Floats  # [S, A] variance of single rewards
    playable: Bools  # [S, A] pairs that may be recommended, at least one in each state
    terminal: Bools  # [S]
    baseline: Floats  # [S, A] the policy to improve on
    rewards: tuple[float, float]  # the least and the largest r(s,a)
    horizon: int | None
    discount: float | None  # with neither horizon nor discount nothing can be planned

    @property
    def gamma(self) -> float:
        """The weight of each step against the one before."""
        return 1.0 if self.discount is None else self.discount

    def steps(self, h: int) -> float:
        """What the steps from h on weigh together."""
        if self.horizon is None:
            return 1.0 / (1.0 - self.gamma)
        togo = self.horizon - h
        return float(togo) if self.gamma == 1 else (1 - self.gamma**togo) / (1 - self.gamma)

    def expected(self, v: Floats) -> Floats:
        """P v, [S, A]."""
        return np.asarray(self.P @ v).reshape(self.r.shape)

    def dense(self) -> Floats:
        """P as [S, A, S], if that is not too large."""
        S, A = self.r.shape
        if S * A * S > MOST_DENSE:
            raise ValueError(
                f"{S} states and {A} actions are too many for this safe policy: try ramdp or spibb"
            )
        return self.P.toarray().reshape(S, A, S)


@dataclass(frozen=True)
class Safe(Params):
    """Base of all: a class defines `backup`, and `choose` if it does not simply take the best."""

    def start(self, case: Case) -> Any:
        """What is computed once, passed on to `backup` and `choose`."""

    def backup(self, case: Case, made: Any, v: Floats, h: int) -> Floats:
        """Q [S, A] of step h from the values [S] of the next one."""
        raise TypeError(f"{type(self).__name__} must define backup(case, made, v, h)")

    def choose(self, case: Case, made: Any, q: Floats) -> NDArray[Any]:
        """Actions [S], or probabilities [S, A], by Q: the best; of equals the baseline's own."""
        q = np.where(case.playable, q, -np.inf)
        best = q == q.max(axis=1, keepdims=True)
        return np.where(best, case.baseline, -1.0).argmax(axis=1)

    def __call__(self, case: Case) -> NDArray[Any]:
        """The policy: [H, S] or [H, S, A] over a horizon, [S] or [S, A] if discounted."""
        made, v = self.start(case), np.zeros(len(case.r))
        if case.horizon is not None:
            policy = []
            for h in reversed(range(case.horizon)):
                pi, v = self._step(case, made, v, h)
                policy.append(pi)
            return np.stack(policy[::-1])
        close = TOLERANCE * max(abs(each) for each in (*case.rewards, 1e-300))
        jumped = False
        for _ in range(sweeps(case.gamma)):
            pi, new = self._step(case, made, v, 0)
            change, v = new - v, new
            if np.abs(change).max() <= close:
                break
            # All values rise alike (MacQueen 1966): go where they end; once, lest it is a floor.
            if np.ptp(change) <= close and not jumped:
                v, jumped = v + case.gamma / (1 - case.gamma) * change.mean(), True
        return pi

    def _step(self, case: Case, made: Any, v: Floats, h: int) -> tuple[NDArray[Any], Floats]:
        q = self.backup(case, made, v, h)
        pi = self.choose(case, made, q)
        return pi, np.where(case.terminal, 0.0, under(pi, q))


def under(pi: NDArray[Any], q: Floats) -> Floats:
    """What q is worth under actions [S] or probabilities [S, A]."""
    if pi.ndim == 1:
        return q[np.arange(len(q)), pi]
    return (pi * q).sum(axis=1)


def sweeps(gamma: float) -> int:
    """Sweeps after which discounted values are within the tolerance."""
    return 1 if gamma == 0 else math.ceil(math.log(TOLERANCE) / math.log(gamma))
