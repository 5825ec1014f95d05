"""Counts as if every pair had been met Poisson many times."""

from __future__ import annotations

import numpy as np

from gim.analogy.base import Frame
from gim.model.counts import new_counts


def sampled(mdp, visits, seed=0, by_triple=False):
    """Counts of Poisson many samples of each pair, and N [S, A, S] and n [S, A] as floats."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(visits, (mdp.S, mdp.A))
    N = np.array(
        [
            [rng.multinomial(n[s, a], mdp.transitions[s, a]) for a in range(mdp.A)]
            for s in range(mdp.S)
        ]
    )
    counts = new_counts(mdp.S, mdp.A, by_triple)
    counts.n[:], counts.next[:] = n, N.ravel()
    counts.R[:], counts.R2[:] = n * mdp.rewards, n * mdp.rewards**2
    if by_triple:
        r = mdp.rewards[:, :, None] if mdp.rewards_next is None else mdp.rewards_next
        counts.paid[:], counts.paid2[:] = (N * r).ravel(), (N * r**2).ravel()
        counts.R[:], counts.R2[:] = (N * r).sum(axis=2), (N * r**2).sum(axis=2)
    return counts, N.astype(float), n.astype(float)


def frame_of(mdp):
    """What is certain of an MDP besides counts."""
    return Frame(mdp.available, mdp.terminal, mdp.reward_range)
