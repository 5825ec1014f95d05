"""Planning over a horizon: backward induction (Bellman 1957)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim._compile.jit import bind, hot
from gim.planning.checks import check_work, checked_horizon, checked_weight
from gim.planning.linear import entries_of
from gim.planning.sweeper import Sweeper
from gim.planning.sweeps import (
    EPS,
    add_rewards,
    compact,
    expect_csr,
    expect_dense,
    rows_of,
    take_best,
)
from gim.planning.types import Bools, Dynamics, Floats, Ints, Plan

expect = expect_dense  # the template below is bound to one or the other


@hot
def add_bonus(q: Any, bonus: Any, ceiling: float) -> None:
    """q [S, A] becomes min(ceiling, q + bonus)."""
    S, A = q.shape
    for s in range(S):
        for a in range(A):
            q[s, a] = min(ceiling, q[s, a] + bonus[s, a])


def _induct(
    P: Any,
    r: Any,
    available: Any,
    discount: float,
    bonus: Any,
    ceiling: Any,
    q: Any,
    v: Any,
    pi: Any,
) -> None:
    H, S, A = q.shape
    pairs = np.arange(S * A)
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        expect(P, pairs, v[h + 1], q[h].reshape(-1))
        add_rewards(q[h], r, available, discount)
        if bonus is not None:
            add_bonus(q[h], bonus[min(h, len(bonus) - 1)], ceiling[h])
        take_best(q[h], v[h], pi[h])


induct_dense = bind(_induct, "dense", expect=expect_dense)
induct_csr = bind(_induct, "csr", expect=expect_csr)


def backward_induction(mdp: Dynamics, horizon: int | None = None, discount: float = 1.0) -> Plan:
    """The best policy of each step of a horizon (Bellman 1957).

    Args:
        mdp: the MDP.
        horizon: H, the number of steps; the MDP's own if None.
        discount: the weight of each step against the one before, any number from 0 to 1.

    Returns:
        A plan with q [H, S, A], v [H, S] and policy [H, S]. It is exact up to rounding, and
        `error` bounds that. Dense and sparse MDPs agree bit for bit. One byte for each step and
        state is kept (two above 256 actions); v and q of all steps are made when they are read.
    """
    H = checked_horizon(mdp.horizon if horizon is None else horizon)
    weight = checked_weight(discount)
    check_work(H, entries_of(mdp))
    actions = np.empty((H, mdp.S), compact(mdp.A))
    sweeper = Sweeper(mdp)
    first, largest = sweeper.induct(weight, H, actions)
    # A sum of n terms is off by less than n eps of what it adds up, and so is each step's.
    error = H * (sweeper.longest + 2) * EPS * (float(np.abs(mdp.rewards).max()) + largest)
    return Plan(actions, first, H, error, "backward_induction", True, weight, sweeper)


def optimal_values(mdp: Dynamics, horizon: int | None = None) -> Floats:
    """Value of each state at the first step of the best plan, [S]; no policy is kept."""
    H = checked_horizon(mdp.horizon if horizon is None else horizon)
    check_work(H, entries_of(mdp))
    return Sweeper(mdp).induct(1.0, H, np.empty((1, mdp.S), compact(mdp.A)))[0]


def backward_induction_into(
    P: Any, r: Floats, available: Bools, q: Floats, v: Floats, policy: Ints
) -> None:
    """Backward induction on raw arrays into arrays of the caller; only shapes are checked.

    For agents that plan after each episode: some 12 microseconds at S=20, A=10, H=10.

    Args:
        P: transitions, [S, A, S] or a `csr_array` of S*A rows.
        r: rewards, [S, A].
        available: which pairs can be played, bool [S, A]; the others get -inf.
        q, v, policy: to be filled, [H, S, A], [H + 1, S] (the last row is 0) and int64 [H, S].
    """
    _into(P, r, available, 1.0, None, None, q, v, policy)


def optimistic_induction_into(
    P: Any,
    r: Floats,
    bonus: Floats,
    ceiling: Floats,
    available: Bools,
    q: Floats,
    v: Floats,
    policy: Ints,
) -> None:
    """Backward induction with q = min(ceiling[h], r + bonus + P v), as in UCBVI (Azar 2017).

    Args:
        P: transitions, [S, A, S] or a `csr_array` of S*A rows.
        r: rewards, [S, A].
        bonus: what each pair is given on top, [1, S, A], or [H, S, A] by step.
        ceiling: the largest value that step h can have, [H].
        available: which pairs can be played, bool [S, A]; the others get -inf.
        q, v, policy: to be filled, [H, S, A], [H + 1, S] (the last row is 0) and int64 [H, S].
    """
    if bonus.shape not in ((1, *r.shape), q.shape) or ceiling.shape != q.shape[:1]:
        raise ValueError(
            f"bonus {bonus.shape} and ceiling {ceiling.shape} do not fit q {q.shape}: "
            "give them as [1, S, A] or [H, S, A], and [H]"
        )
    _into(P, r, available, 1.0, bonus, ceiling, q, v, policy)


def _into(
    P: Any,
    r: Floats,
    available: Bools,
    discount: float,
    bonus: Floats | None,
    ceiling: Floats | None,
    q: Floats,
    v: Floats,
    policy: Ints,
) -> None:
    # Compiled code does not look at bounds, so this does.
    H, S, A = q.shape
    if not (
        v.shape == (H + 1, S) and policy.shape == (H, S) and r.shape == available.shape == (S, A)
    ):
        raise ValueError(
            f"q {q.shape}, v {v.shape}, policy {policy.shape}, r {r.shape} and available "
            f"{available.shape} do not fit: they are [H, S, A], [H + 1, S], [H, S], [S, A], [S, A]"
        )
    rows = rows_of(P, S, A)
    induct = induct_csr if isinstance(rows, tuple) else induct_dense
    induct(rows, r, available, discount, bonus, ceiling, q, v, policy)
