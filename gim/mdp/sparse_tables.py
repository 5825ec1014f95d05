"""Sparse tables from outside: scipy checks neither indices nor what a caller wrote into them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def own_csr(name: str, given: Any) -> Any:
    """A CSR copy of a sparse (or dense) matrix, in which every index is in range.

    Order and duplicates are looked for anew, whatever flags the given one carries.

    Example:
        >>> table = sparse.csr_array(([1.0], [7], [0, 1, 1]), shape=(2, 2))
        >>> own_csr("transitions", table)
        Traceback (most recent call last):
        ...
        ValueError: transitions: column 7 in row 0 of a sparse table with 2 columns
    """
    try:
        if sparse.issparse(given) and given.format in ("csr", "csc", "bsr", "coo"):
            _check(name, given)
        table = sparse.csr_array(given, dtype=np.float64)
    except (TypeError, IndexError, AttributeError, OverflowError) as problem:
        raise ValueError(f"{name} is no sparse table of numbers: {problem}") from None
    if table.ndim != 2:
        raise ValueError(f"{name} is a sparse table of {table.ndim} axes: it needs 2")
    _check(name, table)  # lists of lists and dictionaries are not checked on their way here
    parts = (table.data.copy(), table.indices.copy(), table.indptr.copy())
    return sparse.csr_array(parts, shape=table.shape)


def from_parts(name: str, shape: tuple[int, int], data: Any, indices: Any, indptr: Any) -> Any:
    """CSR from the arrays of a file, as `own_csr` takes them."""
    for part, array in (("indices", indices), ("indptr", indptr)):
        if array.ndim != 1 or array.dtype.kind != "i":
            raise ValueError(f"{name}.{part} has shape {array.shape} of {array.dtype}: no index")
    if data.ndim != 1 or data.dtype.kind not in "fiu":
        raise ValueError(f"{name}.data has shape {data.shape} of {data.dtype}: no row of numbers")
    try:
        table = sparse.csr_array((data, indices, indptr), shape=shape)
    except ValueError as problem:
        raise ValueError(f"{name}: {problem}") from None
    return own_csr(name, table)


def _check(name: str, table: Any) -> None:
    """Raise unless sizes, starts of rows and indices of a table agree with its shape."""
    if table.format == "coo":
        for axis, index in enumerate(table.coords):
            if index.size != table.data.size:
                raise ValueError(
                    f"{name}: a sparse table of {table.data.size} numbers and {index.size} indices"
                )
            _in_range(name, ("row", "column")[axis], index, table.shape[axis])
        return
    block = table.blocksize if table.format == "bsr" else (1, 1)
    major, minor = (n // b for n, b in zip(table.shape, block, strict=True))
    if table.format == "csc":
        major, minor = minor, major
    first, index = table.indptr, table.indices
    rising = first.size == major + 1 and first[0] == 0 and (np.diff(first) >= 0).all()
    if not rising or not first[-1] <= index.size == len(table.data):
        raise ValueError(f"{name}: the indptr of a sparse table does not say where its rows begin")
    _in_range(name, "row" if table.format == "csc" else "column", index[: first[-1]], minor, first)


def _in_range(name: str, axis: str, index: Any, size: int, first: Any = None) -> None:
    wrong = np.flatnonzero((index < 0) | (index >= size))
    if wrong.size:
        where = ""
        if first is not None and axis == "column":
            where = f" in row {int(np.searchsorted(first, wrong[0], side='right')) - 1}"
        raise ValueError(
            f"{name}: {axis} {index[wrong[0]]}{where} of a sparse table with {size} {axis}s"
        )
