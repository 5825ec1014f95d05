"""What planners without an end share: the loop, and the bound on which it stops.

They differ only in the step they take between two sweeps over all pairs. Whatever it did, for
w = T v, one sweep after v,

    |w - V*| <= discount / (1 - discount) |w - v|   in the largest entry (Banach 1922),

and the same for the value of the policy that is greedy for v. Sums are rounded: one of n terms is
off by some sqrt(n) eps of what it adds up (Higham and Mary 2019), and that is in the bound too. A
tolerance below that cannot be promised; the loop then stops there, and `error` says where that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gim.planning.checks import (
    checked_discount,
    checked_max_iter,
    checked_tolerance,
    checked_values,
)
from gim.planning.sweeper import Sweeper
from gim.planning.sweeps import EPS, compact
from gim.planning.types import Dynamics, Plan

MAX_ITER = 100_000
ROW_EXCESS = 1e-6  # by how much a row may sum to more than 1


class Desk:
    """What the loop works on: the last sweep led from v to best, with the greedy policy."""

    def __init__(
        self,
        mdp: Dynamics,
        discount: float,
        tolerance: float,
        max_iter: int,
        as_csr: bool = False,
    ) -> None:
        self.mdp = mdp
        self.discount = checked_discount(discount)
        self.tolerance = checked_tolerance(tolerance)
        self.max_iter = checked_max_iter(max_iter)
        self.sweeper = Sweeper(mdp, as_csr)
        self.v = np.zeros(mdp.S)
        self.best = np.zeros(mdp.S)
        self.policy = np.zeros(mdp.S, compact(mdp.A))
        self.iterations = 0
        self.low, self.high = -math.inf, math.inf  # the range of best - v
        self.rounding = 0.0  # how far rounding may take each entry of best
        self._contraction = _contraction(mdp, self.discount)
        self._terms = math.sqrt(self.sweeper.longest) + 4

    def sweep(self) -> None:
        """One Bellman sweep from v."""
        found = self.sweeper.back_up(self.discount, self.v, self.best, self.policy)
        self.low, self.high, largest = found
        self.rounding = self._terms * EPS * largest
        self.iterations += 1

    def look_at_rewards(self) -> None:
        """A sweep from v = 0, which needs no transitions and does not count."""
        self.low, self.high, _ = self.sweeper.look(self.best, self.policy)

    @property
    def change(self) -> float:
        """|best - v|, the largest entry."""
        return max(abs(self.low), abs(self.high))

    @property
    def error(self) -> float:
        """A bound on |best - V*|."""
        c = self._contraction
        return (c * self.change + self.rounding) / (1 - c) if c < 1 else math.inf

    @property
    def enough(self) -> float:
        """The change that meets the tolerance."""
        c = self._contraction
        return self.tolerance * (1 - c) / c if c > 0 else math.inf

    @property
    def done(self) -> bool:
        """Whether the tolerance is met, or rounding lets nothing more be gained."""
        return self.error <= self.tolerance or self.change <= 4 * self.rounding

    def iterate(
        self,
        method: str,
        begin: Callable[[Desk], None],
        step: Callable[[Desk], None],
        v0: ArrayLike | None,
    ) -> Plan:
        """Sweep, and step where a sweep does not end it; `begin` sets v unless it is given."""
        if v0 is None:
            begin(self)
        else:
            self.v[:] = checked_values("v0", v0, self.mdp.S)
        self.sweep()
        while not self.done and self.iterations < self.max_iter:
            step(self)
            self.sweep()
        # What ends an episode is worth nothing, exactly; a step may move it with the rest.
        self.best[self.mdp.terminal] = self.policy[self.mdp.terminal] = 0
        return Plan(
            self.policy,
            self.best,
            self.iterations,
            self.error,
            method,
            self.done,
            self.discount,
            self.sweeper,
            self.v,
        )


def _contraction(mdp: Dynamics, discount: float) -> float:
    """The factor by which a sweep brings values closer, with rows that sum to a bit over 1."""
    excess = ROW_EXCESS
    if discount > 1 - 50 * ROW_EXCESS:  # where it would count for more than 2 %, look
        excess = max(0.0, float(mdp.transitions.sum(axis=-1).max()) - 1)
    return discount * (1 + excess)
