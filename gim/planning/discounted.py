"""Planning without an end: value iteration, policy iteration, and the way between.

The three differ only in the step they take between two sweeps over all pairs (`gim.planning.desk`).
They start from the policy that is greedy for rewards, which costs no sweep. `inexact`, for large
sparse MDPs, is the fourth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from gim.planning import sweeps
from gim.planning.desk import MAX_ITER, Desk
from gim.planning.evaluation import solve_policy
from gim.planning.linear import DENSE_SOLVE
from gim.planning.types import Dynamics, Plan

CLOSER = 0.05  # the factor by which following a policy is to bring its changes together
SLOW = 10  # sweeps along a policy, after which it is slow if they have not


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
    desk = Desk(mdp, discount, tolerance, max_iter)
    return desk.iterate("value_iteration", greedily(_leap), _leap, v0)


def modified_policy_iteration(
    mdp: Dynamics,
    discount: float,
    tolerance: float = 1e-8,
    max_iter: int = MAX_ITER,
    v0: ArrayLike | None = None,
) -> Plan:
    """Follow the greedy policy for some cheap sweeps between two over all pairs (Puterman 1978).

    A sweep over the pairs of one policy costs an A-th of a full one. Where values hardly move, as
    in an MDP that falls into parts, the policy's value is solved for, as soon as sweeps have cost
    as much as that does. Arguments and result are those of `value_iteration`.
    """
    desk = Desk(mdp, discount, tolerance, max_iter)
    step = FollowOrSolve(desk)
    return desk.iterate("modified_policy_iteration", greedily(step), step, v0)


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
    desk = Desk(mdp, discount, tolerance, max_iter)
    return desk.iterate("policy_iteration", greedily(_solve), _solve, v0)


def greedily(step: Callable[[Desk], None]) -> Callable[[Desk], None]:
    """Begin as if a sweep had found the rewards alone."""

    def begin(desk: Desk) -> None:
        desk.look_at_rewards()
        step(desk)

    return begin


def _leap(desk: Desk) -> None:
    ahead = desk.discount / (1 - desk.discount) * (desk.low + desk.high) / 2
    np.add(desk.best, ahead, out=desk.v)


class FollowOrSolve:
    """Follow the greedy policy for some cheap sweeps, or solve for its value.

    Sweeps that cost about one over all pairs are always made, and some more where these have not
    yet brought the changes together. If even so they are apart, the policy mixes slowly: sweeps
    have stalled.

    Attributes:
        stalls: the number of times in a row that they did.
    """

    def __init__(self, desk: Desk) -> None:
        S, A = desk.sweeper.shape
        self.stalls = 0
        self._first = min(A, SLOW)
        self._held, self._at = np.full(S, -1), 2 * np.arange(S)
        self._places = desk.sweeper.places() if desk.sweeper.sparse else None
        self._patience = _patience(desk.mdp)

    def __call__(self, desk: Desk) -> None:
        """Set v from what the last sweep led to."""
        if self.stalls < self._patience:
            self._follow(desk)
        else:
            self.stalls = 0
            _solve(desk)

    def _follow(self, desk: Desk) -> None:
        _leap(desk)
        pairs = sweeps.pairs_of(desk.policy, desk.mdp.A)
        r = desk.mdp.rewards.reshape(-1)[pairs]
        if self._places is not None:  # side by side rows are read faster
            sweeps.gather(desk.sweeper.rows, pairs, self._held, self._places)

        def follow(times: int, enough: float) -> float:
            given = (r, desk.discount, times, enough, desk.v, desk.best)
            if self._places is None:
                return sweeps.follow_dense(desk.sweeper.rows, pairs, *given)[1]
            return sweeps.follow_csr(self._places, self._at, *given)[1]

        enough = max(desk.enough / 2, desk.rounding)
        if not desk.iterations:  # the first policy looks at rewards only: no more than a glance
            follow(2, enough)
            return
        together = max(enough, CLOSER * (desk.high - desk.low))
        span = follow(self._first, enough)
        if span > together and self._first < SLOW:
            span = follow(SLOW - self._first, together)
        self.stalls = self.stalls + 1 if span > together else 0


def _solve(desk: Desk) -> None:
    desk.v[:] = solve_policy(desk.mdp, desk.policy, desk.discount)


def _patience(mdp: Dynamics) -> int:
    """How many iterations of following a policy cost about as much as solving for its value."""
    dense = not sparse.issparse(mdp.transitions) or mdp.S <= DENSE_SOLVE
    return 1 + mdp.S // (24 * mdp.A) if dense else 20
