"""Make completed numbers probabilities: the nearest point of the simplex, exactly.

The Euclidean projection of p is max(p - tau, 0) with the one tau that makes the sum 1. Michelot's
algorithm (1986) finds it without sorting: take tau as if every entry stayed, drop the entries at or
below it, and repeat with what is left until nothing drops. A few passes do. A row that is a
distribution already stays as it is, to the bit. Sparse rows are projected on the simplex of the
states they name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gim._compile.jit import seldom

ROUNDING = 1e-12  # how far from 1 the sum of a distribution may be


def project_simplex(P: ArrayLike) -> NDArray[np.float64]:
    """Replace each row by the nearest probability distribution, in a new array.

    Args:
        P: [..., S]: the last axis becomes a distribution.

    Example:
        >>> project_simplex([0.5, 0.7, -0.1])
        array([0.4, 0.6, 0. ])
    """
    projected = np.array(P, dtype=np.float64, order="C")
    if projected.ndim == 0 or projected.shape[-1] == 0:
        raise ValueError(f"P has shape {projected.shape}: its last axis must hold the next states")
    if not np.isfinite(projected).all():
        place = np.argwhere(~np.isfinite(projected))[0].tolist()
        raise ValueError(f"P{place} is {projected[tuple(place)]}: only finite numbers have a place")
    _project(projected.reshape(-1), np.arange(0, projected.size + 1, projected.shape[-1]))
    return projected


def project_rows(P: Any) -> Any:
    """The same for CSR rows: each becomes a distribution over the states that it names.

    An empty row stays empty; the argument is left alone.
    """
    projected = sparse.csr_array(P, dtype=np.float64, copy=True)
    _project(projected.data, projected.indptr.astype(np.int64))
    return projected


@seldom(lambda data, first: 4 * data.size)
def _project(data: Any, first: Any) -> None:
    for n in range(first.size - 1):
        row, total, least, most = data[first[n] : first[n + 1]], 0.0, np.inf, -np.inf
        for i in range(row.size):
            total += row[i]
            least, most = min(least, row[i]), max(most, row[i])
        if row.size == 0 or (least >= 0 and abs(total - 1) <= ROUNDING):
            continue
        for i in range(row.size):
            row[i] -= most  # changes nothing but the rounding of large numbers
        tau, kept = -np.inf, row.size + 1
        while True:
            total, above = 0.0, 0
            for i in range(row.size):
                if row[i] > tau:
                    total += row[i]
                    above += 1
            if above >= kept:  # equal but for rounding
                break
            tau, kept = (total - 1) / above, above
        for i in range(row.size):
            row[i] = max(row[i] - tau, 0.0)
