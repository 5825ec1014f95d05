"""Pairs whose own counts contradict what the others say of them.

Each pair that was met is set against the prediction made without it: its counts come from that
prediction, as a Dirichlet-multinomial of N0 visits, or from anything at all, as one of a single
visit spread over all states. It is an exception if the second explains it better by more than
exceptions are rare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from gim.analogy.structure.triples import Floats, Ints, Mask, Triples, summed

N0 = 100.0  # shown: visits that a prediction is worth where it holds
RARE = 0.02  # shown: exceptions among pairs, before anything is seen
NEVER = 1e-9  # chance of what was said to be impossible


def at_triples(rows: Any, pairs: Ints, triples: Triples) -> tuple[Ints, Floats, Floats]:
    """For each triple of these pairs (rising): the place of its pair, its count, and its chance."""
    kept = (triples.counts > 0) & np.isin(triples.pair, pairs)
    place, t = np.searchsorted(pairs, triples.pair[kept]), triples.indices[kept]
    rows = rows.copy()
    rows.sort_indices()
    said = np.repeat(np.arange(len(pairs)), np.diff(rows.indptr)) * triples.S + rows.indices
    asked = place * triples.S + t
    where = np.minimum(np.searchsorted(said, asked), max(len(said) - 1, 0))
    chance = np.zeros(len(asked))
    if len(said):
        hit = said[where] == asked
        chance[hit] = rows.data[where[hit]]
    return place, triples.counts[kept], chance


def exceptions(rows: Any, pairs: Ints, triples: Triples) -> Mask:
    """Whether each of these pairs contradicts its row, which was predicted without it.

    Args:
        rows: CSR [pairs, S]; an empty row is contradicted by nothing.
        pairs: s*A + a, rising, each met.
        triples: what was counted.
    """
    place, N, chance = at_triples(rows, pairs, triples)
    n, many = triples.n.ravel()[pairs], len(pairs)
    holds = _likelihood(place, N, N0 * np.maximum(chance, NEVER), n, N0, many)
    anything = _likelihood(place, N, np.full(len(N), 1.0 / triples.S), n, 1.0, many)
    spoken = np.diff(rows.indptr) > 0
    return spoken & (np.log(RARE) + anything > np.log1p(-RARE) + holds)


def _likelihood(
    place: Ints, N: Floats, alpha: Floats, n: Floats, total: float, many: int
) -> Floats:
    """Log-likelihood of counts under a Dirichlet-multinomial, by pair."""
    each = summed(place, gammaln(alpha + N) - gammaln(alpha), many)
    return each + gammaln(total) - gammaln(total + n)
