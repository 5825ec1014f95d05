"""Soft-impute (Mazumder, Hastie and Tibshirani, 2010): fill in, soft-threshold, repeat.

Minimises 1/2 sum w (M - X)^2 + threshold |X|_*, a convex problem. The iteration is proximal
gradient descent, so momentum speeds it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from gim._base.params import Within
from gim.model.completion.base import Fit, Floats, Ints, Method, ran_away
from gim.model.completion.least_squares import alternate
from gim.model.completion.spectral import (
    blocks,
    largest,
    momentum,
    relative,
    soft_threshold,
    transposed,
    until_settled,
    widest_gap,
)


@dataclass(frozen=True)
class SoftImpute(Method):
    """Nuclear-norm penalty: the rank follows from the threshold, singular values are shrunk.

    ``debias=True`` undoes the shrinkage: the rank is read off the widest gap of the singular
    values, and the factors of that rank are fitted again without a penalty.
    """

    by_matrix: ClassVar[bool] = True

    threshold: Annotated[
        float, Within(0, 1), "taken off the singular values, as a share of the largest one seen"
    ] = 0.15
    debias: Annotated[bool, None, "undo the shrinkage"] = False
    tolerance: Annotated[float, Within(0), "relative change at which to stop"] = 1e-5
    max_iterations: Annotated[int, Within(1), "of a matrix"] = 1000

    examples = ("debias=true",)

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Iterate each block of matrices until all have settled."""
        completed = np.zeros_like(matrices)
        rank = np.zeros(len(matrices), np.int64)
        most, converged = 0, True
        for block in blocks(matrices):
            M = matrices[block]
            threshold = self.threshold * largest(weights * M)
            state = (M, threshold, np.zeros_like(M), np.zeros_like(M), np.ones(len(M)))
            (_, _, X, _, _), iterations, settled = until_settled(
                lambda *state: impute(weights, *state), state, self.tolerance, self.max_iterations
            )
            values = np.linalg.svd(X, compute_uv=False)
            rank[block] = (values > 1e-6 * np.maximum(values[:, :1], 1e-300)).sum(axis=1)
            if self.debias:
                rank[block] = widest_gap(values)
                settled &= self._undo_shrinkage(M, weights, X, rank[block])
            completed[block] = X
            most, converged = max(most, iterations), converged and settled
        return Fit(completed, rank, most, converged)

    def _undo_shrinkage(self, M: Floats, weights: Floats, X: Floats, rank: Ints) -> bool:
        """Fit the factors again, from where soft-impute left them; X is overwritten."""
        converged = True
        for r in np.unique(rank[rank > 0]):
            which = np.flatnonzero(rank == r)
            _, values, Vt = np.linalg.svd(X[which], full_matrices=False)
            start = np.ascontiguousarray(Vt[:, :r] * np.sqrt(values[:, :r, None]))
            U, V, _, change = alternate(
                M, which, weights, start, 0.0, self.tolerance / 100, self.max_iterations, True
            )
            fitted = transposed(U) @ V
            settled = (change <= self.tolerance / 100) & ~ran_away(M[which], weights, fitted)
            X[which[settled]] = fitted[settled]  # the others stay shrunk
            converged &= bool(settled.all())
        return converged


def impute(
    weights: Floats, M: Floats, threshold: Floats, X: Floats, Y: Floats, age: Floats
) -> tuple[tuple[Floats, ...], Floats]:
    """Fill the gaps of M with Y (by their weight), soft-threshold, and look ahead."""
    step = 1 / weights.max()
    new, _ = soft_threshold(Y + step * weights * (M - Y), step * threshold)
    moved = new - X
    age, ahead = momentum(age, np.einsum("kij,kij->k", Y - new, moved) > 0)
    return (M, threshold, new, new + ahead * moved, age), relative(moved, new)
