"""What a policy is worth in the model of a log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.logs.safe.base import Case, Floats, under
from gim.planning.evaluation import solve_chain

CLOSE = 1e-9  # of values in worlds too large to be solved directly, in units of the largest reward


def values_of(case: Case, policy: NDArray[Any]) -> Floats:
    """Values [H, S] of a policy in the estimate, or [S] if discounted."""
    S, A = case.r.shape
    drawn = policy.dtype.kind == "f"
    if case.horizon is None:
        if policy.shape not in ((S, A), (S,)):
            raise ValueError(f"without a horizon a policy is [{S}] or [{S}, {A}]")
        chances = policy if drawn else np.eye(A)[policy]
        pair = np.arange(S * A)
        rule = sparse.csr_array((chances.ravel(), (pair // A, pair)), shape=(S, S * A))
        r = (chances * case.r).sum(axis=1)
        tolerance = CLOSE * max(float(np.abs(r).max()), 1e-300)
        return solve_chain(rule @ case.P, r, case.gamma, tolerance)
    timed = policy.ndim == (3 if drawn else 2)
    if policy.shape[-1 - drawn] != S or (timed and len(policy) != case.horizon):
        raise ValueError(
            f"a policy of shape {policy.shape} does not fit {S} states and {case.horizon} steps"
        )
    v = np.zeros((case.horizon + 1, S))
    for h in reversed(range(case.horizon)):
        q = case.r + case.gamma * case.expected(v[h + 1])
        v[h] = np.where(case.terminal, 0.0, under(policy[h] if timed else policy, q))
    return v[:-1]
