"""OptSpace (Keshavan, Montanari and Oh, 2010): trim, start from the spectrum, descend.

1. Trim: rows and columns with more than twice the average number of seen entries are left out of
   the start, for they would dominate its singular vectors.
2. Start: the leading singular vectors X [S, r], Y [A, r] of the trimmed matrix, zero where unseen.
3. Descend: minimise F(X, Y) = min_C 1/2 sum w (M - X C Y')^2 over pairs of subspaces, by steps
   along geodesics of the Grassmann manifold with a backtracking line search.

Choices of ours: the gradient is scaled by (C C')^-1, so that the number of steps depends little on
the condition number (Mishra, Apuroop and Sepulchre, 2012); the first length tried is the best one
of the linearised problem; and a ridge on C (Keshavan and Montanari, 2010) takes the place of the
penalty that keeps the iterates incoherent in the first analysis. Without either, noise drives the
subspaces to single rows, and the descent does not end. The ridge is scaled by the share of the
data that the fit leaves unexplained, so it vanishes where the data are exactly of low rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim.model.completion.base import Fit, Floats, Method, transposed
from gim.model.completion.least_squares import solve_each
from gim.model.completion.rank import held_out_rank

Bools = NDArray[np.bool_]

HALVINGS = 30  # of the step length before a step is given up
EXACT = 1e-9  # a misfit below this share of the data counts as none
SLOPE = 1e-4  # share of the linear decrease that a step must bring (Armijo)
BLOCK = 2**22  # entries of the matrices that are worked on together: 32 MB an array


@dataclass(frozen=True)
class OptSpace(Method, name="optspace"):
    """Fixed rank by descent on the Grassmann manifold."""

    by_matrix: ClassVar[bool] = True

    rank: Annotated[int | None, Within(1), "of every matrix; none: estimated, one by one"] = None
    ridge: Annotated[float, Within(0), "penalty on the core, times the share unexplained"] = 0.2
    max_rank: Annotated[int, Within(1), "the largest rank an estimate may give"] = 10
    tolerance: Annotated[float, Within(0), "root of the relative decrease at which to stop"] = 1e-4
    max_iterations: Annotated[int, Within(1), "steps of descent"] = 2000

    examples = ("", "rank=2")

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Descend from the spectral start, matrices of one rank together."""
        K, S, A = matrices.shape
        if self.rank is None:
            rank = held_out_rank(matrices, weights, self.max_rank, 0.0, rng)
        else:
            rank = np.full(K, min(self.rank, S, A))
        completed = np.zeros_like(matrices)
        most, converged = 0, True
        for r in np.unique(rank):
            which = np.flatnonzero(rank == r)
            for block in blocks(matrices[which]):
                M = matrices[which[block]]
                X, Y = spectral_start(M, weights > 0, r)
                (_, X, Y, share), iterations, settled = until_settled(
                    lambda *state: descend(weights, self.ridge, *state),
                    (M, X, Y, np.ones(len(M))),
                    self.tolerance,
                    self.max_iterations,
                )
                C, _ = core(M, weights, self.ridge * share, X, Y)
                completed[which[block]] = X @ C @ transposed(Y)
                most, converged = max(most, iterations), converged and settled
        return Fit(completed, rank, most, converged)


