"""How many factors there are: the rank that predicts entries held out best.

The spectrum of a half-seen matrix hides its smaller singular values in what the mask adds: at
50 x 40, half seen, everything below about a third of the largest. So the rank is not read off the
spectrum (the rule of Keshavan and Oh, 2009, is meant for large matrices and never found rank 4 or 5
there, in 60 trials each); a tenth of the seen entries is held out, and ranks 1, 2, ... are fitted
to the rest until they stop helping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gim.model.completion.base import Floats, Ints
from gim.model.completion.least_squares import alternate

HELD_OUT = 0.1  # share of the seen entries
GAIN = 0.98  # a higher rank must bring the held-out error below this share of the best so far
PATIENCE = 4  # ranks to look beyond the best so far
EXACT = 1e-10  # held-out errors below this share of the data all count as none
DETERMINED = 2 / 3  # degrees of freedom for each seen entry, at most, where there is no ridge
TOLERANCE = 1e-2  # a rough fit ranks as well as a fine one
MAX_ITERATIONS = 200


class Split(NamedTuple):
    """Seen entries in two parts."""

    train: Floats  # [S, A] weights, 0 where held out
    s: Ints  # [n] the entries held out
    a: Ints
    weight: Floats  # [n]


def split(weights: Floats, rng: np.random.Generator) -> Split:
    """Hold out a tenth of the seen entries, but never all of them."""
    seen = np.argwhere(weights > 0)
    n = min(max(1, round(HELD_OUT * len(seen))), len(seen) - 1)
    s, a = seen[rng.permutation(len(seen))[:n]].T
    train = weights.copy()
    train[s, a] = 0
    return Split(train, s, a, weights[s, a])


def best_rank(error: Callable[[int, Ints], Floats], size: Floats, max_rank: int) -> Ints:
    """Try ranks in turn and keep, for each of K things, the smallest that does about as well.

    Args:
        error: of a rank and of some of the things (indices [n]) to their held-out errors [n].
        size: [K] the error that would be as large as the data; 0 means rank 0.
        max_rank: the largest to try.
    """
    rank = np.where(size > 0, 1, 0)
    best = np.full(len(size), np.inf)
    which = np.flatnonzero(size > 0)
    for tried in range(1, max_rank + 1):
        if len(which) == 0:
            break
        found = np.maximum(error(tried, which), EXACT * size[which])
        better = found < GAIN * best[which]
        rank[which[better]] = tried
        best[which[better]] = found[better]
        which = which[(tried - rank[which] < PATIENCE) & (best[which] > EXACT * size[which])]
    return rank


def held_out_rank(
    matrices: Floats, weights: Floats, max_rank: int, ridge: float, rng: np.random.Generator
) -> Ints:
    """Estimate the rank of each matrix.

    Args:
        matrices: [K, S, A].
        weights: [S, A], 0 where not seen.
        max_rank: the largest rank tried.
        ridge: of the fits, by alternating least squares.
        rng: chooses the entries held out and the starts.

    Returns:
        ranks [K]: 0 for a matrix of zeros, else from 1 to min(max_rank, S, A), or to what the
        number of seen entries can determine if there is no ridge.
    """
    _, S, A = matrices.shape
    seen = np.flatnonzero(weights)
    train, s, a, weight = split(weights, rng)
    held = np.stack([M[s, a] for M in matrices])
    size = np.array([(weights * M**2).sum() for M in matrices])

    def error(rank: int, which: Ints) -> Floats:
        start = rng.standard_normal((len(which), rank, A))
        U, V, _, _ = alternate(matrices, which, train, start, ridge, TOLERANCE, MAX_ITERATIONS)
        predicted = np.einsum("kri,kri->ki", U[:, :, s], V[:, :, a])
        return (weight * (held[which] - predicted) ** 2).sum(axis=1)

    largest = min(max_rank, S, A)
    if ridge == 0:  # nothing but the data holds the fit
        r = np.arange(1, largest + 1)
        largest = max(1, int(((S + A - r) * r <= DETERMINED * len(seen)).sum()))
    return best_rank(error, size, largest)
