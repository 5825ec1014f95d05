"""Evidence of pairs whose counts are dense, kept up to date: those met since are put together anew.

A plan before every episode asks for all of the evidence, and an episode has met a few pairs. What
depends on a pair alone, its visits by next state with those that are inferred, is kept; the rest,
vectors of S*A numbers, is made anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.inference.likelihoods import clipped, log_gamma, log_odds, probability, rewards_hold
from gim.inference.prior import Floats, Ints, Prior
from gim.jit import seldom
from gim.model.counts import Counts

Bools = NDArray[np.bool_]


class Counted(NamedTuple):
    """What was counted, by triple."""

    N: Floats  # [S*A*S] n(s'|s,a)
    paid: Floats  # [S*A*S] sums of rewards; [0] if nobody asks for them
    paid2: Floats  # those of their squares likewise


class Predicted(NamedTuple):
    """What is predicted of every pair, and what that is worth."""

    q: Floats  # [nnz] p(s'|s,a), pair by pair
    next: Ints  # [nnz] the s' that they speak of, rising within a pair
    first: Ints  # [S*A + 1] where the successors of each pair begin
    r_next: Floats  # [nnz] r(s,a,s'), or [0]
    leak: Floats  # [S*A] share that goes to any state at all
    doubt: Floats  # [S*A] the chance that it does not hold
    r_noise: Floats  # [S*A] variance of single rewards
    n0: Floats  # [S*A] visits that it is worth
    replaces: Bools  # [S*A] whether it stands in place of visits
    pays: Bools  # [S*A] whether rewards are inferred


class Kept(NamedTuple):
    """What is filled for each pair that is put together."""

    worth: Floats  # [S*A] w n0
    columns: Floats  # [S, S*A] n + w n0 q
    R: Floats  # [S*A] sums of rewards, where these depend on the next state
    R2: Floats  # [S*A] those of their squares


class DenseEvidence:
    """The evidence of one prior, pair by pair.

    Args:
        counts: dense; those of the same run whenever evidence is asked for.
        prior: what is inferred.
        terminal: [S] states of which nothing is inferred.
    """

    def __init__(self, counts: Counts, prior: Prior, terminal: NDArray[np.bool_]) -> None:
        S, pairs = len(counts.n), counts.n.size
        self.prior, self.terminal = prior, terminal.copy()
        self.goes_on = ~terminal[:, None]
        n0 = (prior.n0 * self.goes_on).ravel()
        self.replaced = np.isinf(n0)  # [S*A] a prediction that stands in place of visits
        self.n0 = np.where(self.replaced, 1.0, n0)
        self.doubted = bool((prior.doubt > 0).any() and not self.replaced.any())
        self.by_next = bool(prior.r_next.size and counts.paid.size)
        self.visits = np.full(pairs, -1)  # [S*A] of each pair when it was put together
        self.pays = np.zeros(pairs, bool)  # [S*A] whether its reward was inferred then
        self.worth = np.zeros(pairs)  # [S*A] w n0, the visits that its prediction counts for
        self.columns = np.zeros((S, pairs))  # visits by next state, as plans read them
        self.R, self.R2 = np.zeros((2, pairs))  # where rewards depend on the next state

    def is_of(self, prior: Prior, terminal: NDArray[np.bool_]) -> bool:
        """Whether it is still of this prior, and of these ends."""
        mine = self.prior.q is prior.q and self.prior.n0 is prior.n0
        return mine and np.array_equal(self.terminal, terminal)

    def now(self, counts: Counts) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The fields of `gim.inference.evidence.Evidence`, as the counts are now.

        Arrays that are kept are written to again by the next call.
        """
        prior, n = self.prior, counts.n.astype(np.float64)
        r_n0 = rewards_hold(counts, prior) * prior.r_n0 * self.goes_on
        pays = (r_n0 > 0).ravel()
        news = np.flatnonzero((counts.n.ravel() != self.visits) | (pays != self.pays))
        self.pays = pays
        if news.size:
            self._meet(counts, news)
        seen = np.where(self.replaced.reshape(n.shape), 0.0, n) + self.worth.reshape(n.shape)
        N = self.columns.T.reshape(*n.shape, -1)
        if self.by_next:
            R, R2 = (each.reshape(n.shape) for each in (self.R, self.R2))
            return N, seen, R, R2, np.where(r_n0 > 0, seen, n)
        instead = np.isinf(r_n0)
        keep, r_n0 = np.where(instead, 0.0, 1.0), np.where(instead, 1.0, r_n0)
        R = keep * counts.R + r_n0 * prior.r
        R2 = keep * counts.R2 + r_n0 * (prior.r**2 + prior.r_noise)
        return N, seen, R, R2, keep * n + r_n0

    def _meet(self, counts: Counts, at: Ints) -> None:
        """Put these pairs together anew."""
        prior = self.prior
        self.visits[at] = counts.n.ravel()[at]
        put_together(
            at,
            (counts.next, counts.paid, counts.paid2),
            (
                prior.q,
                prior.next,
                prior.first,
                prior.r_next,
                prior.leak.ravel(),
                prior.doubt.ravel(),
                prior.r_noise.ravel(),
                self.n0,
                self.replaced,
                self.pays,
            ),
            self.doubted,
            self.by_next,
            (self.worth, self.columns, self.R, self.R2),
        )


