"""The kernel under alternating least squares: many ridge regressions with one set of weights.

With V fixed, row s of U solves (sum_a w[s,a] v_a v_a' + ridge I) u_s = sum_a w[s,a] M[s,a] v_a.
Two things make it fast. The normal matrices of all rows are one product: the rank*(rank+1)/2
products v_i*v_j, [T, A], times the weights [A, S]. And the small systems lie side by side in
memory, so that one Cholesky factorisation, written over whole rows of numbers, solves them all.
Each matrix is taken through all its iterations before the next: it stays in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gim._compile.jit import entry, hot
from gim.model.completion.base import Floats

DECAY = 0.7  # of the ridge from one iteration to the next, down to the one asked for
SINGULAR = 1e-13  # a pivot this small, relative to its diagonal, has no data behind it


@entry
def alternate(
    matrices: Any,
    which: Any,
    weights: Any,
    V: Any,
    ridge: float,
    tolerance: float,
    max_iterations: int,
    warm: bool = False,
) -> Any:
    """Fit M ~ U'V by ridge-regularised alternating least squares, matrix by matrix.

    The ridge starts at the size of the matrix and falls to the one asked for: the large singular
    values settle first, and starts that would run away without a ridge do not.

    Args:
        matrices: the data [K, S, A].
        which: the matrices to fit, indices [n].
        weights: [S, A], 0 where not seen.
        V: the start [n, rank, A]; overwritten.
        ridge: the penalty on |U|^2 + |V|^2.
        tolerance: relative change of V at which an iteration is the last.
        max_iterations: of one matrix.
        warm: V is a good start: begin with the ridge asked for.

    Returns:
        U [n, rank, S], V, iterations [n], the last relative change [n].
    """
    S, A = weights.shape
    n, rank = V.shape[:2]
    terms = rank * (rank + 1) // 2
    by_action = np.ascontiguousarray(weights.T)
    U = np.zeros((n, rank, S))
    iterations = np.zeros(n, np.int64)
    change = np.zeros(n)
    weighted, before = np.empty((S, A)), np.empty((rank, A))
    gram_s, products_s = np.empty((terms, S)), np.empty((terms, S))
    gram_a, products_a = np.empty((terms, A)), np.empty((terms, A))
    floor = np.empty(max(S, A))
    for i in range(n):
        u, v = U[i], V[i]
        size = _weigh(matrices[which[i]], weights, weighted)
        penalty = ridge if warm else size
        for iteration in range(max_iterations):
            penalty = lowered(penalty, ridge, tolerance * size)
            before[:] = v
            _products(v, products_a)
            np.dot(products_a, by_action, gram_s)
            np.dot(v, weighted.T, u)
            solve(gram_s, u, penalty, floor)
            _products(u, products_s)
            np.dot(products_s, weights, gram_a)
            np.dot(u, weighted, v)
            solve(gram_a, v, penalty, floor)
            iterations[i] = iteration + 1
            change[i] = _change(v, before, size)
            if penalty == ridge and change[i] <= tolerance:
                break
    return U, V, iterations, change


@hot
def lowered(penalty: float, ridge: float, accuracy: float) -> float:
    """Lower the penalty by one step towards the ridge, or to it when it no longer matters."""
    penalty *= DECAY
    return penalty if penalty >= max(ridge, 1e-5 * accuracy) else ridge


@hot
def solve(gram: Any, b: Any, ridge: float, floor: Any) -> None:
    """Solve (gram + ridge I) x = b for many small systems at once, in place.

    Args:
        gram: lower triangles, row by row [rank*(rank+1)/2, n]; overwritten by their factors.
        b: right-hand sides [rank, n]; overwritten by the solutions.
        ridge: added to every diagonal.
        floor: room for n numbers.
    """
    rank, n = b.shape
    for i in range(rank):
        row = i * (i + 1) // 2
        for j in range(i):
            above = j * (j + 1) // 2
            for k in range(j):
                for x in range(n):
                    gram[row + j, x] -= gram[row + k, x] * gram[above + k, x]
            for x in range(n):
                gram[row + j, x] *= gram[above + j, x]
        for x in range(n):
            gram[row + i, x] += ridge
            floor[x] = SINGULAR * gram[row + i, x]
        for k in range(i):
            for x in range(n):
                gram[row + i, x] -= gram[row + k, x] * gram[row + k, x]
                b[i, x] -= gram[row + k, x] * b[k, x]
        for x in range(n):
            pivot = gram[row + i, x]
            gram[row + i, x] = 1 / np.sqrt(pivot) if pivot > floor[x] else 0.0
            b[i, x] *= gram[row + i, x]
    for i in range(rank - 1, -1, -1):
        for k in range(i + 1, rank):
            for x in range(n):
                b[i, x] -= gram[k * (k + 1) // 2 + i, x] * b[k, x]
        for x in range(n):
            b[i, x] *= gram[i * (i + 1) // 2 + i, x]


@hot
def _weigh(matrix: Any, weights: Any, weighted: Any) -> float:
    """Fill `weighted` with weights * matrix and return its Frobenius norm."""
    total = 0.0
    for s in range(weights.shape[0]):
        for a in range(weights.shape[1]):
            weighted[s, a] = weights[s, a] * matrix[s, a]
            total += weighted[s, a] ** 2
    return np.sqrt(total)


@hot
def _products(v: Any, products: Any) -> None:
    term = 0
    for i in range(v.shape[0]):
        for j in range(i + 1):
            for x in range(v.shape[1]):
                products[term, x] = v[i, x] * v[j, x]
            term += 1


@hot
def _change(v: Any, before: Any, size: float) -> float:
    """How far v moved, relative to its length, or to a hundredth of the data where v vanishes."""
    moved, length = 0.0, 0.01 * size
    for i in range(v.shape[0]):
        for x in range(v.shape[1]):
            moved += (v[i, x] - before[i, x]) ** 2
            length += v[i, x] ** 2
    return np.sqrt(moved / length) if length > 0 else 0.0


def solve_each(normal: Floats, right: Floats, ridge: float | Floats) -> Floats:
    """Solve (normal + ridge I) x = right for a few systems [n, rank, rank], [n, rank, columns].

    The ridge is one number, or one for each system [n, 1, 1]. A system with no data behind it
    gets 0.
    """
    trace = np.trace(normal, axis1=1, axis2=2)[:, None, None]
    diagonal = (ridge + 1e-14 * trace + 1e-300) * np.eye(normal.shape[-1])
    return np.linalg.solve(normal + diagonal, right)
