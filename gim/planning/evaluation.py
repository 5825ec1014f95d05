"""What a given policy is worth, and where it leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from gim.planning.chain import chain_values
from gim.planning.checks import (
    check_room,
    check_work,
    checked_discount,
    checked_horizon,
    checked_policy,
    checked_weight,
)
from gim.planning.inexact import inexact_policy_iteration
from gim.planning.linear import entries_of, fits, flat, solve_linear, under
from gim.planning.sweeper import Sweeper
from gim.planning.types import Bools, Dynamics, Floats

STEP = 2e-6  # seconds that a step takes in Python
TO_THE_LAST = 1e-300  # a tolerance that only rounding ends


def evaluate(
    mdp: Dynamics,
    policy: ArrayLike,
    horizon: int | None = None,
    discount: float | None = None,
    average: bool = False,
) -> Floats:
    """Value of a policy in each state, exactly: no simulation.

    Args:
        mdp: the MDP.
        policy: actions, int [S] or [H, S], or probabilities, float [S, A] or [H, S, A].
        horizon: H, the number of steps; the MDP's own if None and there is no discount.
        discount: the weight of each step against the one before. Without a horizon there is no
            end, the policy is stationary, and its value is solved for.
        average: the average reward of a step without end, the gain, in place of a value; for the
            bias and for bounds see `gim.planning.gain_and_bias`.

    Returns:
        Over a horizon [H, S], row h with H - h steps to go; without [S].
    """
    if average:
        if discount is not None or horizon is not None:
            raise ValueError("the average has no end and no discount: leave out horizon, discount")
        return chain_values(*under(mdp, checked_policy(mdp, policy, None))).gain
    if discount is not None and horizon is None:
        pi = checked_policy(mdp, policy, None)
        return solve_policy(mdp, pi, checked_discount(discount))
    H = checked_horizon(mdp.horizon if horizon is None else horizon)
    weight = 1.0 if discount is None else checked_weight(discount)
    check_room(H, mdp.S)
    values = np.empty((H, mdp.S))
    for h, v in _backwards(mdp, checked_policy(mdp, policy, H), H, weight):
        values[h] = v
    return values


def first_values(mdp: Dynamics, policy: ArrayLike) -> Floats:
    """Value of a policy at the first step of the MDP's horizon, [S]; no other step's is kept."""
    H = checked_horizon(mdp.horizon)
    v = np.zeros(mdp.S)
    for _, after in _backwards(mdp, checked_policy(mdp, policy, H), H, 1.0):
        v = after
    return v


def _backwards(mdp: Dynamics, pi: Any, H: int, discount: float) -> Iterator[tuple[int, Floats]]:
    """Each step from the last to the first, with the values of following the policy from there."""
    check_work(H, entries_of(mdp), seconds=STEP)
    v = np.zeros(mdp.S)
    same = under(mdp, pi) if _is_stationary(pi) else None
    rows = Sweeper(mdp) if sparse.issparse(mdp.transitions) and pi.ndim == 2 else None
    for h in reversed(range(H)):
        if same is None and rows is not None:
            v = rows.follow(discount, v, pi[h], np.empty(mdp.S))
        else:
            P, r = same or under(mdp, pi[h])
            v = r + discount * (P @ v)
        yield h, v


def expected_visits(mdp: Dynamics, policy: ArrayLike, horizon: int | None = None) -> Floats:
    """Probability that each pair is played at each step of an episode, [H, S, A].

    The arguments are those of `evaluate`. Each step sums to 1, the whole to H.
    """
    H = checked_horizon(mdp.horizon if horizon is None else horizon)
    pi = checked_policy(mdp, policy, H)
    stationary = _is_stationary(pi)
    chances = np.eye(mdp.A)[pi] if pi.dtype.kind in "iu" else pi
    P = flat(mdp)
    check_room(H, mdp.S, mdp.A)
    visits = np.empty((H, mdp.S, mdp.A))
    here = mdp.start
    for h in range(H):
        visits[h] = here[:, None] * (chances if stationary else chances[h])
        here = visits[h].reshape(-1) @ P
    return visits


def solve_policy(mdp: Dynamics, pi: Any, discount: float) -> Floats:
    """Value of a stationary policy without an end, [S], up to rounding.

    By a direct solution where that is within bounds. Else the policy is an MDP with one action, and
    its plan, to the last digit, is the value.
    """
    return solve_chain(*under(mdp, pi), discount)


def solve_chain(P: Any, r: Floats, discount: float, tolerance: float = TO_THE_LAST) -> Floats:
    """The same of the transitions [S, S] and rewards [S] that are left under a policy."""
    if fits(P):
        try:
            return solve_linear(P, r, discount)
        except ArithmeticError:
            pass
    return inexact_policy_iteration(_Chain(P, r[:, None]), discount, tolerance).first


@dataclass(frozen=True)
class _Chain:
    """What is left of an MDP under a policy."""

    P: Any
    rewards: Floats
    A: int = 1
    horizon: int = 1
    discount: float | None = None

    @property
    def S(self) -> int:
        return len(self.rewards)

    @property
    def transitions(self) -> Any:
        return self.P if sparse.issparse(self.P) else self.P[:, None]

    @property
    def available(self) -> Bools:
        return np.ones(self.rewards.shape, np.bool_)

    @property
    def terminal(self) -> Bools:
        return np.zeros(self.S, np.bool_)

    @property
    def start(self) -> Floats:
        return np.full(self.S, 1 / self.S)


def _is_stationary(pi: Any) -> bool:
    return pi.ndim == (1 if pi.dtype.kind in "iu" else 2)
