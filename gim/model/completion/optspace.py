"""OptSpace (Keshavan, Montanari and Oh, 2010): trim, start from the spectrum, descend.

1. Trim: rows and columns with more than twice the average number of seen entries are left out of
   the start, for they would dominate its singular vectors.
2. Start: the leading singular vectors X [S, r], Y [A, r] of the trimmed matrix, zero where unseen.
3. Descend: minimise F(X, Y) = min_C 1/2 sum w (M - X C Y')^2 over pairs of subspaces, by steps
   along geodesics of the Grassmann manifold with a backtracking line search.

Two choices of ours: the gradient is scaled by (C C')^-1, so that the number of steps depends
little on the condition number (Mishra, Apuroop and Sepulchre, 2012), and the first length tried is
the best one of the linearised problem. The penalty that keeps the iterates incoherent in their
analysis is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from gim.model.completion.base import Fit, Floats, Method
from gim.model.completion.rank import held_out_rank
from gim.model.completion.spectral import blocks, transposed, until_settled
from gim.params import Within

HALVINGS = 30  # of the step length before a step is given up
EXACT = 1e-9  # a misfit below this share of the data counts as none
SLOPE = 1e-4  # share of the linear decrease that a step must bring (Armijo)


@dataclass(frozen=True)
class OptSpace(Method, name="optspace"):
    """Fixed rank by descent on the Grassmann manifold; no shrinkage."""

    rank: Annotated[int | None, Within(1), "of every matrix; none: estimated, one by one"] = None
    ridge: Annotated[float, Within(0), "penalty on the core, per unit of weight"] = 0.03
    max_rank: Annotated[int, Within(1), "the largest rank an estimate may give"] = 10
    tolerance: Annotated[float, Within(0), "root of the relative decrease at which to stop"] = 1e-4
    max_iterations: Annotated[int, Within(1), "steps of descent"] = 1000

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Descend from the spectral start, matrices of one rank together."""
        K, S, A = matrices.shape
        if self.rank is None:
            rank = held_out_rank(matrices, weights, self.max_rank, 0.0, rng)
        else:
            rank = np.full(K, min(self.rank, S, A))
        completed = np.zeros_like(matrices)
        most, converged = 0, True
        for r in np.unique(rank[rank > 0]):
            which = np.flatnonzero(rank == r)
            for block in blocks(matrices[which]):
                M = matrices[which[block]]
                X, Y = spectral_start(M, weights > 0, r)
                state = (M, X, Y, *core(M, weights, self.ridge, X, Y))
                state, iterations, settled = until_settled(
                    lambda *state: descend(weights, self.ridge, *state),
                    state,
                    self.tolerance,
                    self.max_iterations,
                )
                _, X, Y, C, _ = state
                completed[which[block]] = X @ C @ transposed(Y)
                most, converged = max(most, iterations), converged and settled
        return Fit(completed, rank, most, converged)


def spectral_start(M: Floats, seen: Floats, r: int) -> tuple[Floats, Floats]:
    """Leading singular vectors X [n, S, r], Y [n, A, r] of the trimmed matrices."""
    U, _, V = np.linalg.svd(M * trimmed(seen), full_matrices=False)
    return U[:, :, :r], transposed(V)[:, :, :r]


def trimmed(seen: Floats) -> Floats:
    """Drop rows and columns with more than twice their share of the seen entries [S, A]."""
    S, A = seen.shape
    row, column = seen.sum(axis=1), seen.sum(axis=0)
    kept = seen & (row <= 2 * row.sum() / S)[:, None] & (column <= 2 * column.sum() / A)
    return kept if kept.any() else seen


