"""Alternating least squares: the method of the published code, and the default here.

Minimises sum w (M - U'V)^2 + ridge (|U|^2 + |V|^2), the maximum a posteriori estimate of
probabilistic matrix factorisation (Salakhutdinov and Mnih, 2007), by solving for U and for V in
turn (Zhou, Wilkinson, Schreiber and Pan, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from gim._base.params import Within
from gim.model.completion.base import Fit, Floats, Ints, Method
from gim.model.completion.least_squares import alternate
from gim.model.completion.rank import held_out_rank


@dataclass(frozen=True)
class ALS(Method):
    """Low rank for each matrix by alternating least squares with a ridge.

    The published code is ``ALS(rank=10, ridge=0.03)``; ``ridge=0`` recovers an exactly low-rank
    matrix. A ridge shrinks singular values by about its own size. For transition matrices from m
    visits a pair the noise has singular values of about 2/sqrt(m) whatever S is, so 0.1 suits m
    of 20 to 200 visits; bring rewards to the unit range before.
    """

    by_matrix: ClassVar[bool] = True

    rank: Annotated[int | None, Within(1), "of every matrix; none: estimated, one by one"] = None
    ridge: Annotated[float, Within(0), "penalty on the squared factors"] = 0.1
    max_rank: Annotated[int, Within(1), "the largest rank an estimate may give"] = 10
    tolerance: Annotated[float, Within(0), "relative change at which to stop"] = 1e-4
    max_iterations: Annotated[int, Within(1), "of one matrix"] = 2000

    examples = ("ridge=0", "rank=2,ridge=1e-8")

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Fit every matrix with its rank."""
        K, S, A = matrices.shape
        if self.rank is None:
            rank = held_out_rank(matrices, weights, self.max_rank, self.ridge, rng)
        else:
            rank = np.full(K, min(self.rank, S, A))
        return factorised(
            matrices, weights, rank, self.ridge, self.tolerance, self.max_iterations, rng
        )


def factorised(
    matrices: Floats,
    weights: Floats,
    rank: Ints,
    ridge: float,
    tolerance: float,
    max_iterations: int,
    rng: np.random.Generator,
) -> Fit:
    """Fit each matrix with the rank given for it [K], those of one rank together."""
    completed = np.zeros_like(matrices)
    most, converged = 0, True
    for r in np.unique(rank):
        which = np.flatnonzero(rank == r)
        start = rng.standard_normal((len(which), r, matrices.shape[2]))
        U, V, iterations, change = alternate(
            matrices, which, weights, start, ridge, tolerance, max_iterations
        )
        for k, u, v in zip(which, U, V, strict=True):
            np.matmul(u.T, v, out=completed[k])
        most = max(most, int(iterations.max()))
        converged &= bool((change <= tolerance).all())
    return Fit(completed, rank, most, converged)
