"""Predicted rows without their tails: a plan need not read what hardly ever happens."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gim.jit import hot, seldom


def cut(rows: sparse.csr_array, tail: float) -> sparse.csr_array:
    """The leading successors of each row, all but a mass of `tail`, normalised again.

    Example:
        >>> rows = sparse.csr_array(np.array([[0.5, 0.004, 0.49, 0.006]]))
        >>> cut(rows, 0.005).toarray().round(3).tolist()
        [[0.502, 0.0, 0.492, 0.006]]
    """
    keep = leading(rows.data, rows.indptr.astype(np.int64), tail)
    pair = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[keep]
    sizes = np.bincount(pair, minlength=rows.shape[0])
    sums = np.bincount(pair, rows.data[keep], rows.shape[0])
    data = rows.data[keep] / sums[pair]
    first = np.append(0, np.cumsum(sizes))
    return sparse.csr_array((data, rows.indices[keep], first), shape=rows.shape)


@seldom(lambda data, first, tail: 8 * data.size)
def leading(data: Any, first: Any, tail: float) -> Any:
    """Whether each number is kept: the least of a row go, the first of equals first, up to `tail`.

    Those above it stay in any case; the others are taken from a heap.
    """
    keep = np.ones(data.size, np.bool_)
    longest = 0
    for i in range(first.size - 1):
        longest = max(longest, first[i + 1] - first[i])
    heap = np.empty(longest, np.int64)
    for i in range(first.size - 1):
        size = 0
        for j in range(first[i], first[i + 1]):
            if data[j] <= tail:
                heap[size] = j
                size += 1
        for k in range(size // 2 - 1, -1, -1):
            sink(heap, size, k, data)
        mass = 0.0
        while size > 0:
            mass += data[heap[0]]
            if mass > tail:
                break
            keep[heap[0]] = False
            size -= 1
            heap[0] = heap[size]
            sink(heap, size, 0, data)
    return keep


@hot
def sink(heap: Any, size: int, k: int, data: Any) -> None:
    """Move the entry at k down until no child of its is less, or equal and before it."""
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and less(data, heap[child + 1], heap[child]):
            child += 1
        if not less(data, heap[child], heap[k]):
            break
        heap[k], heap[child] = heap[child], heap[k]
        k = child


@hot
def less(data: Any, i: int, j: int) -> bool:
    """Whether the number at i comes before that at j in rising order."""
    return data[i] < data[j] or (data[i] == data[j] and i < j)
