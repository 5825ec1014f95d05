"""What a given policy is worth, and where it leads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import spsolve

from gim.planning.checks import (
    checked_discount,
    checked_horizon,
    checked_policy,
    checked_weight,
)
from gim.planning.sweeps import pairs_of
from gim.planning.types import Dynamics, Floats, Ints

DENSE_SOLVE = 300  # up to this many states a dense solve beats a sparse one


def evaluate(
    mdp: Dynamics,
    policy: ArrayLike,
    horizon: int | None = None,
    discount: float | None = None,
) -> Floats:
    """Value of a policy in each state, exactly: no simulation.

    Args:
        mdp: the MDP.
        policy: actions, int [S] or [H, S], or probabilities, float [S, A] or [H, S, A].
        horizon: H, the number of steps; the MDP's own if None and there is no discount.
        discount: the weight of each step against the one before. Without a horizon there is no
            end, the policy is stationary, and its value is found by a direct solve.

    Returns:
        Over a horizon [H, S], row h with H - h steps to go; without [S].
    """
    if discount is not None and horizon is None:
        pi = checked_policy(mdp, policy, None)
        return solve_policy(mdp, pi, checked_discount(discount))
    H = checked_horizon(mdp.horizon if horizon is None else horizon)
    pi = checked_policy(mdp, policy, H)
    weight = 1.0 if discount is None else checked_weight(discount)
    same = _under(mdp, pi) if _is_stationary(pi) else None
    v = np.zeros((H + 1, mdp.S))
    for h in reversed(range(H)):
        P, r = same or _under(mdp, pi[h])
        v[h] = r + weight * (P @ v[h + 1])
    return v[:H]


def expected_visits(mdp: Dynamics, policy: ArrayLike, horizon: int | None = None) -> Floats:
    """Probability that each pair is played at each step of an episode, [H, S, A].

    The arguments are those of `evaluate`. Each step sums to 1, the whole to H.
    """
    H = checked_horizon(mdp.horizon if horizon is None else horizon)
    pi = checked_policy(mdp, policy, H)
    stationary = _is_stationary(pi)
    chances = np.eye(mdp.A)[pi] if pi.dtype.kind == "i" else pi
    P = flat(mdp)
    visits = np.empty((H, mdp.S, mdp.A))
    here = mdp.start
    for h in range(H):
        visits[h] = here[:, None] * (chances if stationary else chances[h])
        here = visits[h].reshape(-1) @ P
    return visits


def solve_policy(mdp: Dynamics, pi: Ints | Floats, discount: float) -> Floats:
    """Value of a stationary policy without an end, [S], by a direct solve."""
    P, r = _under(mdp, pi)
    return solve_linear(P, r, discount)


def solve_linear(P: Any, r: Floats, discount: float) -> Floats:
    """Solve (I - discount P) v = r for P [S, S], dense or sparse."""
    S = r.size
    if sparse.issparse(P) and S > DENSE_SOLVE and P.nnz < S * S / 10:
        return spsolve(sparse.eye_array(S, format="csc") - discount * P.tocsc(), r)
    system = (P.toarray() if sparse.issparse(P) else P) * -discount
    system.flat[:: S + 1] += 1
    return np.linalg.solve(system, r)


def flat(mdp: Dynamics) -> Any:
    """Transitions with one row for each pair, [S*A, S], dense or sparse."""
    P = mdp.transitions
    return P if sparse.issparse(P) else P.reshape(mdp.S * mdp.A, mdp.S)


def _under(mdp: Dynamics, pi: Ints | Floats) -> tuple[Any, Floats]:
    """Transitions [S, S] and rewards [S] under one step of a policy."""
    S, A, P = mdp.S, mdp.A, flat(mdp)
    if pi.ndim == 1:
        pairs = pairs_of(pi.astype(np.int64, copy=False), A)
        return P[pairs], mdp.rewards.reshape(-1)[pairs]
    r = (pi * mdp.rewards).sum(axis=1)
    if sparse.issparse(P):
        parts = (pi.reshape(-1), np.arange(S * A), np.arange(0, S * A + 1, A))
        return sparse.csr_array(parts, shape=(S, S * A)) @ P, r
    return np.matmul(pi[:, None, :], mdp.transitions)[:, 0], r


def _is_stationary(pi: Ints | Floats) -> bool:
    return pi.ndim == (1 if pi.dtype.kind == "i" else 2)
