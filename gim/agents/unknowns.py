"""What the default learner does not know: noise of rewards, wild guesses, rewards still hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.inference.belief import Belief
from gim.jit import seldom
from gim.model.counts import Counts, rewards_by_triple

OPEN = 0.5  # squared error of a prediction, above which it is none


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
    twice = n >= 2
    n, R, R2 = n[twice], R[twice], R2[twice]
    scatter = np.maximum(R2 - R**2 / n, 0.0)
    total = float(scatter[scatter > 1e-9 * float(R2.max(initial=0.0))].sum())
    return total / max(float((n - 1).sum()), 1.0)


def unknowns(belief: Belief, sharp: NDArray[np.float64] | None = None) -> NDArray[np.bool_]:
    """Pairs never met whose prediction leaves too much open to stand for a first visit, [S, A].

    `sharp` are the sums of q^2 of all rows [S*A], where they are known.
    """
    prior, unmet = belief.prior, belief.counts.n == 0
    if not (prior.n0.any() and unmet.any()):
        return np.zeros(unmet.shape, bool)
    if sharp is None:
        sharp = sharpness(prior.q, prior.first, unmet.ravel())
    sharp = sharp.reshape(unmet.shape)
    error = prior.doubt + (1.0 - prior.doubt) * (1.0 - sharp) / (prior.n0 + 1.0)
    return np.asarray(unmet & (error > OPEN))


def missing(belief: Belief, rewards: tuple[float, float]) -> float:
    """How much more must be hidden: twice what the best pair met lacks to half of the range.

    Where every step costs that is an end of the episode, until one was met.
    """
    counts, met = belief.counts, belief.counts.n > 0
    if rewards[1] < 0.0 and not belief.terminal.any():
        return -rewards[1]
    if belief.rewards.given:
        return 0.0
    best = float((counts.R[met] / counts.n[met]).max(initial=rewards[0]))
    return max(0.0, rewards[0] + rewards[1] - 2.0 * best)


@seldom(lambda q, first, which: q.size)
def sharpness(q: Any, first: Any, which: Any) -> Any:
    """The sum of q^2 of these rows, one after the other as they stand; 0 for the others."""
    sharp = np.zeros(which.size)
    for i in range(which.size):
        if which[i]:
            for j in range(first[i], first[i + 1]):
                sharp[i] += q[j] * q[j]
    return sharp
