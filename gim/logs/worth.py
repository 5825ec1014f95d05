"""What a policy is worth in the model, and in worlds drawn from what is believed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.logs.safe.base import Case, Floats, under
from gim.planning.linear import solve_linear

UNSEEN = 1.0  # visits of each pair that were never made


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
        P = rule @ case.P
        return solve_linear(P, (chances * case.r).sum(axis=1), case.gamma)
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


def returns(
    case: Case,
    rows: sparse.csr_array,
    policy: NDArray[Any],
    start: Floats,
    rng: np.random.Generator,
    draws: int,
) -> Floats:
    """Expected returns [1 + draws]: in the estimate, then in worlds drawn.

    A world is drawn pair by pair: p(.|s,a) from a Dirichlet distribution with the visits behind it
    and one more that may have gone anywhere, since what happens seldom was often not seen yet;
    r(s,a) from a normal one. What is known of neither stays as it is.
    """
    found = [return_of(case, policy, start)]
    known = np.diff(rows.indptr) > 0
    pair = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    loops = np.flatnonzero(~known)
    stay = case.P[loops] if loops.size else None
    sd = np.sqrt(case.spread / np.maximum(case.n, 1.0)) * (case.n > 0)
    rest = np.flatnonzero(known)
    for _ in range(draws):
        weight = rng.standard_gamma(rows.data)
        more = rng.standard_gamma(UNSEEN, rest.size)  # to a state drawn for each pair
        total = np.bincount(pair, weight, rows.shape[0])
        total[rest] = np.maximum(total[rest] + more, 1e-300)
        P = sparse.csr_array((weight / total[pair], rows.indices, rows.indptr), shape=rows.shape)
        column = rng.integers(rows.shape[1], size=rest.size)
        P = P + sparse.csr_array((more / total[rest], (rest, column)), shape=rows.shape)
        if stay is not None:
            P = P + _spread_out(stay, loops, rows.shape)
        r = case.r + sd * rng.standard_normal(sd.shape)
        found.append(return_of(case._replace(P=P, r=r), policy, start))
    return np.array(found)


def return_of(case: Case, policy: NDArray[Any], start: Floats) -> float:
    """The expected return of a policy in the estimate."""
    v = values_of(case, policy)
    return float(start @ (v if v.ndim == 1 else v[0]))


def _spread_out(rows: Any, places: NDArray[np.int64], shape: tuple[int, int]) -> Any:
    """Rows in a table of this shape, each in its place."""
    found = rows.tocoo()
    return sparse.csr_array((found.data, (places[found.row], found.col)), shape=shape)
