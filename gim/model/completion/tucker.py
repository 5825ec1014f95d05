"""Tucker decomposition (Tucker, 1966): few kinds of states, of actions and of next states.

M[k,s,a] ~ sum core[q,i,j] B[k,q] X[s,i] Y[a,j]: low multilinear rank in all three modes. What is
seen of a pair is seen in all K matrices, so the mode of next states has no gaps: its basis B is
found once, and the weighted fit goes on in the [q, S, A] coefficients, which are few. X, Y and the
core then are least-squares problems in turn (Kroonenberg and de Leeuw, 1980, with weights).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from gim._base.params import Within
from gim.model.completion.base import Fit, Floats, Ints, Method, transposed, unit_scale
from gim.model.completion.least_squares import lowered, solve_each
from gim.model.completion.rank import MAX_ITERATIONS, TOLERANCE, best_rank, split

ROUGH_RIDGE = 0.3  # of the fit that estimates the rank of the states


@dataclass(frozen=True)
class Tucker(Method):
    """Low multilinear rank, weighted, by alternating least squares.

    Ranks that are not given are estimated from entries held out: first that of the states, with
    the actions left free, then that of the actions. The strongest method here where all matrices
    come from shared factors. Matrices with entries beyond 1 are scaled to 1 for the fit.
    """

    states: Annotated[int | None, Within(1), "rank of the states; none: estimated"] = None
    actions: Annotated[int | None, Within(1), "rank of the actions; none: estimated"] = None
    next_states: Annotated[int, Within(1), "rank of the next states, at most"] = 20
    ridge: Annotated[float, Within(0), "penalty on the squared factors"] = 0.01
    max_rank: Annotated[int, Within(1), "the largest rank an estimate may give"] = 20
    tolerance: Annotated[float, Within(0), "relative change at which to stop"] = 1e-4
    max_iterations: Annotated[int, Within(1), "of the fit"] = 500

    examples = ("ridge=1e-6",)

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Compress the next states, find the ranks, fit."""
        S, A = weights.shape
        scale = unit_scale(matrices, weights)
        basis = leading_basis(matrices / scale, weights, self.next_states, rng)
        N = np.tensordot((basis / scale[:, 0]).T, matrices, axes=1)  # [q, S, A]
        states = min(self.states or S, S, A * len(N))
        if self.states is None:
            states = state_rank(N, weights, self.max_rank, ROUGH_RIDGE, rng)
        actions = min(self.actions or A, A, S * len(N))
        if self.actions is None:
            actions = action_rank(N, weights, states, self.max_rank, self.ridge, rng)
        fitted = bilinear(
            N, weights, states, actions, self.ridge, self.tolerance, self.max_iterations, rng
        )
        completed = np.tensordot(basis * scale[:, 0], fitted.matrices, axes=1)
        settled = fitted.change <= self.tolerance
        return Fit(completed, min(states, actions), fitted.iterations, settled)


class Bilinear(NamedTuple):
    """A fit with shared factors, and how it ended."""

    matrices: Floats  # [q, S, A]
    iterations: int
    change: float


def bilinear(
    N: Floats,
    weights: Floats,
    states: int,
    actions: int,
    ridge: float,
    tolerance: float,
    max_iterations: int,
    rng: np.random.Generator,
) -> Bilinear:
    """Fit N[q] ~ X core[q] Y' with X and Y shared by all; the ridge falls as in `alternate`."""
    data = weights * N
    size = float(np.linalg.norm(data))
    Y = np.linalg.qr(rng.standard_normal((N.shape[2], actions)))[0]
    core = rng.standard_normal((len(N), states, actions))
    fitted = np.zeros_like(N)
    penalty, change, iteration = size, np.inf, 0
    for iteration in range(1, max_iterations + 1):  # noqa: B007
        penalty = lowered(penalty, ridge, tolerance * size)
        X = _factor(data, weights, core @ Y.T, penalty)
        Y = _factor(transposed(data), weights.T, transposed(X @ core), penalty)
        core = _core(data, weights, X, Y, penalty)
        before, fitted = fitted, X @ core @ Y.T
        change = float(np.linalg.norm(fitted - before) / (np.linalg.norm(fitted) + 1e-300))
        if penalty == ridge and change <= tolerance:
            break
    return Bilinear(fitted, iteration, change)


