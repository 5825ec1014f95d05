"""Halves of what was counted: what one might have seen instead.

Each visit goes to one half by chance. What one half says differs from what all say about as much as
what all say differs from the truth, to first order, whatever is made of the counts: which structure
is chosen, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gim.model.counts import Counts
from gim.model.hash_table import FREE
from gim.model.tally import with_triples

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # of squares


Order = tuple[NDArray[np.int64], NDArray[np.int64]]  # of states [S] and of actions [A]


def halved(
    counts: Counts, rng: np.random.Generator, order: Order | None = None
) -> tuple[Counts, Counts]:
    """Two halves of the counts, which add up to them.

    Of single rewards only sums were kept: the rewards of a half are drawn around their share of the
    sum, as far as they scatter.

    Args:
        counts: of all.
        rng: the one source of randomness.
        order: of states and actions, in which it is used: by default as they are numbered.
    """
    S, A = counts.n.shape
    by_triple = counts.paid.size > 0
    halves, met = [], np.flatnonzero(counts.next > 0)
    N = counts.next[met]
    key = counts.keys[met] if counts.keys.size else met
    turn = in_order(key, S, A, order)  # who draws first
    met, N, key = met[turn], N[turn], key[turn]
    kept = np.floor(N)
    part: Floats = rng.binomial(kept.astype(np.int64), 0.5) + (N - kept) / 2.0
    pair = key // S
    R, R2 = (counts.paid[met], counts.paid2[met]) if by_triple else (counts.R, counts.R2)
    visits = N if by_triple else counts.n.ravel().astype(np.float64)
    mine = part if by_triple else np.bincount(pair, part, S * A).astype(np.float64)
    paid, scatter = _drawn(R.ravel(), R2.ravel(), visits, mine, rng)
    for own, n, sums in ((part, mine, paid), (N - part, visits - mine, R.ravel() - paid)):
        next = np.zeros(counts.next.size)
        next[met] = own
        times = np.rint(np.bincount(pair, own, S * A)).astype(np.int64).reshape(S, A)
        found = counts._replace(n=times, next=next)
        squares = n * scatter + sums * sums / np.maximum(n, 1e-300)
        if by_triple:
            by_next = np.zeros((2, counts.paid.size))
            by_next[:, met] = sums, squares
            found = found._replace(paid=by_next[0], paid2=by_next[1])
            sums, squares = (
                np.bincount(pair, x, S * A).astype(np.float64) for x in (sums, squares)
            )
        halves.append(found._replace(R=sums.reshape(S, A), R2=squares.reshape(S, A)))
    return without_empty(halves[0]), without_empty(halves[1])


def in_order(key: NDArray[np.int64], S: int, A: int, order: Order | None) -> NDArray[np.int64]:
    """Triples as states and actions come in an order."""
    if order is None:
        return np.argsort(key, kind="stable")
    s, a = (np.argsort(each) for each in order)
    pair, t = np.divmod(key, S)
    return np.argsort((s[pair // A] * A + a[pair % A]) * S + s[t], kind="stable")


def _drawn(
    R: Floats, R2: Floats, N: Floats, part: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """What `part` of N visits paid in all, and the variance of a single reward."""
    visits = np.maximum(N, 1e-300)
    scatter = np.maximum(R2 - R * R / visits, 0.0) / np.maximum(N - 1.0, 1.0)
    scatter = np.where(scatter > ROUNDING * R2 / visits, scatter, 0.0)
    share = part / visits
    off = np.sqrt(scatter * share * np.maximum(N - part, 0.0)) * rng.standard_normal(N.size)
    return share * R + off, scatter


def without_empty(counts: Counts) -> Counts:
    """The same; a triple that was left without a visit keeps no key of its own."""
    if not counts.keys.size:
        return counts
    used = (counts.keys != FREE) & (counts.next > 0)
    parts = {name: getattr(counts, name) for name in ("next", "paid", "paid2")}
    sums = {name: part[used] for name, part in parts.items() if part.size}
    return with_triples(counts, counts.keys[used], **sums)
