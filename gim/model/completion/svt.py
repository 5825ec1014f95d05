"""Singular value thresholding (Cai, Candes and Shen, 2010).

Minimises tau |X|_* + 1/2 |X|_F^2 among the matrices that agree with what was seen: for large tau
nearly the smallest nuclear norm. X = shrink(Y, tau), then Y gains M - X where seen: an ascent of
the dual problem. Momentum, which the authors did not have, saves nine steps of ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from gim._base.params import Within
from gim.model.completion.base import Fit, Floats, Method
from gim.model.completion.spectral import (
    blocks,
    largest,
    momentum,
    relative,
    soft_threshold,
    until_settled,
)


@dataclass(frozen=True)
class SVT(Method):
    """Nearly the smallest nuclear norm that agrees with the data; no weighted form."""

    weighted: ClassVar[bool] = False
    recovers: ClassVar[float] = 0.1
    by_matrix: ClassVar[bool] = True

    tau: Annotated[float, Within(0), "threshold, in units of the largest singular value"] = 5.0
    tolerance: Annotated[float, Within(0), "relative misfit on the seen entries"] = 1e-4
    max_iterations: Annotated[int, Within(1), "of a matrix"] = 2000

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Climb the dual of each block of matrices until all agree with the data."""
        seen = (weights > 0).astype(float)
        completed = np.zeros_like(matrices)
        rank = np.zeros(len(matrices), np.int64)
        most, converged = 0, True
        for block in blocks(matrices):
            M = seen * matrices[block]
            tau = self.tau * largest(M) / seen.mean()
            # Until Y outgrows tau, X stays 0: those steps are taken at once.
            Y = np.ceil(tau / largest(M))[:, None, None] * M
            state = (M, tau, np.zeros_like(M), Y, Y, np.ones(len(M)))
            (_, _, X, _, _, _), iterations, settled = until_settled(
                lambda *state: climb(seen, *state), state, self.tolerance, self.max_iterations
            )
            completed[block] = X
            rank[block] = np.linalg.matrix_rank(X, rtol=1e-6)
            most, converged = max(most, iterations), converged and settled
        return Fit(completed, rank, most, converged)


def climb(
    seen: Floats, M: Floats, tau: Floats, X: Floats, Y: Floats, ahead: Floats, age: Floats
) -> tuple[tuple[Floats, ...], Floats]:
    """One step of the dual ascent; the change is the misfit on the seen entries."""
    X, _ = soft_threshold(ahead, tau)
    missed = seen * (M - X)
    new = ahead + missed
    age, beyond = momentum(age, np.einsum("kij,kij->k", missed, new - Y) < 0)
    return (M, tau, X, new, new + beyond * (new - Y), age), relative(missed, M)
