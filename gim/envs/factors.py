"""Orthonormal bases of a wanted incoherence: the singular vectors of the synthetic matrices.

The leverage of row i of an orthonormal U [n, r] is sum_k U_ik^2; its mean over rows is r/n, and
mu0 (in Keshavan's scaling) is the largest leverage times n/r, from 1 to n/r.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Floats = NDArray[np.float64]

DRAWS = 40  # before leverages are scaled down
HOPE, HOPELESS = 8, 1.25  # or after so many draws, if the best is so far above the limit
ROUNDS = 20_000  # of scaling down one row


def leverage(U: Floats) -> Floats:
    """Squared lengths of the rows [..., n]."""
    return (U**2).sum(axis=-1)


def mu0_of(U: Floats) -> float:
    """The largest leverage over the mean one."""
    n, r = U.shape
    return float(leverage(U).max() * n / r)


def mu1_of(U: Floats, sigma: Floats, V: Floats) -> float:
    """The largest entry of sum_k U_ik (sigma_k / sigma_1) V_jk, in Keshavan's scaling."""
    scale = np.sqrt(len(U) * len(V) / sigma.size)
    return float(np.abs(U * (sigma / sigma[0]) @ V.T).max() * scale)


def draw_basis(rng: np.random.Generator, n: int, r: int, limit: float) -> Floats:
    """Draw U [n, r], the first left singular vectors of a uniform matrix [n, n], mu0 <= limit.

    It is drawn again until the limit is met. That grows hopeless with n (at r 2 and limit 2 one
    draw in nine passes at n 20, none in 400 at n 50), so after 40 draws, or 8 far from it, the
    best is taken and its leverages above the limit are scaled down. The first column, like
    every Perron vector, has one sign: it is made positive, or the first components of U and V
    could cancel to a negative matrix.
    """
    refused: list[Floats] = []
    for k in range(1, DRAWS + 1):
        W = rng.random((n, n))
        # Few eigenvectors, one by one: far faster than numpy's, whose threads wait on each other.
        U = eigh(W @ W.T, subset_by_index=[n - r, n - 1], driver="evr")[1][:, ::-1]
        U = U * np.where(U.sum(axis=0) < 0, -1, 1)
        if mu0_of(U) <= limit:
            return U
        refused.append(U)
        if k == HOPE and min(map(mu0_of, refused)) > HOPELESS * limit:
            break
    return scaled_down(min(refused, key=mu0_of), limit)


def scaled_down(U: Floats, limit: float) -> Floats:
    """Lower the largest leverage to the limit until none is above it."""
    n, r = U.shape
    for _ in range(ROUNDS):
        peaks = leverage(U)
        if peaks.max() <= limit * r / n * (1 + 1e-9):
            return U
        U = with_leverage(U, int(peaks.argmax()), limit * r / n)
    raise ValueError(f"mu0 = {limit:g} is too close to 1 for {n} rows at rank {r}: ask for more")


def with_leverage(U: Floats, i: int, wanted: float) -> Floats:
    """An orthonormal basis in which row i has this leverage, by scaling that row of U.

    With t the scale and l the leverage before, it becomes t^2 l / (1 + (t^2 - 1) l); the other
    leverages fall as this one rises. The first column keeps its signs.
    """
    n, r = U.shape
    if r == n:  # every leverage is 1
        return U
    before, wanted = float(leverage(U[i])), min(wanted, 1 - 1e-12)
    W = U.copy()
    W[i] *= np.sqrt(wanted * (1 - before) / (before * (1 - wanted)))
    Q, R = np.linalg.qr(W)
    return Q * np.where(np.diag(R) < 0, -1, 1)


def with_mu0(U: Floats, mu0: float) -> Floats:
    """Raise the largest leverage so that mu0 is met, as far as n/r allows."""
    n, r = U.shape
    return with_leverage(U, int(leverage(U).argmax()), min(mu0 * r / n, 1.0))


def with_mu1(U: Floats, sigma: Floats, V: Floats, mu1: float) -> tuple[Floats, Floats]:
    """Raise the leverages of the two rows that meet in the largest entry until mu1 is met."""
    i, j = np.unravel_index(np.abs(U * sigma @ V.T).argmax(), (len(U), len(V)))

    def raised(share: float) -> tuple[Floats, Floats]:
        up, vp = float(leverage(U[i])), float(leverage(V[j]))
        return (
            with_leverage(U, int(i), up + share * (1 - up)),
            with_leverage(V, int(j), vp + share * (1 - vp)),
        )

    low, high = 0.0, 1.0
    if (most := mu1_of(*_around(raised(high), sigma))) < mu1 * (1 - 1e-6):
        raise ValueError(f"mu1 = {mu1:g} cannot be reached with these sizes: ask for {most:.3g}")
    while high - low > 1e-13:
        middle = (low + high) / 2
        below = mu1_of(*_around(raised(middle), sigma)) < mu1
        low, high = (middle, high) if below else (low, middle)
    return raised(high)


def _around(bases: tuple[Floats, Floats], sigma: Floats) -> tuple[Floats, Floats, Floats]:
    return bases[0], sigma, bases[1]
