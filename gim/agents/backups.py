"""What a backup with bonuses and tests goes through: sums over next states.

With an inferred prior N is dense and larger than any cache, so a plan takes as long as reading it
does, once for each step to go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot


class Given(NamedTuple):
    """What is certain of the world."""

    available: NDArray[np.bool_]  # [S, A] pairs that can be played
    terminal: NDArray[np.bool_]  # [S] states that were seen to end an episode
    low: float  # the range of r(s,a)
    high: float


class ReadApart(NamedTuple):
    """Visits by next state as `gim.belief.evidence.Apart`, with room for sums of its rows."""

    met: tuple[Any, Any, Any]  # values, columns and row starts of the counts
    n0: NDArray[np.float64]  # [S*A] visits that each prediction counts for
    kind: NDArray[np.int64]  # [S*A] the row of each pair
    columns: NDArray[np.float64]  # [S, rows] by next state
    mean: NDArray[np.float64]  # [rows] of q v
    square: NDArray[np.float64]  # [rows] of q v^2
    later: NDArray[np.float64]  # [rows] of q v0


@hot
def moments_dense(columns: Any, v: Any, mean: Any, square: Any) -> None:
    """Sums of N v and of N v^2 over next states, into mean and square [S*A].

    Two next states at a time, one after the other: sums are read and written once for both. With
    four, or for a part of the pairs, the compiler no longer takes several pairs at once.
    """
    S = v.size
    rest = S - S % 2
    for i in range(mean.size):
        mean[i] = square[i] = 0.0
    for t in range(0, rest, 2):
        x, y = v[t], v[t + 1]
        x2, y2 = x * x, y * y
        for i in range(mean.size):
            a, b = columns[t, i], columns[t + 1, i]
            mean[i] = mean[i] + a * x + b * y
            square[i] = square[i] + a * x2 + b * y2
    if rest < S:
        x, x2 = v[rest], v[rest] * v[rest]
        for i in range(mean.size):
            mean[i] += columns[rest, i] * x
            square[i] += columns[rest, i] * x2


@hot
def means_dense(columns: Any, v: Any, mean: Any) -> None:
    """Those of N v alone."""
    S = v.size
    rest = S - S % 2
    for i in range(mean.size):
        mean[i] = 0.0
    for t in range(0, rest, 2):
        x, y = v[t], v[t + 1]
        for i in range(mean.size):
            mean[i] = mean[i] + columns[t, i] * x + columns[t + 1, i] * y
    if rest < S:
        x = v[rest]
        for i in range(mean.size):
            mean[i] += columns[rest, i] * x


@hot
def moments_csr(N: Any, v: Any, mean: Any, square: Any) -> None:
    """The same for CSR rows, N = (data, indices, indptr)."""
    data, indices, indptr = N
    for i in range(mean.size):
        x = x2 = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            t = indices[j]
            x += data[j] * v[t]
            x2 += data[j] * (v[t] * v[t])
        mean[i], square[i] = x, x2


@hot
def sums_dense(
    columns: Any, v: Any, v0: Any, tests: bool, mean: Any, square: Any, later: Any
) -> Any:
    """Sums of N v and N v^2 over next states, with tests of N v0: mean, square, later [S*A]."""
    moments_dense(columns, v, mean, square)
    if tests:
        means_dense(columns, v0, later)
    else:
        for i in range(later.size):
            later[i] = 0.0


@hot
def sums_csr(N: Any, v: Any, v0: Any, tests: bool, mean: Any, square: Any, later: Any) -> Any:
    """The same for CSR rows, N = (data, indices, indptr)."""
    data, indices, indptr = N
    for i in range(mean.size):
        x = x2 = y = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            t = indices[j]
            x += data[j] * v[t]
            x2 += data[j] * (v[t] * v[t])
            if tests:
                y += data[j] * v0[t]
        mean[i], square[i], later[i] = x, x2, y


@hot
def sums_apart(N: Any, v: Any, v0: Any, tests: bool, mean: Any, square: Any, later: Any) -> Any:
    """The same of counts and prior apart; `N` is a `ReadApart` as a bare tuple."""
    N = ReadApart(*N)
    (data, indices, indptr), n0, kind = N.met, N.n0, N.kind
    sums_dense(N.columns, v, v0, tests, N.mean, N.square, N.later)
    for i in range(mean.size):
        k = kind[i]
        x, x2, y = n0[i] * N.mean[k], n0[i] * N.square[k], n0[i] * N.later[k]
        for j in range(indptr[i], indptr[i + 1]):
            t = indices[j]
            x += data[j] * v[t]
            x2 += data[j] * (v[t] * v[t])
            y += data[j] * v0[t]
        mean[i], square[i], later[i] = x, x2, y


@hot
def most_of(v: Any) -> float:
    """The largest of the values [S]."""
    most = v[0]
    for s in range(v.size):
        most = max(most, v[s])
    return most


def count_entries(rows: Any) -> int:
    """Numbers that a sweep goes through: all of a dense table, those stored of CSR parts."""
    return int(rows[0].size if isinstance(rows, tuple) else rows.size)
