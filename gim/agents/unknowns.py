"""What the default learner does not know: noise of rewards, wild guesses, what is still hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gim.inference.belief import Belief
from gim.inference.prior import Prior
from gim.jit import seldom
from gim.model.counts import Counts, rewards_by_triple, seen, transitions

LIKELY = 0.01  # chance from which a way that is predicted leads from one state to another
OPEN = 0.5  # squared error of a prediction, above which it is none
STAYS = 16  # visits that stayed, up to which it is asked how often the next one did not


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


def noise_by_pair(belief: Belief, n: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Variance of a single reward of each pair [S*A]: `noise` where its next state is known.

    But where rewards depend on the next state, and more of a pair's `n` visits [S, A] are inferred
    than were made while its rewards are not inferred, these few visits have shown what some of the
    next states pay that it is planned for, not all. There it is the variance over all visits of a
    pair, pooled over those met twice.
    """
    counts, prior = belief.counts, belief.prior
    found = np.full(n.size, noise)
    if prior.speaks and counts.paid.size and not belief.rewards.given:
        few = (prior.r_n0 == 0) & (counts.n > 0) & (n > 2.0 * counts.n)
        if few.any():
            found[few.ravel()] = max(noise, _scatter(counts.n, counts.R, counts.R2))
    return found


def _scatter(n: Any, R: Any, R2: Any) -> float:
    """Variance of a single reward, pooled over what was met twice, rounding errors apart."""
    twice = np.flatnonzero(n >= 2)
    n, R, R2 = (each.ravel()[twice] for each in (n, R, R2))
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
    sharp = (sharpness(prior) if sharp is None else sharp).reshape(unmet.shape)
    error = prior.doubt + (1.0 - prior.doubt) * (1.0 - sharp) / (prior.n0 + 1.0)
    return np.asarray(unmet & (error > OPEN))


def parts(belief: Belief) -> NDArray[np.int64]:
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
    belief: Belief,
    rewards: tuple[float, float],
    part: NDArray[np.int64],
    hidden: NDArray[np.float64],
    H: int,
) -> NDArray[np.float64]:
    """What each pair [S*A] might pay more than all that were met, for each step of the run.

    In each part of the world more must be hidden: twice what the best pair met there lacks to half
    of the range. One of its pairs never met pays that; each has the share in it that it has in all
    that is `hidden` there [S*A], divided by k + 1 where its action was met in k states. A part
    counts for as much of the run as was spent in it, the episode under way, of H steps, in full.
    Where every step costs, it is an end of the episode that is hidden, until one was met.
    """
    counts, many = belief.counts, int(part.max()) + 1
    hidden = (hidden.reshape(counts.n.shape) / (1.0 + (counts.n > 0).sum(0))).ravel()
    of = np.repeat(part, counts.n.shape[1])
    lacks = np.zeros(many)
    if rewards[1] < 0.0 and not belief.terminal.any():
        lacks[:] = -rewards[1]
    elif not belief.rewards.given:
        best, met = np.full(many, rewards[0]), counts.n.ravel() > 0
        np.maximum.at(best, of[met], counts.R.ravel()[met] / counts.n.ravel()[met])
        lacks = np.maximum(0.0, rewards[0] + rewards[1] - 2.0 * best)
    visits = np.bincount(of, counts.n.ravel(), many)
    spent = (visits + H) / (float(visits.sum()) + H)
    all_hidden = np.maximum(np.bincount(of, hidden, many), 1e-300)
    return np.asarray((lacks * spent / all_hidden)[of] * hidden)


def sharpness(prior: Prior) -> NDArray[np.float64]:
    """The sum of q^2 of all rows, [S*A]."""
    sharp = np.zeros(prior.n0.size)
    _sharpness(prior.q, prior.first, sharp)
    return sharp


@seldom(lambda q, *_: q.size)
def _sharpness(q: Any, first: Any, sharp: Any) -> None:
    for i in range(sharp.size):
        for j in range(first[i], first[i + 1]):
            sharp[i] += q[j] * q[j]


def may_leave(counts: Counts, n: NDArray[np.float64], surprise: float) -> NDArray[np.float64]:
    """The chance that the next visit leaves the state, of pairs [S*A] that have only stayed in it.

    Others 0. It is asked of all pairs how often a visit left, after k that had not: in whatever
    order theirs came, so on average over all orders. A guess counts as one such visit more: that
    of k - 1, times k / (k + 1), and at first the surprise. A pair goes by its `n` visits [S, A],
    inferred ones included.
    """
    chance = np.empty(STAYS + 1)
    chance[0] = surprise
    found = np.zeros(n.size)
    _may_leave(counts, n, chance, np.zeros((2, STAYS + 1)), found)
    return found


@seldom(lambda counts, n, *_: 4 * n.size)
def _may_leave(counts: Any, n: Any, chance: Any, table: Any, found: Any) -> None:
    S, A = counts.n.shape
    for s in range(S):
        for a in range(A):
            visits, stayed = counts.n[s, a], seen(counts, s, a, s)
            share = 1.0  # of the orders in which the first k visits stayed
            for k in range(1, STAYS + 1):
                if stayed < k or visits <= k:
                    break
                share *= (stayed - k + 1.0) / (visits - k + 1.0)
                table[0, k] += share
                table[1, k] += share * (visits - stayed) / (visits - k)
            if visits > 0 and stayed == visits:
                found[s * A + a] = 1.0
    for k in range(1, STAYS + 1):
        guess = chance[k - 1] * k / (k + 1.0)
        chance[k] = (table[1, k] + guess) / (table[0, k] + 1.0)
    for s in range(S):
        for a in range(A):
            if found[s * A + a] > 0.0:
                k = min(int(n[s, a]), STAYS)
                found[s * A + a] = chance[k] * min(1.0, STAYS / n[s, a])
