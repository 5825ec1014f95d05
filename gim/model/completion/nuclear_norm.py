"""Nuclear-norm minimisation (Candes and Recht, 2009): the reference for small matrices.

The matrix of smallest nuclear norm that agrees with what was seen, by the alternating direction
method of multipliers (Boyd et al., 2011): soft-threshold, put the data back, add up the difference.
Exact, and slow: a singular value decomposition a step, some hundred steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim.model.completion.base import Fit, Floats, Method
from gim.model.completion.spectral import blocks, largest, relative, soft_threshold, until_settled


@dataclass(frozen=True)
class NuclearNorm(Method):
    """The smallest nuclear norm that agrees with the data; a reference, no weighted form."""

    weighted: ClassVar[bool] = False
    recovers: ClassVar[float] = 0.05
    by_matrix: ClassVar[bool] = True

    threshold: Annotated[float, Within(0), "of a step, over the largest singular value seen"] = 0.1
    tolerance: Annotated[float, Within(0), "relative change at which to stop"] = 1e-7
    max_iterations: Annotated[int, Within(1), "of a matrix"] = 5000

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Iterate each block of matrices until all have settled."""
        seen = weights > 0
        completed = np.zeros_like(matrices)
        rank = np.zeros(len(matrices), np.int64)
        most, converged = 0, True
        for block in blocks(matrices):
            M = np.where(seen, matrices[block], 0)
            state = (M, self.threshold * largest(M), M, np.zeros_like(M))
            (_, _, Z, _), iterations, settled = until_settled(
                lambda *state: alternate_directions(seen, *state),
                state,
                self.tolerance,
                self.max_iterations,
            )
            completed[block] = Z
            rank[block] = np.linalg.matrix_rank(Z, rtol=1e-4)
            most, converged = max(most, iterations), converged and settled
        return Fit(completed, rank, most, converged)


def alternate_directions(
    seen: NDArray[np.bool_], M: Floats, threshold: Floats, Z: Floats, dual: Floats
) -> tuple[tuple[Floats, ...], Floats]:
    """X of low rank near Z - dual; Z agrees with the data and is near X + dual."""
    X, _ = soft_threshold(Z - dual, threshold)
    new = np.where(seen, M, X + dual)
    dual = dual + X - new
    change = np.maximum(relative(X - new, new), relative(new - Z, new))
    return (M, threshold, new, dual), change
