"""Inference for a log stays within what was seen of each action.

A log does not choose where to look: far from where its policy went, a prediction backs off to what
holds elsewhere, and a plan seeks out just the pairs that this flatters. So a prediction counts only
if what it says of the action, the mean change of each ordinal variable and the mean reward, lies
between the least and the largest that was seen of that action in any state. And it is worth no more
visits than the log has made to the state, whatever it is worth where the log went often.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.inference.prior import Prior
from gim.logs.log import Log
from gim.model.counts import transitions

ROUNDING = 1e-9


def within_experience(prior: Prior, log: Log) -> Prior:
    """The prior without predictions that go beyond what was seen of their actions."""
    if not prior.speaks:
        return prior
    n, rows = log.counts.n, prior.rows()
    N = transitions(log.counts)
    N = N if sparse.issparse(N) else sparse.csr_array(N.reshape(rows.shape))
    holds = np.ones(n.shape, bool)
    variables = log.variables
    for j in range(0 if variables is None else len(variables.names)):
        if variables is not None and variables.ordinal[j]:
            x = variables.codes[:, j].astype(np.float64)
            seen = np.asarray(N @ x).reshape(n.shape) / np.maximum(n, 1) - x[:, None]
            holds &= _between(np.asarray(rows @ x).reshape(n.shape) - x[:, None], seen, n > 0)
    r = prior.r
    if prior.r_next.size:
        pair = np.repeat(np.arange(n.size), np.diff(prior.first))
        r = np.asarray(np.bincount(pair, prior.q * prior.r_next, n.size), float).reshape(n.shape)
    holds &= (prior.r_n0 == 0) | _between(r, log.counts.R / np.maximum(n, 1), n > 0)
    most = n.sum(axis=1, keepdims=True) * holds
    return prior._replace(n0=np.minimum(prior.n0, most), r_n0=np.minimum(prior.r_n0, most))


def _between(
    said: NDArray[np.float64], seen: NDArray[np.float64], met: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether what is said [S, A] lies in the range of what was seen of the action."""
    low = np.where(met, seen, np.inf).min(axis=0)
    high = np.where(met, seen, -np.inf).max(axis=0)
    room = ROUNDING * (1.0 + np.abs(said))
    return (said >= low - room) & (said <= high + room)
