"""A table against its definition, spelled out as a function and followed pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gim.mdp.tabular import TabularMDP

Outcomes = Callable[[int, int], Iterable[tuple[float, int, float]]]  # of (s, a): p, s', r


def check_rows(
    mdp: TabularMDP, outcomes: Outcomes, pairs: Iterable[tuple[int, int]] | None = None
) -> None:
    """Every row (or those of these pairs): where it leads and what it pays, on average and by s'.

    Outcomes that lead to the same s' are added up, and pay their expectation; terminal states stay
    and pay nothing, whatever the definition says.
    """
    rows = mdp.rows()
    paid = None if mdp.rewards_next is None else mdp.to_sparse().rewards_next
    if pairs is None:
        pairs = np.ndindex(mdp.S, mdp.A)
    for s, a in pairs:
        p, r = np.zeros(mdp.S), np.zeros(mdp.S)
        for chance, t, pays in [(1.0, s, 0.0)] if mdp.terminal[s] else outcomes(s, a):
            p[t] += chance
            r[t] += chance * pays
        row = slice(*rows.indptr[s * mdp.A + a :][:2])
        leads, chances = rows.indices[row], rows.data[row]
        full = np.zeros(mdp.S)
        full[leads] = chances
        assert np.allclose(full, p, rtol=1e-12, atol=1e-15), (s, a)
        assert np.isclose(mdp.rewards[s, a], r.sum(), rtol=1e-12, atol=1e-12), (s, a)
        if paid is not None:
            assert np.allclose(paid.data[row] * chances, r[leads], rtol=1e-9, atol=1e-15), (s, a)
