"""Counts of many steps at once: what `count` does step by step, for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.model.counts import Counts, grown, new_counts
from gim.model.hash_table import rehash


def tally(
    S: int, A: int, s: NDArray[Any], a: NDArray[Any], r: NDArray[np.float64], t: NDArray[Any]
) -> Counts:
    """Count the steps (s, a, r, t), [n] each, with rewards by triple; the sums are those of a loop.

    Example:
        >>> tally(2, 1, np.array([0, 0]), np.array([0, 0]), np.ones(2), np.array([1, 1])).n.tolist()
        [[2], [0]]
    """
    counts = new_counts(S, A, by_triple=True)
    pair = s.astype(np.int64) * A + a
    square = r * r
    counts.n[:] = np.bincount(pair, minlength=S * A).reshape(S, A)
    counts.R[:] = np.bincount(pair, r, S * A).reshape(S, A)
    counts.R2[:] = np.bincount(pair, square, S * A).reshape(S, A)
    pair *= S
    pair += t
    if not counts.keys.size:
        for name, weights in (("next", None), ("paid", r), ("paid2", square)):
            getattr(counts, name)[:] = np.bincount(pair, weights, S * A * S)
        return counts
    keys, place = np.unique(pair, return_inverse=True)
    while 2 * keys.size >= counts.keys.size:
        counts = grown(counts)
    for name, weights in (("next", None), ("paid", r), ("paid2", square)):
        sums = np.bincount(place, weights, keys.size).astype(np.float64)
        rehash(keys, sums, counts.keys, getattr(counts, name))
    counts.taken[0] = keys.size
    return counts
