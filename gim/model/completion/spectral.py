"""What the methods that work on singular values share: one batch of matrices, one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.model.completion.base import Floats, Ints

BLOCK = 2**22  # entries of the matrices that are worked on together: 32 MB an array
FLOOR = 0.05  # of the largest singular value: the differences below it say nothing


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


def transposed(matrices: Floats) -> Floats:
    """Transpose each matrix of a batch."""
    return matrices.swapaxes(-1, -2)


def relative(difference: Floats, matrices: Floats) -> Floats:
    """Frobenius norms of differences, over those of the matrices [n]; 0 for a matrix of zeros."""
    moved = np.einsum("kij,kij->k", difference, difference)
    return np.sqrt(moved / np.maximum(np.einsum("kij,kij->k", matrices, matrices), 1e-300))


def largest(matrices: Floats) -> Floats:
    """Largest singular values [n], never zero so that they can divide."""
    return np.maximum(np.linalg.norm(matrices, 2, axis=(1, 2)), 1e-300)


def soft_threshold(matrices: Floats, threshold: Floats) -> tuple[Floats, Floats]:
    """Lower every singular value by a threshold [n], to 0 at the least (Cai, Candes, Shen, 2010).

    Through the eigenvalues of the smaller Gram matrix, twice as fast as singular values; what
    that loses is below 1e-8 of the largest singular value.

    Returns:
        The matrices, and their singular values [n, min(S, A)], descending.
    """
    if matrices.shape[1] < matrices.shape[2]:
        low, values = soft_threshold(transposed(matrices), threshold)
        return transposed(low), values
    squares, V = np.linalg.eigh(transposed(matrices) @ matrices)
    values = np.sqrt(np.maximum(squares, 0))
    lowered = np.maximum(values - threshold[:, None], 0)
    kept = np.divide(lowered, values, out=np.zeros_like(values), where=lowered > 0)
    return matrices @ (V * kept[:, None, :]) @ transposed(V), lowered[:, ::-1]


def widest_gap(values: Floats) -> Ints:
    """Read the rank off descending singular values [n, q]: where they fall by the largest factor.

    What is far below the largest counts as one floor; a matrix of zeros has rank 0.
    """
    padded = np.pad(values, ((0, 0), (0, 1))) + FLOOR * np.maximum(values[:, :1], 1e-300)
    rank = np.argmax(padded[:, :-1] / padded[:, 1:], axis=1) + 1
    return np.where(values[:, 0] > 0, rank, 0)


def momentum(age: Floats, uphill: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Nesterov's momentum, with the restarts of O'Donoghue and Candes (2015).

    Args:
        age: grows with the steps since the last restart [n]; 1 at first.
        uphill: the last step went against the gradient: restart [n].

    Returns:
        The next age [n], and how far to go beyond the last step [n, 1, 1].
    """
    following = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * age**2)) / 2)
    return following, np.where(uphill, 0.0, (age - 1) / following)[:, None, None]


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
