"""Evidence kept up to date: only pairs that were met since the last plan are put together anew.

A plan before every episode asks for all of the evidence, and an episode has met a few pairs. What
depends on a pair alone, its visits by next state with those that are inferred, is kept; the rest,
vectors of S*A numbers, is made anew. Formulas and bits are those of `gim.inference.evidence`, whose
functions it calls for a part of the pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.inference.belief import Belief
from gim.inference.evidence import (
    Evidence,
    add_dense,
    add_rewards,
    holds,
    rewards_hold,
    with_rewards,
)
from gim.inference.prior import Ints, Prior
from gim.model.counts import LARGE, Counts, nonzeros


def up_to_date(belief: Belief, kept: dict[str, Any]) -> Evidence:
    """`belief.evidence()`, bit for bit; what is kept for the next call goes into `kept`.

    Its arrays are written to again by that call. Beyond LARGE numbers, where tables may be sparse,
    nothing is kept.
    """
    counts, prior = belief.counts, belief.prior
    if counts.keys.size or counts.next.size >= LARGE or not prior.speaks:
        return belief.evidence()
    found = kept.get("evidence")
    if not isinstance(found, ByPair) or not found.holds(prior, belief.terminal):
        if not (np.isfinite(prior.n0).all() and np.isfinite(prior.r_n0).all()):
            return belief.evidence()
        found = kept["evidence"] = ByPair(counts, prior, belief.terminal)
    return with_rewards(found.evidence(counts), belief.rewards)


class ByPair:
    """The evidence of one prior in a world whose counts are dense, pair by pair."""

    def __init__(self, counts: Counts, prior: Prior, terminal: NDArray[np.bool_]) -> None:
        (S, A), pairs = counts.n.shape, counts.n.size
        self.prior, self.terminal = prior, terminal.copy()
        self.goes_on = ~terminal[:, None]
        self.n0 = (prior.n0 * self.goes_on).ravel()
        self.doubted = bool((prior.doubt > 0).any())
        self.visits = np.full(pairs, -1)  # [S*A] of each pair when it was put together
        self.pays = np.zeros(pairs, bool)  # [S*A] whether its reward was inferred then
        self.worth = np.zeros((S, A))  # w n0, the visits that its prediction counts for
        self.columns = np.zeros((S, pairs))  # visits by next state, as plans read them
        self.R, self.R2 = np.zeros((2, S, A))  # where rewards depend on the next state

    def holds(self, prior: Prior, terminal: NDArray[np.bool_]) -> bool:
        """Whether it is still of this prior, and of these ends."""
        mine = self.prior.q is prior.q and self.prior.n0 is prior.n0
        return mine and np.array_equal(self.terminal, terminal)

    def evidence(self, counts: Counts) -> Evidence:
        """All of it, as the counts are now."""
        prior, n = self.prior, counts.n.astype(np.float64)
        r_n0 = rewards_hold(counts, prior) * prior.r_n0 * self.goes_on
        pays = r_n0 > 0
        news = (counts.n.ravel() != self.visits) | (pays.ravel() != self.pays)
        self.pays = pays.ravel()
        if news.any():
            self._meet(counts, np.flatnonzero(news))
        N, visits = self.columns.T.reshape(*n.shape, -1), n + self.worth
        if prior.r_next.size and counts.paid.size:
            return Evidence(N, visits, self.R, self.R2, np.where(pays, visits, n))
        R = counts.R + r_n0 * prior.r
        R2 = counts.R2 + r_n0 * (prior.r**2 + prior.r_noise)
        return Evidence(N, visits, R, R2, n + r_n0)

    def _meet(self, counts: Counts, at: Ints) -> None:
        """Put these pairs together anew."""
        prior, S = self.prior, len(counts.n)
        N, n = counts.next.reshape(-1, S)[at], counts.n.ravel()[at]
        rows, n0 = nonzeros(N, n), self.n0[at]
        place, first = _places(prior.first, at)
        said = prior.q[place], prior.next[place], first
        if self.doubted:
            n0 = holds(rows, said, n0, prior.leak.ravel()[at], prior.doubt.ravel()[at], S) * n0
        add_dense(N, *said, n0)
        self.visits[at], self.worth.reshape(-1)[at], self.columns[:, at] = n, n0, N.T
        if prior.r_next.size and counts.paid.size:
            n0 = np.where(self.pays[at], n0, 0.0)
            met = np.repeat(at, np.diff(rows[2])) * S + rows[1]
            paid = counts.paid[met], counts.paid2[met]
            R, R2 = add_rewards(rows, *paid, *said, prior.r_next[place], n0)
            self.R.reshape(-1)[at] = R
            self.R2.reshape(-1)[at] = R2 + n0 * prior.r_noise.ravel()[at]


def _places(first: Ints, at: Ints) -> tuple[Ints, Ints]:
    """Where the entries of these rows stand, one row after the other, and where each then begins.

    Example:
        >>> _places(np.array([0, 2, 2, 5]), np.array([2, 0]))
        (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    sizes = first[at + 1] - first[at]
    begins = np.append(0, np.cumsum(sizes))
    return np.arange(begins[-1]) + np.repeat(first[at] - begins[:-1], sizes), begins
