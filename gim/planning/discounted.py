"""Planning without an end: value iteration, policy iteration, and the way between.

The three differ only in the step they take between two sweeps over all pairs, so there is one
loop. It starts from the policy that is greedy for rewards, which costs no sweep, and it stops on a
bound that holds whatever came before: for w = T v, one sweep after v,

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
from scipy import sparse

from gim.planning import sweeps
from gim.planning.checks import (
    checked_discount,
    checked_max_iter,
    checked_tolerance,
    checked_values,
)
from gim.planning.evaluation import DENSE_SOLVE, solve_policy
from gim.planning.types import Dynamics, Ints, Plan

MAX_ITER = 100_000
SPARSE_SOLVE = 5_000  # with more states than this a sparse solve may fill all memory
ROW_EXCESS = 1e-6  # by how much a row may sum to more than 1


def value_iteration(
    mdp: Dynamics,
    discount: float,
    tolerance: float = 1e-8,
    max_iter: int = MAX_ITER,
    v0: ArrayLike | None = None,
) -> Plan:
    """Sweep over all pairs until the values settle (Bellman 1957), with MacQueen's (1966) leaps.

    After each sweep all values move by what their mean change would still add up to. Where the
    MDP mixes fast hardly anything else is left, and a few sweeps do the work of thousands.

    Args:
        mdp: the MDP.
        discount: the weight of each step against the one before, in [0, 1).
        tolerance: how far a value may be from the optimum's.
        max_iter: the largest number of sweeps.
        v0: values to start from, [S], such as those of an earlier plan.

    Returns:
        A plan with q [S, A], v [S] and policy [S]; `error` is met even if it ran out of sweeps.
    """
    return _iterate(_leap, "value_iteration", mdp, discount, tolerance, max_iter, v0)


def modified_policy_iteration(
    mdp: Dynamics,
    discount: float,
    tolerance: float = 1e-8,
    max_iter: int = MAX_ITER,
    v0: ArrayLike | None = None,
) -> Plan:
    """Follow the greedy policy for some cheap sweeps between two over all pairs (Puterman 1978).

    A sweep over the pairs of one policy costs an A-th of a full one; some A of them are made, or
    fewer if they bring no more. Where even so the values hardly move, as in an MDP that falls into
    parts, the policy's value is solved for, as soon as the sweeps have cost as much as that does.
    Arguments and result are those of `value_iteration`.
    """
    return _iterate(_follow, "modified_policy_iteration", mdp, discount, tolerance, max_iter, v0)


def policy_iteration(
    mdp: Dynamics,
    discount: float,
    tolerance: float = 1e-8,
    max_iter: int = MAX_ITER,
    v0: ArrayLike | None = None,
) -> Plan:
    """Solve for the value of the greedy policy between two sweeps over all pairs (Howard 1960).

    Arguments and result are those of `value_iteration`.
    """
    return _iterate(_solve, "policy_iteration", mdp, discount, tolerance, max_iter, v0)


class _Desk:
    """What the loop works on: the last sweep led from v to best, with q and the policy."""

    def __init__(self, mdp: Dynamics, discount: float, tolerance: float) -> None:
        self.mdp = mdp
        self.discount = discount
        self.tolerance = tolerance
        self.rows = sweeps.rows_of(mdp.transitions, mdp.S, mdp.A)
        self.pairs = np.arange(mdp.S * mdp.A)
        self.q = np.zeros((mdp.S, mdp.A))
        self.v = np.zeros(mdp.S)
        self.best = np.zeros(mdp.S)
        self.policy = np.zeros(mdp.S, np.int64)
        self.iterations = 0
        self.slow = 0  # iterations in a row that did not halve the change
        self.low, self.high = -math.inf, math.inf  # the range of best - v
        self.rounding = 0.0  # how far rounding may take each entry of best
        self.patience = _patience(mdp)
        self._contraction = _contraction(mdp, discount)
        self._terms = math.sqrt(sweeps.longest_row(mdp)) + 4

    def sweep(self) -> None:
        """One Bellman sweep from v."""
        before = self.change
        self._back_up(self.pairs)
        self.iterations += 1
        self.slow = self.slow + 1 if self.change > before / 2 else 0

    def look_at_rewards(self) -> None:
        """A sweep from v = 0, which needs no transitions."""
        self._back_up(self.pairs[:0])

    def _back_up(self, pairs: Ints) -> None:
        mdp = self.mdp
        back_up = sweeps.back_up_csr if isinstance(self.rows, tuple) else sweeps.back_up_dense
        self.low, self.high, largest = back_up(
            self.rows, pairs, mdp.rewards, mdp.available, self.discount,
            self.v, self.q, self.best, self.policy,
        )  # fmt: skip
        self.rounding = self._terms * sweeps.EPS * largest

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


def _leap(desk: _Desk) -> None:
    ahead = desk.discount / (1 - desk.discount) * (desk.low + desk.high) / 2
    np.add(desk.best, ahead, out=desk.v)


def _follow(desk: _Desk) -> None:
    if desk.slow >= desk.patience:
        desk.slow = 0
        _solve(desk)
        return
    _leap(desk)
    # The first policy looks at rewards only: it is not worth more than a glance.
    times = desk.mdp.A + 5 if desk.iterations else 2
    follow = sweeps.follow_csr if isinstance(desk.rows, tuple) else sweeps.follow_dense
    pairs = sweeps.pairs_of(desk.policy, desk.mdp.A)
    r = desk.mdp.rewards.reshape(-1)[pairs]
    enough = max(desk.enough / 2, desk.rounding)
    follow(desk.rows, pairs, r, desk.discount, times, enough, desk.v, desk.best)


def _solve(desk: _Desk) -> None:
    desk.v[:] = solve_policy(desk.mdp, desk.policy, desk.discount)


def _iterate(
    step: Callable[[_Desk], None],
    method: str,
    mdp: Dynamics,
    discount: float,
    tolerance: float,
    max_iter: int,
    v0: ArrayLike | None,
) -> Plan:
    desk = _Desk(mdp, checked_discount(discount), checked_tolerance(tolerance))
    checked_max_iter(max_iter)
    if v0 is None:
        desk.look_at_rewards()
        step(desk)
    else:
        desk.v[:] = checked_values("v0", v0, mdp.S)
    desk.sweep()
    while not desk.done and desk.iterations < max_iter:
        step(desk)
        desk.sweep()
    # What ends an episode is worth nothing, exactly; a leap moves it with the rest.
    desk.q[mdp.terminal] = desk.best[mdp.terminal] = desk.policy[mdp.terminal] = 0
    return Plan(
        desk.q, desk.best, desk.policy, desk.iterations, desk.error, method, converged=desk.done
    )


def _patience(mdp: Dynamics) -> int:
    """How many iterations of following a policy cost about as much as solving for its value."""
    if not sparse.issparse(mdp.transitions) or mdp.S <= DENSE_SOLVE:
        return 1 + mdp.S // (24 * mdp.A)
    return 20 if mdp.S <= SPARSE_SOLVE else MAX_ITER


def _contraction(mdp: Dynamics, discount: float) -> float:
    """The factor by which a sweep brings values closer, with rows that sum to a bit over 1."""
    excess = ROW_EXCESS
    if discount > 1 - 1000 * ROW_EXCESS:  # where it would count, look
        excess = max(0.0, float(mdp.transitions.sum(axis=-1).max()) - 1)
    return discount * (1 + excess)
