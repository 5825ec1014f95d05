"""How many factors a matrix has: the rank that predicts entries held out best.

The spectrum of a half-seen matrix hides its smaller singular values in what the mask adds: at
50 x 40, half seen, everything below about a third of the largest. So the rank is not read off the
spectrum (Keshavan, Montanari and Oh's rule does, and is meant for large matrices); a tenth of the
seen entries is held out, and ranks 1, 2, ... are fitted to the rest until they stop helping.
"""

from __future__ import annotations

import numpy as np

from gim.model.completion.base import Floats, Ints
from gim.model.completion.least_squares import alternate

HELD_OUT = 0.1  # share of the seen entries
GAIN = 0.98  # a higher rank must bring the held-out error below this share of the best so far
PATIENCE = 4  # ranks to look beyond the best so far
EXACT = 1e-10  # held-out errors below this share of the data all count as none
TOLERANCE = 1e-2  # a rough fit ranks as well as a fine one
MAX_ITERATIONS = 200


def held_out_rank(
    matrices: Floats, weights: Floats, max_rank: int, ridge: float, rng: np.random.Generator
) -> Ints:
    """Estimate the rank of each matrix.

    Args:
        matrices: [K, S, A].
        weights: [S, A], 0 where not seen.
        max_rank: the largest rank tried.
        ridge: of the fits.
        rng: chooses the entries held out and the starts.

    Returns:
        ranks [K]: 0 for a matrix of zeros, else from 1 to min(max_rank, S, A).
    """
    K, S, A = matrices.shape
    seen = np.argwhere(weights > 0)
    s, a = seen[rng.permutation(len(seen))[: max(1, round(HELD_OUT * len(seen)))]].T
    train = weights.copy()
    train[s, a] = 0
    rank = np.zeros(K, np.int64)
    held, size = _seen(matrices, weights, s, a)
    which = np.flatnonzero(size > 0)
    rank[which] = 1
    best = np.full(K, np.inf)
    for tried in range(1, min(max_rank, S, A) + 1):
        if len(which) == 0 or not train.any():
            break
        start = rng.standard_normal((len(which), tried, A))
        U, V, _, _ = alternate(matrices, which, train, start, ridge, TOLERANCE, MAX_ITERATIONS)
        predicted = np.einsum("kri,kri->ki", U[:, :, s], V[:, :, a])
        error = (weights[s, a] * (held[which] - predicted) ** 2).sum(axis=1)
        error = np.maximum(error, EXACT * size[which])
        better = error < GAIN * best[which]
        rank[which[better]] = tried
        best[which[better]] = error[better]
        which = which[(tried - rank[which] < PATIENCE) & (best[which] > EXACT * size[which])]
    return rank


def _seen(matrices: Floats, weights: Floats, s: Ints, a: Ints) -> tuple[Floats, Floats]:
    """The entries held out [K, n], and the weighted size of what was seen of each matrix [K]."""
    held = np.stack([M[s, a] for M in matrices])
    size = np.array([(weights * M**2).sum() for M in matrices])
    return held, size