@seldom(lambda at, counted, said, doubted, by_next, kept: 3 * at.size * len(kept[1]))
def put_together(at: Any, counted: Any, said: Any, doubted: bool, by_next: bool, kept: Any) -> None:
    """n + w n0 q of the pairs `at`, and their rewards where these depend on the next state.

    Bare tuples, which are handed over faster, stand for what was `Counted`, is `Predicted` and is
    `Kept`. In the order of `gim.inference.evidence` for sparse rows, so that both have the same
    bits.
    """
    counted, said, kept = Counted(*counted), Predicted(*said), Kept(*kept)
    N, paid, paid2 = counted.N, counted.paid, counted.paid2
    q, next, first, n0 = said.q, said.next, said.first, said.n0
    columns, R, R2 = kept.columns, kept.R, kept.R2
    S = columns.shape[0]
    blank = log_gamma(1.0 / S)
    for i in at:
        w = n0[i]
        if doubted and said.doubt[i] > 0.0:
            total, with_q, without, k = 0.0, 0.0, 0.0, first[i]
            for t in range(S):
                x = N[i * S + t]
                if x != 0.0 and w > 0.0:
                    while k < first[i + 1] and next[k] < t:
                        k += 1
                    predicted = q[k] if k < first[i + 1] and next[k] == t else 0.0
                    alpha = n0[i] * ((1.0 - said.leak[i]) * predicted + said.leak[i] / S)
                    total += x
                    without += log_gamma(1.0 / S + x) - blank
                    if alpha <= 0.0:
                        with_q = -np.inf
                    else:
                        with_q += log_gamma(alpha + x) - log_gamma(alpha)
            if total > 0.0:
                with_q = with_q + log_gamma(n0[i]) - log_gamma(n0[i] + total)
                without = without - log_gamma(1.0 + total)
            w = probability(clipped(without - with_q) + log_odds(said.doubt[i])) * n0[i]
        kept.worth[i] = w
        for t in range(S):
            columns[t, i] = 0.0 if said.replaces[i] else N[i * S + t]
        for k in range(first[i], first[i + 1]):
            columns[next[k], i] += w * q[k]
        if by_next:
            R[i] = R2[i] = 0.0
            for t in range(S):
                if N[i * S + t] != 0.0:
                    R[i] += paid[i * S + t]
                    R2[i] += paid2[i * S + t]
            counts_for = w if said.pays[i] else 0.0
            if counts_for > 0.0:
                for k in range(first[i], first[i + 1]):
                    j = i * S + next[k]
                    r = paid[j] / N[j] if N[j] != 0.0 else said.r_next[k]
                    R[i] += counts_for * q[k] * r
                    R2[i] += counts_for * q[k] * r * r
            R2[i] += counts_for * said.r_noise[i]