def _factor(data: Floats, weights: Floats, other: Floats, ridge: float) -> Floats:
    """Solve for orthonormal X [S, i], where data[q] ~ weights * (X other[q]), other [q, i, A]."""
    S, A = weights.shape
    B = other.transpose(2, 1, 0)  # [A, i, q]
    rank = B.shape[1]
    normal = (weights @ (B @ transposed(B)).reshape(A, -1)).reshape(S, rank, rank)
    right = (data @ transposed(other)).sum(axis=0)
    return np.linalg.qr(solve_each(normal, right[:, :, None], ridge)[:, :, 0])[0]


def _core(data: Floats, weights: Floats, X: Floats, Y: Floats, ridge: float) -> Floats:
    """Solve for the core [q, i, j] with X and Y fixed."""
    (S, i), (A, j) = X.shape, Y.shape
    XX = (X[:, :, None] * X[:, None, :]).reshape(S, -1)
    YY = (Y[:, :, None] * Y[:, None, :]).reshape(A, -1)
    normal = (XX.T @ (weights @ YY)).reshape(i, i, j, j).transpose(0, 2, 1, 3)
    right = (X.T @ data @ Y).reshape(len(data), i * j).T
    return solve_each(normal.reshape(1, i * j, i * j), right[None], ridge)[0].T.reshape(-1, i, j)


def action_rank(
    N: Floats,
    weights: Floats,
    states: int,
    max_rank: int,
    ridge: float,
    rng: np.random.Generator,
) -> int:
    """Estimate the rank of the actions, given that of the states, from entries held out."""
    train, s, a, weight = split(weights, rng)
    held = N[:, s, a]

    def error(rank: int, which: Ints) -> Floats:
        fitted = bilinear(N, train, states, rank, ridge, TOLERANCE, MAX_ITERATIONS, rng)
        return np.array([(weight * (held - fitted.matrices[:, s, a]) ** 2).sum()])

    size = np.array([(weights * N**2).sum()])
    return int(best_rank(error, size, min(max_rank, weights.shape[1]))[0])


def leading_basis(matrices: Floats, weights: Floats, q: int, rng: np.random.Generator) -> Floats:
    """The q combinations of the K matrices that hold most of what was seen, orthonormal [K, q].

    By subspace iteration with some room to spare (Halko, Martinsson and Tropp, 2011): the [K, K]
    second moment of a large model would cost more than its completion.
    """
    K = len(matrices)
    if q >= K:
        return np.eye(K)
    flat, weight = matrices.reshape(K, -1), weights.reshape(-1, 1)
    Q = np.linalg.qr(rng.standard_normal((K, min(K, q + 10))))[0]
    for _ in range(6):
        Q = np.linalg.svd(flat @ (weight * (flat.T @ Q)), full_matrices=False).U
    return Q[:, :q]


def free_actions(
    matrices: Floats, weights: Floats, rank: int, ridge: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Fit M[k,s,a] ~ U[s] . V[a,:,k], U [S, rank]; the ridge falls as in `alternate`."""
    S, A = weights.shape
    data = np.ascontiguousarray((weights * matrices).transpose(2, 1, 0))  # [A, S, K]
    size = float(np.sqrt(np.vdot(data, data)))
    U, penalty, V = rng.standard_normal((S, rank)), size, np.zeros((A, rank, len(matrices)))
    for _ in range(MAX_ITERATIONS):
        penalty = lowered(penalty, ridge, TOLERANCE * size)
        UU = (U[:, :, None] * U[:, None, :]).reshape(S, -1)
        V = solve_each((weights.T @ UU).reshape(A, rank, rank), U.T @ data, penalty)
        VV = (V @ transposed(V)).reshape(A, -1)
        right = (data @ transposed(V)).sum(axis=0)
        new = solve_each((weights @ VV).reshape(S, rank, rank), right[:, :, None], penalty)[:, :, 0]
        change, U = float(np.linalg.norm(new - U)), new
        length = np.sqrt(np.linalg.norm(new) ** 2 + 0.01 * size)
        if penalty == ridge and change <= TOLERANCE * length:
            break
    return U, V


def state_rank(
    N: Floats, weights: Floats, max_rank: int, ridge: float, rng: np.random.Generator
) -> int:
    """Estimate the rank of the states, with the actions left free, from entries held out."""
    train, s, a, weight = split(weights, rng)
    held = N[:, s, a]

    def error(rank: int, which: Ints) -> Floats:
        U, V = free_actions(N, train, rank, ridge, rng)
        predicted = np.einsum("nr,nrk->kn", U[s], V[a])
        return np.array([(weight * (held - predicted) ** 2).sum()])

    size = np.array([(weights * N**2).sum()])
    return int(best_rank(error, size, min(max_rank, *weights.shape))[0])
