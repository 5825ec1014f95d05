"""One low-rank fit to all matrices at once: they share a factor.

State-mode unfolding lays the K matrices side by side, S rows by A*K columns, and asks that this
wide matrix has low rank: p(k|s,a) = sum_i U[s,i] V[a,i,k], so that every state is a mixture of a
few kinds of state. Action-mode unfolding does the same for actions. What is seen of (s, a) is seen
in all matrices at once, so the normal matrices of one action serve all K right-hand sides.

The third unfolding, pairs by next states, cannot infer anything: an unseen pair is a missing row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from gim._base.params import OneOf, Within
from gim.model.completion.base import Fit, Floats, Ints, Method, unit_scale
from gim.model.completion.least_squares import lowered, solve_each
from gim.model.completion.rank import MAX_ITERATIONS, TOLERANCE, best_rank, split
from gim.model.completion.spectral import leading_basis, transposed

BASIS = 20  # the rank is estimated on this many combinations of the matrices


@dataclass(frozen=True)
class Unfolding(Method):
    """Low rank of the unfolded matrices by alternating least squares with a ridge.

    Matrices with entries beyond 1 are scaled to 1 for the fit, lest rewards drown probabilities.
    """

    mode: Annotated[str, OneOf("state", "action"), "what shares the factor"] = "state"
    rank: Annotated[int | None, Within(1), "of the unfolding; none: estimated"] = None
    ridge: Annotated[float, Within(0), "penalty on the squared factors"] = 0.3
    max_rank: Annotated[int, Within(1), "the largest rank an estimate may give"] = 20
    tolerance: Annotated[float, Within(0), "relative change at which to stop"] = 1e-4
    max_iterations: Annotated[int, Within(1), "of the fit"] = 500

    examples = ("ridge=1e-6", "mode=action,ridge=1e-6")

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Fit the unfolding; in action mode, that of the transposed matrices."""
        scale = unit_scale(matrices, weights)
        M, W = matrices / scale, weights
        if self.mode == "action":
            M, W = np.ascontiguousarray(transposed(M)), np.ascontiguousarray(W.T)
        rank = min(self.rank or W.shape[0], *W.shape)
        if self.rank is None:
            basis = leading_basis(M, W, BASIS, rng)
            N = np.tensordot(basis.T, M, axes=1)
            rank = unfolding_rank(N, W, self.max_rank, self.ridge, rng)
        shared = share(M, W, rank, self.ridge, self.tolerance, self.max_iterations, rng)
        completed = (shared.U @ shared.V).transpose(2, 1, 0)
        if self.mode == "action":
            completed = transposed(completed)
        settled = shared.change <= self.tolerance
        return Fit(np.ascontiguousarray(completed) * scale, rank, shared.iterations, settled)


class Shared(NamedTuple):
    """Factors of an unfolding, and how the fit ended."""

    U: Floats  # [S, rank]
    V: Floats  # [A, rank, K]
    iterations: int
    change: float


def share(
    matrices: Floats,
    weights: Floats,
    rank: int,
    ridge: float,
    tolerance: float,
    max_iterations: int,
    rng: np.random.Generator,
) -> Shared:
    """Fit M[k,s,a] ~ U[s] . V[a,:,k]; the ridge falls to the one asked for, as in `alternate`."""
    S, A = weights.shape
    data = np.ascontiguousarray((weights * matrices).transpose(2, 1, 0))  # [A, S, K]
    size = float(np.sqrt(np.vdot(data, data)))
    U = rng.standard_normal((S, rank))
    penalty, change, iteration = size, np.inf, 0
    for iteration in range(1, max_iterations + 1):  # noqa: B007
        penalty = lowered(penalty, ridge, tolerance * size)
        UU = (U[:, :, None] * U[:, None, :]).reshape(S, -1)
        V = solve_each((weights.T @ UU).reshape(A, rank, rank), U.T @ data, penalty)
        VV = (V @ transposed(V)).reshape(A, -1)
        right = (data @ transposed(V)).sum(axis=0)
        new = solve_each((weights @ VV).reshape(S, rank, rank), right[:, :, None], penalty)[:, :, 0]
        length = np.sqrt(np.linalg.norm(new) ** 2 + 0.01 * size)
        change = np.linalg.norm(new - U) / length if length > 0 else 0.0  # 0: nothing is known
        U = new
        if penalty == ridge and change <= tolerance:
            break
    return Shared(U, V, iteration, float(change))


def unfolding_rank(
    matrices: Floats, weights: Floats, max_rank: int, ridge: float, rng: np.random.Generator
) -> int:
    """Estimate the rank of the state-mode unfolding from entries held out."""
    train, s, a, weight = split(weights, rng)
    held = matrices[:, s, a]

    def error(rank: int, which: Ints) -> Floats:
        shared = share(matrices, train, rank, ridge, TOLERANCE, MAX_ITERATIONS, rng)
        predicted = np.einsum("nr,nrk->kn", shared.U[s], shared.V[a])
        return np.array([(weight * (held - predicted) ** 2).sum()])

    size = np.array([(weights * matrices**2).sum()])
    return int(best_rank(error, size, min(max_rank, *weights.shape))[0])
