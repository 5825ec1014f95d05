"""What a prediction is worth: a spike-and-slab mixture fitted to held-out pairs by likelihood.

A pair's next states, counted N, were predicted as q without it. Either the analogy holds there and
p ~ Dirichlet(n0 q), or it does not and p may be anything, p ~ Dirichlet(1/S):

    P(N) = doubt DM(N; 1/S) + (1 - doubt) DM(N; n0 q'),   q' = (1 - leak) q + leak / S.

n0 and doubt maximise the likelihood of the pairs of a stratum, those met once included, where that
gains a nat over what suits all pairs; the leak, which allows for successors that a prediction from
few visits has missed, maximises that of all pairs. The doubt is estimated with half an exception
and half a rule added, so it is never quite 0 or 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.inference.likelihoods import log_gamma
from gim.jit import seldom

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VISITS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 200.0])
LEAKS = np.array([0.0, 0.003, 0.03, 0.2])
ROUNDS = 20  # of expectation and maximisation for the doubt
LEAST = 30  # pairs in a stratum
TELLS = 1.0  # nats that a stratum must gain by numbers of its own


class HeldOut(NamedTuple):
    """Pairs that were held out: what was counted of them, and what was predicted of that."""

    pairs: Ints  # [K] s*A + a
    first: Ints  # [K + 1] where the successors of each begin
    N: Floats  # [nnz] visits of each successor that was met
    q: Floats  # [nnz] what was predicted of it; 0: nothing


class Worth(NamedTuple):
    """The mixture that suits held-out pairs best."""

    n0: Floats  # [strata] visits that the prediction is worth where it holds
    doubt: Floats  # [strata] chance that it does not
    leak: float
    likelihood: Floats  # [K] ln P(N) of each pair
    blank: Floats  # [K] ln DM(N; 1/S): the same if nothing were predicted

    @property
    def gain(self) -> float:
        """Log-likelihood over that of no prediction."""
        return float((self.likelihood - self.blank).sum())


def worth_of(held: HeldOut, S: int, stratum: Ints, strata: int, most: float) -> Worth:
    """Fit n0 and doubt by stratum [K] of the pairs, and the leak.

    Args:
        held: the pairs.
        S: number of states.
        stratum: [K] the stratum of each pair, 0 to strata - 1; strata without a pair take those of
            all pairs.
        strata: how many there are.
        most: the largest n0.
    """
    visits = np.append(VISITS[most > VISITS], most)
    spike, slab = likelihoods(held.first, held.N, held.q, visits, LEAKS, S)
    everywhere = [_fitted(of_leak, slab) for of_leak in spike]
    best = int(np.argmax([totals.max() for _, totals in everywhere]))
    of_leak, (doubts, totals) = spike[best], everywhere[best]
    usual = int(totals.argmax())
    n0, doubt = np.full(strata, visits[usual]), np.full(strata, doubts[usual])
    total = _mixed(of_leak[usual], slab, doubts[usual])
    for k in np.unique(stratum):
        here = stratum == k
        doubts, totals = _fitted(of_leak[:, here], slab[here])
        if totals.max() > total[here].sum() + TELLS:
            good = np.flatnonzero(totals >= totals.max() - TELLS)
            i = int(good[np.abs(good - usual).argmin()])  # pairs met once tell nothing of n0
            n0[k], doubt[k] = visits[i], doubts[i]
            total[here] = _mixed(of_leak[i, here], slab[here], doubts[i])
    return Worth(n0, doubt, float(LEAKS[best]), total, slab)


def _mixed(spike: Floats, slab: Floats, doubt: float) -> Floats:
    """Log-likelihood of each pair."""
    return np.asarray(np.logaddexp(np.log(doubt) + slab, np.log1p(-doubt) + spike))


def _fitted(spike: Floats, slab: Floats) -> tuple[Floats, Floats]:
    """The best doubt and its log-likelihood by n0 [n0s]; spike [n0s, K], slab [K]."""
    gap = np.clip(spike - slab, -700.0, 700.0)  # [n0s, K] ln of the odds of the likelihoods
    doubt, odds = np.full(len(spike), 0.2), np.exp(-gap)
    for _ in range(ROUNDS):
        other = odds * (doubt / (1.0 - doubt))[:, None]
        doubt = ((other / (1.0 + other)).sum(axis=1) + 0.5) / (spike.shape[1] + 1.0)
    total = (slab + np.log(doubt[:, None] + (1.0 - doubt[:, None]) * np.exp(gap))).sum(axis=1)
    return doubt, total


@seldom(lambda first, N, q, visits, leaks, S: 8 * N.size * visits.size * leaks.size)
def likelihoods(first: Any, N: Any, q: Any, visits: Any, leaks: Any, S: int) -> Any:
    """ln DM(N; n0 q') for every leak and n0 [leaks, n0s, K], and ln DM(N; 1/S) [K]."""
    K = first.size - 1
    spike, slab = np.zeros((leaks.size, visits.size, K)), np.zeros(K)
    blank = log_gamma(1.0 / S)
    for k in range(K):
        n = 0.0
        for j in range(first[k], first[k + 1]):
            n += N[j]
            slab[k] += log_gamma(1.0 / S + N[j]) - blank
        slab[k] -= log_gamma(1.0 + n)
        for v in range(visits.size):
            all_of_it = log_gamma(visits[v]) - log_gamma(visits[v] + n)
            for i in range(leaks.size):
                total = all_of_it
                for j in range(first[k], first[k + 1]):
                    alpha = visits[v] * ((1.0 - leaks[i]) * q[j] + leaks[i] / S)
                    if alpha <= 0.0:
                        total = -np.inf
                    else:
                        total += log_gamma(alpha + N[j]) - log_gamma(alpha)
                spike[i, v, k] = total
    return spike, slab


def strata_of(evidence: Floats, held: Floats, most: int = 6) -> tuple[Ints, Ints, int]:
    """Groups by evidence: of all things, of those held out, and how many; LEAST held out in each.

    Args:
        evidence: of all things that are predicted, any shape.
        held: [K] of those that were held out.
        most: groups at the most.
    """
    groups = int(np.clip(held.size // LEAST, 1, most))
    edges = np.unique(np.quantile(held, np.arange(1, groups) / groups)) if held.size else held
    of = np.searchsorted(edges, evidence, side="right")
    return of, np.searchsorted(edges, held, side="right"), len(edges) + 1
