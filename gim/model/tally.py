"""Counts of many steps at once: what `count` does step by step, for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.model.counts import Counts, new_counts, rewards_by_triple, transitions
from gim.model.hash_table import FREE, rehash


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
    sums = [np.bincount(place, x, keys.size).astype(np.float64) for x in (None, r, square)]
    return with_triples(counts, keys, next=sums[0], paid=sums[1], paid2=sums[2])


def with_triples(counts: Counts, keys: NDArray[np.int64], **sums: NDArray[np.float64]) -> Counts:
    """What is counted by triple in place of what was: sums by field, for each key once."""
    size = counts.keys.size
    while size and 2 * keys.size >= size:
        size *= 2
    made = {"keys": np.full(size, FREE, np.int64), "taken": np.array([keys.size if size else 0])}
    for name, each in sums.items():
        made[name] = np.zeros(size or getattr(counts, name).size)
        if size:
            rehash(keys, each, made["keys"], made[name])
        else:
            made[name][keys] = each
    return counts._replace(**made)


class Triples(NamedTuple):
    """Counts by triple as a table, to be added to others."""

    N: sparse.csr_array  # [S*A, S] visits by next state
    paid: NDArray[np.float64] | None  # [nnz] sums of rewards, where they are kept by next state
    paid2: NDArray[np.float64] | None  # [nnz] of their squares
    R: NDArray[np.float64]  # [S, A] sums of rewards
    R2: NDArray[np.float64]  # [S, A] of their squares


def triples_of(counts: Counts) -> Triples:
    """Counts as a table."""
    S, A = counts.n.shape
    N = transitions(counts)
    N = N if sparse.issparse(N) else sparse.csr_array(N.reshape(S * A, S))
    N.eliminate_zeros()
    return Triples(N, *rewards_by_triple(counts, N.indices, N.indptr), counts.R, counts.R2)


def total(parts: Sequence[Triples], S: int, A: int) -> Counts:
    """All of these together; rewards are kept by next state if all of them have it so."""
    by_triple = all(part.paid is not None for part in parts)
    counts = new_counts(S, A, by_triple)
    key = np.concatenate(
        [np.repeat(np.arange(S * A), np.diff(p.N.indptr)) * S + p.N.indices for p in parts]
    )
    keys, place = np.unique(key, return_inverse=True)
    given: dict[str, list[Any]] = {"next": [part.N.data for part in parts]}
    if by_triple:
        given |= {"paid": [part.paid for part in parts], "paid2": [part.paid2 for part in parts]}
    sums = {
        name: np.bincount(place.ravel(), np.concatenate(each), keys.size).astype(np.float64)
        for name, each in given.items()
    }
    counts = with_triples(counts, keys, **sums)
    visits = sum(np.asarray(part.N.sum(axis=1)) for part in parts)
    counts.n[:] = np.rint(visits).astype(np.int64).reshape(S, A)
    counts.R[:], counts.R2[:] = sum(p.R for p in parts), sum(p.R2 for p in parts)
    return counts
