"""What the default learner does not know: the noise of rewards, and what is still hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gim.belief.knowledge import Knowledge
from gim.model.counts import Counts, rewards_by_triple, transitions

LIKELY = 0.01  # chance from which a way that is predicted leads from one state to another


def reward_noise(counts: Counts, met: Any = None) -> float:
    """Variance of a single reward, pooled over what was met twice: triples where they are kept.

    `met` are the counts as CSR parts, if they are there already.
    """
    n: Any = counts.n.ravel()
    R, R2 = counts.R.ravel(), counts.R2.ravel()
    if counts.paid.size and met is not None:
        n, (R, R2) = met[0], rewards_by_triple(counts, *met[1:])
    elif counts.paid.size:
        n, R, R2 = counts.next, counts.paid, counts.paid2
    return _scatter(n, R, R2)


def _scatter(n: Any, R: Any, R2: Any) -> float:
    """Variance of a single reward, pooled over what was met twice, rounding errors apart."""
    twice = np.flatnonzero(n >= 2)
    n, R, R2 = (each.ravel()[twice] for each in (n, R, R2))
    scatter = np.maximum(R2 - R**2 / n, 0.0)
    total = float(scatter[scatter > 1e-9 * float(R2.max(initial=0.0))].sum())
    return total / max(float((n - 1).sum()), 1.0)


def parts(belief: Knowledge) -> NDArray[np.int64]:
    """The part of the world [S] that each state is in: an episode does not go from one to another.

    What was seen and what is likely by what is inferred joins states; an end joins none.
    """
    prior, terminal = belief.prior, belief.terminal
    S, A = belief.counts.n.shape
    said, seen = prior.rows(), transitions(belief.counts)
    likely = np.repeat((prior.n0 > 0).ravel(), np.diff(said.indptr)) & (said.data > LIKELY)
    of, to = np.nonzero(seen.reshape(S * A, S)) if not sparse.issparse(seen) else seen.nonzero()
    pair = np.repeat(np.arange(S * A), np.diff(said.indptr))[likely]
    s, t = np.append(of, pair) // A, np.append(to, said.indices[likely])
    goes_on = ~terminal[t]
    joined = sparse.csr_array((np.ones(goes_on.sum()), (s[goes_on], t[goes_on])), shape=(S, S))
    return np.asarray(connected_components(joined, directed=False)[1], np.int64)


def missing(
    belief: Knowledge,
    rewards: tuple[float, float],
    part: NDArray[np.int64],
    hidden: NDArray[np.float64],
    H: int,
) -> NDArray[np.float64]:
    """What each pair [S*A] might pay more than all that were met, for each step of the run.

    In each part of the world more may be hidden: (high - best)^2 / (high - low), best being what
    the best triple met there paid. One of its pairs never met pays that; each has the share in it
    that it has in all that is `hidden` there [S*A], divided by k + 1 where its action was met in k
    states. A part counts for as much of the run as was spent in it, the episode under way, of H
    steps, in full. Where every step costs, it is an end of the episode that is hidden, until one
    was met.
    """
    counts, many = belief.counts, int(part.max()) + 1
    hidden = (hidden.reshape(counts.n.shape) / (1.0 + (counts.n > 0).sum(0))).ravel()
    of = np.repeat(part, counts.n.shape[1])
    lacks = np.zeros(many)
    if rewards[1] < 0.0 and not belief.terminal.any():
        lacks[:] = -rewards[1]
    elif not belief.rewards.given:
        best, met = np.full(many, rewards[0]), counts.n.ravel() > 0
        np.maximum.at(best, of[met], best_paid(counts)[met])
        width = max(rewards[1] - rewards[0], 1e-300)
        lacks = np.maximum(rewards[1] - best, 0.0) ** 2 / width
    visits = np.bincount(of, counts.n.ravel(), many)
    spent = (visits + H) / (float(visits.sum()) + H)
    all_hidden = np.maximum(np.bincount(of, hidden, many), 1e-300)
    return np.asarray((lacks * spent / all_hidden)[of] * hidden)


def best_paid(counts: Counts) -> NDArray[np.float64]:
    """What the best triple of each pair [S*A] paid; its mean where no triples are kept.

    A goal that one visit in three reaches was found, whatever the pair before it pays on average.
    """
    n = np.maximum(counts.n.ravel(), 1)
    best = counts.R.ravel() / n
    if counts.paid.size:
        met = np.flatnonzero(counts.next > 0)
        key = met if not counts.keys.size else counts.keys[met]
        np.maximum.at(best, key // len(counts.n), counts.paid[met] / counts.next[met])
    return np.asarray(best)
