"""The linear system of a policy, and its direct solution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from gim.planning.sweeps import pairs_of
from gim.planning.types import Dynamics, Floats

DENSE_SOLVE = 300  # up to this many states a dense solve beats a sparse one
FILL = 2e7  # entries of a band that a factorisation may fill, some 500 MB at the worst
WORK = 1e10  # multiplications that it may take, some 10 s at the worst


def flat(mdp: Dynamics) -> Any:
    """Transitions with one row for each pair, [S*A, S], dense or sparse."""
    P = mdp.transitions
    return P if sparse.issparse(P) else P.reshape(mdp.S * mdp.A, mdp.S)


def entries_of(mdp: Dynamics) -> int:
    """How many probabilities the transitions hold."""
    P = mdp.transitions
    return int(P.nnz if sparse.issparse(P) else P.size)


def under(mdp: Dynamics, pi: Any) -> tuple[Any, Floats]:
    """Transitions [S, S] and rewards [S] under one step of a policy, int [S] or float [S, A]."""
    S, A, P = mdp.S, mdp.A, flat(mdp)
    if pi.ndim == 1:
        pairs = pairs_of(pi, A)
        return P[pairs], mdp.rewards.reshape(-1)[pairs]
    r = (pi * mdp.rewards).sum(axis=1)
    if sparse.issparse(P):
        parts = (pi.reshape(-1), np.arange(S * A), np.arange(0, S * A + 1, A))
        return sparse.csr_array(parts, shape=(S, S * A)) @ P, r
    return np.matmul(pi[:, None, :], mdp.transitions)[:, 0], r


def solve_linear(P: Any, r: Floats, discount: float) -> Floats:
    """Solve (I - discount P) v = r for P [S, S], dense or sparse.

    Raises:
        ArithmeticError: it has no solution, or none that could be found.
    """
    S = r.size
    try:
        if sparse.issparse(P) and S > DENSE_SOLVE and P.nnz < S * S / 10:
            system = (sparse.eye_array(S, format="csr") - discount * P).tocsc()
            # The diagonal is the largest of its row, so rows need no exchange, and what fills up
            # can be kept small as in a symmetric matrix: a third of the time and of the memory.
            v = splu(
                system,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            ).solve(r)
        else:
            dense = (P.toarray() if sparse.issparse(P) else P) * -discount
            dense.flat[:: S + 1] += 1
            v = np.linalg.solve(dense, r)
    except (np.linalg.LinAlgError, RuntimeError, MemoryError) as problem:
        raise ArithmeticError(f"the values of {S} states were not found: {problem}") from problem
    if not np.isfinite(v).all():
        raise ArithmeticError(f"the values of {S} states were not found: some are not finite")
    return v


def fits(P: Any) -> bool:
    """Whether a direct solution of I - discount P is within bounds of memory and time.

    With its states in the order of Cuthill and McKee, no entry beyond the first of a row is ever
    filled; a better order, which the solver looks for, fills less.
    """
    if not sparse.issparse(P) or P.shape[0] <= DENSE_SOLVE:
        return True
    order = reverse_cuthill_mckee(sparse.csr_matrix(P), symmetric_mode=False)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    row = np.repeat(place, np.diff(P.indptr))
    widest = np.zeros(order.size)
    np.maximum.at(widest, np.maximum(row, place[P.indices]), np.abs(row - place[P.indices]))
    return bool(widest.sum() <= FILL and (widest**2).sum() <= WORK)
