"""Inference for a log: only where it convinces, and within what was seen of each state.

A log does not choose where to look: far from where its policy went, a prediction rests on what
holds elsewhere, and a plan seeks out just the pairs that this flatters. What held-out pairs say of
predictions is said where the log went, not where the plan will go. So a prediction is worth no more
than a share of the visits that the log has made to the state, whatever it is worth elsewhere.

And a learner that goes on can mend what it has inferred, a log cannot. In a world without structure
held-out pairs are still a little likelier under predictions than under none: some states are
entered more often than others, and of many candidates one suits them by chance. To count for visits
that is not enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gim.analogy.base import Frame, Infers, Posterior
from gim.analogy.prior import Prior, no_prior
from gim.analogy.worth import VISITS, HeldOut, worth_of
from gim.model.counts import Counts, transitions

SHARE = 1 / 3  # of the visits to a state that a prediction there may count for; see docs/logs.md
CONVINCING = 0.3  # nats in the mean of held-out pairs, over the frequencies of next states alone


@dataclass(frozen=True)
class WithinExperience:
    """An inference, for a log; see `within_experience`."""

    infer: Infers

    def posterior(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Posterior:
        """See `gim.analogy.base.Infers`."""
        found = self.infer.posterior(counts, frame, rng)
        return found._replace(prior=within_experience(found.prior, counts))


def within_experience(prior: Prior, counts: Counts) -> Prior:
    """The prior, if it convinces, each prediction worth no more than its state's visits allow."""
    if not prior.speaks:
        return prior
    if convincing(prior, counts) < CONVINCING:
        return no_prior(*counts.n.shape)
    most = SHARE * counts.n.sum(axis=1, keepdims=True)
    n0, r_n0 = (x.clip(max=most) for x in (prior.n0, prior.r_n0))
    return prior._replace(n0=n0, r_n0=r_n0)


def convincing(prior: Prior, counts: Counts) -> float:
    """By how much likelier held-out pairs are as predicted than by frequencies alone, nats a pair.

    Infinite where no pairs were held out, since then nobody has asked.
    """
    K = prior.judges.size
    if K == 0:
        return np.inf
    N, S = transitions(counts), len(counts.n)
    N = N if sparse.issparse(N) else sparse.csr_array(N.reshape(-1, S))
    all_of_it, N = np.asarray(N.sum(axis=0)), sparse.csr_array(N[prior.judges])
    row = np.repeat(np.arange(K), np.diff(N.indptr))
    q = np.asarray(prior.held()[row, N.indices]).ravel()
    others = all_of_it.sum() - np.bincount(row, N.data, K)[row]
    often = (all_of_it[N.indices] - N.data) / np.maximum(others, 1)

    def gain(q: np.ndarray) -> float:
        parts = N.indptr.astype(np.int64), N.data.astype(np.float64), q, np.full(K, np.inf)
        held = HeldOut(prior.judges, *parts)
        return worth_of(held, S, np.zeros(K, np.int64), 1, VISITS[-1]).gain

    return (gain(q) - max(gain(often), 0.0)) / K
