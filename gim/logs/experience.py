"""Inference for a log stays within what was seen of each state.

A log does not choose where to look: far from where its policy went, a prediction rests on what
holds elsewhere, and a plan seeks out just the pairs that this flatters. What held-out pairs say of
predictions is said where the log went, not where the plan will go. So a prediction is worth no more
than a share of the visits that the log has made to the state, whatever it is worth elsewhere.
"""

from __future__ import annotations

from gim.inference.prior import Prior
from gim.logs.log import Log

SHARE = 1 / 3  # of the visits to a state that a prediction there may count for; see docs/logs.md


def within_experience(prior: Prior, log: Log) -> Prior:
    """The prior with every prediction worth no more than its state's visits allow."""
    if not prior.speaks:
        return prior
    most = SHARE * log.counts.n.sum(axis=1, keepdims=True)
    n0, r_n0 = (x.clip(max=most) for x in (prior.n0, prior.r_n0))
    return prior._replace(n0=n0, r_n0=r_n0)