def core(M: Floats, weights: Floats, ridge: float, X: Floats, Y: Floats) -> tuple[Floats, Floats]:
    """Solve for C [n, r, r] with X and Y fixed; return it and F [n]."""
    n, _, r = X.shape
    XX, YY = _outer(X), _outer(Y)
    normal = (transposed(XX) @ (weights @ YY)).reshape(n, r, r, r, r)
    normal = normal.transpose(0, 1, 3, 2, 4).reshape(n, r * r, r * r)
    # Singular where too little was seen; a trace of a ridge picks the smallest solution.
    trace = np.trace(normal, axis1=1, axis2=2)[:, None, None]
    normal += (ridge + 1e-13 * trace + 1e-300) * np.eye(r * r)
    right = (transposed(X) @ (weights * M) @ Y).reshape(n, r * r, 1)
    C = np.linalg.solve(normal, right).reshape(n, r, r)
    missed = (weights * (X @ C @ transposed(Y) - M) ** 2).sum(axis=(1, 2))
    return C, 0.5 * missed + 0.5 * ridge * (C**2).sum(axis=(1, 2))


def descend(
    weights: Floats, ridge: float, M: Floats, X: Floats, Y: Floats, C: Floats, F: Floats
) -> tuple[tuple[Floats, ...], Floats]:
    """One step of each matrix down its gradient; the change is the root of the decrease of F."""
    D = X @ C @ transposed(Y) - M
    grad_X = _tangent(X, (weights * D) @ Y @ transposed(C))
    grad_Y = _tangent(Y, transposed(weights * D) @ X @ C)
    along_X = -grad_X @ _inverse(C @ transposed(C))
    along_Y = -grad_Y @ _inverse(transposed(C) @ C)
    slope = (grad_X * along_X).sum(axis=(1, 2)) + (grad_Y * along_Y).sum(axis=(1, 2))
    linear = along_X @ C @ transposed(Y) + X @ C @ transposed(along_Y)
    length = -slope / np.maximum((weights * linear**2).sum(axis=(1, 2)), 1e-300)
    path_X, path_Y = geodesic(X, along_X), geodesic(Y, along_Y)
    for _ in range(HALVINGS):
        new_X, new_Y = path_X.at(length), path_Y.at(length)
        new_C, new_F = core(M, weights, ridge, new_X, new_Y)
        # The last term forgives rounding, near the bottom.
        high = new_F > F + SLOPE * length * slope + 1e-14 * F
        if not high.any():
            break
        length = np.where(high, length / 2, length)
    exact = new_F <= EXACT**2 * (weights * M**2).sum(axis=(1, 2))
    decrease = np.where(exact, 0.0, (F - new_F) / np.maximum(F, 1e-300))
    return (M, new_X, new_Y, new_C, new_F), np.sqrt(np.maximum(decrease, 0))


class Geodesic(NamedTuple):
    """A path on the Grassmann manifold: X V cos(angles t) V' + U sin(angles t) V'."""

    start: Floats  # X V [n, S, r]
    U: Floats  # [n, S, r]
    angles: Floats  # [n, r]
    Vt: Floats  # [n, r, r]

    def at(self, length: Floats) -> Floats:
        """The points at these lengths [n]."""
        angles = (self.angles * length[:, None])[:, None, :]
        return (self.start * np.cos(angles) + self.U * np.sin(angles)) @ self.Vt


def geodesic(X: Floats, along: Floats) -> Geodesic:
    """The geodesic from X in a tangent direction (Edelman, Arias and Smith, 1998)."""
    U, angles, Vt = np.linalg.svd(along, full_matrices=False)
    return Geodesic(X @ transposed(Vt), U, angles, Vt)


def _outer(X: Floats) -> Floats:
    return (X[:, :, :, None] * X[:, :, None, :]).reshape(*X.shape[:2], -1)


def _tangent(X: Floats, gradient: Floats) -> Floats:
    return gradient - X @ (transposed(X) @ gradient)


def _inverse(square: Floats) -> Floats:
    r = square.shape[1]
    trace = np.trace(square, axis1=1, axis2=2)[:, None, None]
    return np.linalg.inv(square + (1e-9 * trace + 1e-300) * np.eye(r))
