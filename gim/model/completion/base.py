"""What a matrix completion is, and what all methods share.

A completion is any callable with the signature of `Completion`: a function will do. Those that have
a name derive from `Method`, which checks the data on the way in and the result on the way out. To
add one, write one file in this package::

    @dataclass(frozen=True)
    class MyMethod(Method):                        # registered as `my_method`
        ridge: Annotated[float, Within(0), "of the fit"] = 0.1
        examples = ("ridge=0",)                    # settings for the conformance kit

        def fit(self, matrices, weights, rng): ... # -> Fit

`gim.GIM(completion=MyMethod())` and ``gim:completion=my_method(ridge=1)`` then use it. One in a
package of your own is found as well (docs/extending.md); `gim.testing.check_completion` checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gim._base.registry import Registered, Registry

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RUNAWAY = 100.0  # a completion this many times as large as anything seen is no completion

completions = Registry("completion", "gim.model.completion")


class Completed(NamedTuple):
    """Completed matrices, and how far they can be trusted."""

    matrices: Floats  # [K, S, A], finite
    rank: int | Ints  # one for all, or one for each matrix [K]
    iterations: int  # the most that any matrix took
    residual: float  # weighted root mean square misfit on the seen entries, over that of the data
    converged: bool  # every matrix met the tolerance; where not, trust nothing


class Completion(Protocol):
    """Fill in what was not seen.

    Args:
        matrices: [K, S, A]; what stands where nothing was seen is ignored, but must be finite.
        weights: [S, A], shared by the K matrices: 0 where not seen, else the relative precision of
            the entry, such as its number of visits. The binary mask is the special case.
        rng: the one source of randomness.
    """

    def __call__(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Completed:
        """Complete the matrices."""


class Fit(NamedTuple):
    """What `Method.fit` returns."""

    matrices: Floats  # [K, S, A]
    rank: int | Ints
    iterations: int
    converged: bool


@dataclass(frozen=True)
class Method(Registered, registry=completions):
    """Base of the methods here: checks in, checks out; `fit` is the algorithm.

    Example:
        >>> import numpy as np
        >>> from gim.model.completion import ALS
        >>> rng = np.random.default_rng(1)
        >>> M = rng.standard_normal((1, 30, 2)) @ rng.standard_normal((1, 2, 20))
        >>> seen = (rng.random((30, 20)) < 0.5).astype(float)
        >>> completed = ALS(rank=2, ridge=0)(M * seen, seen, rng)
        >>> completed.converged, bool(np.abs(completed.matrices - M).max() < 1e-5)
        (True, True)
    """

    weighted: ClassVar[bool] = True  # False: only the binary mask makes sense to the method
    recovers: ClassVar[float] = 1e-3  # relative error on exact data at its `examples`: its bias
    by_matrix: ClassVar[bool] = False  # True: fits each matrix on its own, rows of zeros as zeros

    def __call__(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Completed:
        """Complete the matrices; see `Completion` for the arguments."""
        M, W = entered(matrices, weights)
        if not (self.weighted or np.isin(W, (0, 1)).all()):
            raise ValueError(
                f"{type(self).__name__} has no weighted form: pass (weights > 0).astype(float)"
            )
        if not W.any():  # nothing to complete from
            return Completed(np.zeros_like(M), 0, 0, 0.0, False)
        W = W / W[W > 0].mean()
        fit = self._fit_nonzero(M, W, rng)
        if not np.isfinite(fit.matrices).all():
            return Completed(np.zeros_like(M), fit.rank, fit.iterations, 1.0, False)
        converged = fit.converged and not ran_away(M, W, fit.matrices).any()
        residual = misfit(M, W, fit.matrices)
        return Completed(fit.matrices, fit.rank, fit.iterations, residual, converged)

    def _fit_nonzero(self, M: Floats, W: Floats, rng: np.random.Generator) -> Fit:
        """Fit the matrices in which something other than 0 was seen; the others stay 0."""
        live = np.array([bool((W * matrix).any()) for matrix in M])
        if live.all():
            return self.fit(M, W, rng)
        completed, rank = np.zeros_like(M), np.zeros(len(M), np.int64)
        if not live.any():
            return Fit(completed, rank, 0, True)
        fit = self.fit(M[live], W, rng)
        completed[live], rank[live] = fit.matrices, fit.rank
        return Fit(completed, rank, fit.iterations, fit.converged)

    def fit(self, matrices: Floats, weights: Floats, rng: np.random.Generator) -> Fit:
        """Complete checked data: weights of mean 1 where seen, no matrix of zeros."""
        raise TypeError(f"{type(self).__name__} must define fit(matrices, weights, rng)")


def entered(matrices: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Check data and weights; return them as contiguous arrays of doubles."""
    M = np.ascontiguousarray(matrices, dtype=np.float64)
    W = np.ascontiguousarray(weights, dtype=np.float64)
    if M.ndim != 3 or 0 in M.shape:
        raise ValueError(f"matrices has shape {M.shape}, not [K, S, A]: for one pass M[None]")
    if W.shape != M.shape[1:]:
        raise ValueError(f"weights has shape {W.shape}, the matrices are {M.shape[1:]}")
    for name, array in (("matrices", M), ("weights", W)):
        if not np.isfinite(array).all():
            place = np.argwhere(~np.isfinite(array))[0].tolist()
            value = array[tuple(place)]
            raise ValueError(f"{name}{place} is {value}: where nothing was seen put 0 and weight 0")
    if (W < 0).any():
        place = np.argwhere(W < 0)[0].tolist()
        raise ValueError(f"weights{place} is {W[tuple(place)]:g}: a weight is at least 0")
    return M, W


def misfit(matrices: Floats, weights: Floats, completed: Floats) -> float:
    """Weighted root mean square misfit on the seen entries, relative to that of the data."""
    pairs = zip(matrices, completed, strict=True)
    missed = sum(float((weights * (X - M) ** 2).sum()) for M, X in pairs)
    size = sum(float((weights * M**2).sum()) for M in matrices)
    return float(np.sqrt(missed / size)) if size > 0 else float(np.sqrt(missed))


def ran_away(matrices: Floats, weights: Floats, completed: Floats) -> NDArray[np.bool_]:
    """Tell which completed matrices [K] left the range of what was seen a hundred times over."""
    seen = weights > 0
    largest = np.array([np.abs(M * seen).max() for M in matrices])
    rounding = 1e-9 * largest.max()
    return np.array([np.abs(X).max() for X in completed]) > RUNAWAY * largest + rounding


def unit_scale(matrices: Floats, weights: Floats) -> Floats:
    """What to divide each matrix by in a joint fit [K, 1, 1]: 1, or its largest entry beyond 1.

    Probabilities stay as they are; a reward of 10,000 would drown them in a shared factor.
    """
    largest = np.abs(matrices * (weights > 0)).max(axis=(1, 2), keepdims=True)
    return np.maximum(largest, 1.0)


def transposed(matrices: Floats) -> Floats:
    """Transpose each matrix of a batch."""
    return matrices.swapaxes(-1, -2)