def blocks(matrices: Floats) -> Iterator[slice]:
    """Cut the K matrices into runs whose intermediate results fit in memory."""
    K, S, A = matrices.shape
    length = max(1, BLOCK // (S * A))
    for k in range(0, K, length):
        yield slice(k, min(k + length, K))


def until_settled(
    step: Callable[..., tuple[tuple[Any, ...], Floats]],
    state: tuple[Any, ...],
    tolerance: float,
    max_iterations: int,
) -> tuple[list[Any], int, bool]:
    """Repeat a step on a batch; a matrix leaves the batch when its change is within tolerance.

    Args:
        step: takes the arrays of the state, returns the new ones and the change [n] of each matrix.
        state: arrays whose first axis is the matrix.
        tolerance: the change at which a matrix has settled.
        max_iterations: for the batch.

    Returns:
        The final state of all matrices, the iterations, and whether all of them settled.
    """
    final = [np.array(part) for part in state]
    alive = np.arange(len(final[0]))
    iterations = 0
    while len(alive) and iterations < max_iterations:
        iterations += 1
        state, change = step(*state)
        settled = change <= tolerance
        if settled.any():
            for whole, part in zip(final, state, strict=True):
                whole[alive[settled]] = part[settled]
            state = tuple(part[~settled] for part in state)
            alive = alive[~settled]
    for whole, part in zip(final, state, strict=True):
        whole[alive] = part
    return final, iterations, len(alive) == 0


def spectral_start(M: Floats, seen: Bools, r: int) -> tuple[Floats, Floats]:
    """Leading singular vectors X [n, S, r], Y [n, A, r] of the trimmed matrices."""
    U, _, V = np.linalg.svd(M * trimmed(seen), full_matrices=False)
    return U[:, :, :r], transposed(V)[:, :, :r]


def trimmed(seen: Bools) -> Bools:
    """Drop rows and columns with more than twice their share of the seen entries [S, A]."""
    S, A = seen.shape
    row, column = seen.sum(axis=1), seen.sum(axis=0)
    kept = seen & (row <= 2 * row.sum() / S)[:, None] & (column <= 2 * column.sum() / A)
    return kept if kept.any() else seen


def core(M: Floats, weights: Floats, ridge: Floats, X: Floats, Y: Floats) -> tuple[Floats, Floats]:
    """Solve for C [n, r, r] with X, Y and the ridge [n] fixed; return it and F [n]."""
    n, _, r = X.shape
    normal = (transposed(_outer(X)) @ (weights @ _outer(Y))).reshape(n, r, r, r, r)
    normal = normal.transpose(0, 1, 3, 2, 4).reshape(n, r * r, r * r)
    right = (transposed(X) @ (weights * M) @ Y).reshape(n, r * r, 1)
    C = solve_each(normal, right, ridge[:, None, None]).reshape(n, r, r)
    return C, 0.5 * _missed(M, weights, X @ C @ transposed(Y)) + 0.5 * ridge * _squares(C)


def descend(
    weights: Floats, ridge: float, M: Floats, X: Floats, Y: Floats, share: Floats
) -> tuple[tuple[Floats, ...], Floats]:
    """One step of each matrix down its gradient; the change is the root of the decrease of F.

    `share` is the part of the data that was left unexplained before [n].
    """
    penalty = ridge * share
    C, F = core(M, weights, penalty, X, Y)
    D = weights * (X @ C @ transposed(Y) - M)
    grad_X = _tangent(X, D @ Y @ transposed(C))
    grad_Y = _tangent(Y, transposed(D) @ X @ C)
    along_X = -grad_X @ _inverse(C @ transposed(C))
    along_Y = -grad_Y @ _inverse(transposed(C) @ C)
    slope = (grad_X * along_X).sum(axis=(1, 2)) + (grad_Y * along_Y).sum(axis=(1, 2))
    linear = along_X @ C @ transposed(Y) + X @ C @ transposed(along_Y)
    length = -slope / np.maximum((weights * linear**2).sum(axis=(1, 2)), 1e-300)
    path_X, path_Y = geodesic(X, along_X), geodesic(Y, along_Y)
    for _ in range(HALVINGS):
        X, Y = path_X.at(length), path_Y.at(length)
        C, lower = core(M, weights, penalty, X, Y)
        # The last term forgives rounding, near the bottom.
        high = lower > F + SLOPE * length * slope + 1e-14 * F
        if not high.any():
            break
        length = np.where(high, length / 2, length)
    share = _missed(M, weights, X @ C @ transposed(Y)) / np.maximum(_missed(M, weights, 0), 1e-300)
    decrease = np.where(share <= EXACT**2, 0.0, (F - lower) / np.maximum(F, 1e-300))
    return (M, X, Y, share), np.sqrt(np.maximum(decrease, 0))


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


def _squares(matrices: Floats) -> Floats:
    return np.einsum("kij,kij->k", matrices, matrices)


def _missed(M: Floats, weights: Floats, completed: Floats | float) -> Floats:
    return _squares(np.sqrt(weights) * (M - completed))


def _tangent(X: Floats, gradient: Floats) -> Floats:
    return gradient - X @ (transposed(X) @ gradient)


def _inverse(square: Floats) -> Floats:
    r = square.shape[1]
    trace = np.trace(square, axis1=1, axis2=2)[:, None, None]
    return np.linalg.inv(square + (1e-9 * trace + 1e-300) * np.eye(r))
