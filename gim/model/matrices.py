"""The S+1 dynamic matrices of an MDP (Definition 1), and the properties that completion rests on.

Matrix k < S holds p(k|s,a), matrix S holds r(s,a), rows are states and columns actions. Whether a
matrix can be completed depends on its rank r, its condition number kappa, and how evenly its
singular vectors are spread (incoherence mu0, mu1). The paper gives mu0 and mu1 twice, and the
theorem that it builds on in a third scaling; with M = U Sigma V', n1 rows and n2 columns:

==========  =====================================  ========================================
scaling     mu0 is the least number with           mu1 is the least number with
==========  =====================================  ========================================
definition  sum_k U_ik^2 <= mu0 r                  |sum_k U_ik s_k V_jk| <= mu1 sqrt(r)
appendix    |U' e_i| <= mu0 sqrt(r / n1)           |(U V')_ij| <= mu1 sqrt(r / (n1 n2))
keshavan    sum_k U_ik^2 <= mu0 r / n1             |sum_k U_ik s_k V_jk| <= mu1 sqrt(r / (n1 n2))
==========  =====================================  ========================================

and the same for V with n2, where s_k = Sigma_k / Sigma_1. Keshavan, Montanari and Oh (2010) write
their condition as in the definition, but for U with columns of length sqrt(n1); the definition has
orthonormal U, and so lost the n. Theorem 2 needs Keshavan's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats = NDArray[np.float64]

THRESHOLD = 1e-9  # singular values below this share of the largest count as zero


def dynamic_matrices(transitions: Any, rewards: ArrayLike) -> Floats:
    """Stack the S transition matrices and the reward matrix.

    Args:
        transitions: p(s'|s,a) [S, A, S], or sparse with S*A rows (s*A + a) by S.
        rewards: r(s,a) [S, A].

    Returns:
        [S+1, S, A], contiguous.
    """
    r = np.asarray(rewards, dtype=np.float64)
    P = transitions.toarray() if sparse.issparse(transitions) else np.asarray(transitions)
    if r.ndim != 2 or P.size != r.size * r.shape[0]:
        raise ValueError(f"transitions {P.shape} and rewards {r.shape} are not [S, A, S], [S, A]")
    S, A = r.shape
    matrices = np.empty((S + 1, S, A))
    matrices[:S] = np.moveaxis(P.reshape(S, A, S), 2, 0)
    matrices[S] = r
    return matrices


class Scalings(NamedTuple):
    """An incoherence parameter in the three scalings, each [K] or one number."""

    definition: Any
    appendix: Any
    keshavan: Any


class Spectrum(NamedTuple):
    """Spectral properties, of K matrices or as their suprema.

    A matrix of zeros has rank 0 and no kappa, mu0, mu1 (NaN); suprema leave it out.
    """

    rank: Any  # [K]
    kappa: Any  # [K] largest over smallest singular value counted
    mu0: Scalings
    mu1: Scalings
    freedom: Any  # [K] degrees of freedom (n1 + n2 - r) r
    values: Floats  # [K, min(S, A)] singular values, descending

    def suprema(self) -> Spectrum:
        """The same, each the largest over all matrices; NaN where all of them are zeros."""
        return Spectrum(
            int(self.rank.max()),
            _largest(self.kappa),
            Scalings(*map(_largest, self.mu0)),
            Scalings(*map(_largest, self.mu1)),
            int(self.freedom.max()),
            self.values.max(axis=0),
        )


def spectrum(
    matrices: Floats, threshold: float = THRESHOLD, energy: float | None = None
) -> Spectrum:
    """Compute rank, kappa, mu0, mu1 and degrees of freedom of each matrix.

    Args:
        matrices: [K, S, A].
        threshold: singular values up to this share of the largest are not counted.
        energy: count instead the fewest singular values whose squares hold this share of the sum
            of squares: for noisy matrices, all of whose singular values are positive.

    Example:
        >>> import numpy as np
        >>> one_entry = np.zeros((1, 4, 2))
        >>> one_entry[0, 0, 0] = 1.0
        >>> found = spectrum(one_entry)
        >>> int(found.rank[0]), float(found.kappa[0]), float(found.mu0.keshavan[0])
        (1, 1.0, 4.0)
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold = {threshold}: must be a share of the largest, from 0 to 1")
    if energy is not None and not 0 < energy <= 1:
        raise ValueError(f"energy = {energy}: must be a share, above 0 and at most 1")
    _, S, A = matrices.shape
    rows = [_properties(M, threshold, energy) for M in matrices]
    rank, kappa, mu0, mu1, values = zip(*rows, strict=True)
    r = np.array(rank)
    return Spectrum(
        r,
        np.array(kappa),
        Scalings(*np.array(mu0).T),
        Scalings(*np.array(mu1).T),
        (S + A - r) * r,
        np.array(values),
    )


def _properties(
    M: Floats, threshold: float, energy: float | None
) -> tuple[int, float, Scalings, Scalings, Floats]:
    """Rank, kappa, mu0, mu1 and singular values of one matrix."""
    n1, n2 = M.shape
    U, values, Vt = np.linalg.svd(M, full_matrices=False)
    if values[0] == 0:
        return 0, np.nan, Scalings(*[np.nan] * 3), Scalings(*[np.nan] * 3), values
    r = int((values > threshold * values[0]).sum())
    if energy is not None:
        share = np.cumsum(values**2) / (values**2).sum()
        r = min(r, int((share < energy * (1 - 1e-15)).sum()) + 1)
    U, Vt = U[:, :r], Vt[:r]
    u, v = (U**2).sum(axis=1).max(), (Vt**2).sum(axis=0).max()
    scaled = np.abs(U * (values[:r] / values[0]) @ Vt).max()
    aligned = np.abs(U @ Vt).max()
    keshavan = max(u * n1, v * n2) / r
    mu0 = Scalings(max(u, v) / r, np.sqrt(keshavan), keshavan)
    even = np.sqrt(r / (n1 * n2))
    mu1 = Scalings(scaled / np.sqrt(r), aligned / even, scaled / even)
    return r, values[0] / values[r - 1], mu0, mu1, values


def oversampling(spectrum: Spectrum, shape: tuple[int, int], rho: float) -> Floats:
    """Seen entries for each degree of freedom, rho S A / ((S + A - r) r) [K].

    Below 1 no method can determine the matrix; 2 is comfortable for incoherent ones.
    """
    S, A = shape
    return rho * S * A / np.maximum(spectrum.freedom, 1)


def _largest(numbers: Floats) -> float:
    finite = numbers[~np.isnan(numbers)]
    return float(finite.max()) if finite.size else float("nan")
