"""What a prediction is worth: a spike-and-slab mixture, judged by the likelihood of held-out pairs.

A pair's next states, counted N, were predicted as q without it, from B visits. Either the analogy
holds there, and the pair differs from q as far as its rule is known and as pairs of a rule differ,

    p ~ Dirichlet(n q'),   1/n = 1/n0 + 1/B,   q' = (1 - leak) q + leak / S,

or it does not, and p may be anything, p ~ Dirichlet(1/S). So

    P(N) = doubt DM(N; 1/S) + (1 - doubt) DM(N; n q').

What a rule does not know yet is in B; n0 says how much pairs of one rule differ. n0 and doubt have
a posterior, not a best value: pairs met once tell nothing of n0, so few pairs leave it open, and
half of its prior says that pairs of a rule do not differ. What is told is the mean of 1/(n0 + 1),
in proportion to which the variance of p is, and of the doubt. A stratum of pairs has those of all
the others or, with even odds beforehand, its own. The leak, which allows for successors that a
prediction from few visits has missed, is the likeliest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import seldom
from gim.analogy.prior import FARTHEST, log_gamma

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VISITS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 200.0])
DOUBTS = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
LEAKS = np.array([0.0, 0.003, 0.03, 0.2])
GROUPS = 6  # limit: strata
LEAST = 30  # pairs in a stratum


class HeldOut(NamedTuple):
    """Pairs that were held out: what was counted of them, and what was predicted of that."""

    pairs: Ints  # [K] s*A + a
    first: Ints  # [K + 1] where the successors of each begin
    N: Floats  # [nnz] visits of each successor that was met
    q: Floats  # [nnz] what was predicted of it; 0: nothing
    behind: Floats  # [K] visits that the prediction rests on; inf: no limit is known


class Worth(NamedTuple):
    """What held-out pairs say of a prediction."""

    n0: Floats  # [strata] visits that the prediction is worth where it holds, were its rule known
    doubt: Floats  # [strata] chance that it does not
    leak: float
    gain: float  # log-likelihood of the held-out pairs over that of no prediction


def worth_of(held: HeldOut, S: int, stratum: Ints, strata: int, most: float) -> Worth:
    """The posterior of n0 and doubt by stratum [K] of the pairs, and the likeliest leak.

    Args:
        held: the pairs.
        S: number of states.
        stratum: [K] the stratum of each pair, 0 to strata - 1; strata without a pair take those of
            all pairs.
        strata: how many there are.
        most: the largest n0.
    """
    visits = np.append(VISITS[most > VISITS], most)
    before = prior_of_worth(visits)
    spike, slab = likelihoods(held.first, held.N, held.q, held.behind, visits, LEAKS, S)
    by_leak = [_by_stratum(of_leak, slab, stratum, strata) for of_leak in spike]
    totals = [each.sum(axis=0) for each in by_leak]
    best = int(np.argmax([_evidence(before + total) for total in totals]))
    own, everything = by_leak[best], totals[best]
    all_alike = before + everything
    others = all_alike - own  # [strata, n0s, doubts] what the rest say
    shared = _evidence(all_alike) - _evidence(others)  # [strata] ln P(stratum | the others')
    alone = _evidence(before + own)
    odds = np.exp(np.clip(shared - alone, -FARTHEST, FARTHEST))
    share = np.where(own.any(axis=(1, 2)), odds / (1.0 + odds), 1.0)[:, None, None]
    of_all, of_own = _normal(all_alike), _normal(before + own)
    posterior = share * of_all + (1.0 - share) * of_own
    apart = (posterior.sum(axis=2) @ (1.0 / (visits + 1.0))).ravel()
    gain = _evidence(all_alike) + float(np.logaddexp(0.0, alone - shared).sum())
    gain -= strata * math.log(2.0)
    return Worth(1.0 / apart - 1.0, posterior.sum(axis=1) @ DOUBTS, float(LEAKS[best]), gain)


def prior_of_worth(visits: Floats) -> Floats:
    """ln of the prior chance of each n0 and doubt [n0s, doubts].

    Half of it is on the largest n0, the rest even; Jeffreys' of the doubt, which is a share.
    """
    of_n0 = np.append(np.full(visits.size - 1, 0.5 / max(visits.size - 1, 1)), 0.5)
    edges = np.concatenate([[0.0], np.sqrt(DOUBTS[:-1] * DOUBTS[1:]), [1.0]])
    of_doubt = np.diff(np.arcsin(np.sqrt(edges)))
    chance = of_n0[:, None] * of_doubt
    return np.asarray(np.log(chance / chance.sum()))


def _by_stratum(spike: Floats, slab: Floats, stratum: Ints, strata: int) -> Floats:
    """ln P of the pairs of each stratum over that of no prediction, [strata, n0s, doubts]."""
    ratio = np.exp(np.clip(spike - slab, -FARTHEST, FARTHEST))  # [n0s, K]
    found = np.empty((strata, len(spike), DOUBTS.size))
    for d, doubt in enumerate(DOUBTS):
        each = np.log(doubt + (1.0 - doubt) * ratio)
        for v in range(len(spike)):
            found[:, v, d] = np.bincount(stratum, each[v], strata)
    return found


def _evidence(logs: Floats) -> Any:
    """ln of the sum of exp over the grid, the last two axes."""
    most = logs.max(axis=(-2, -1), keepdims=True)
    return np.log(np.exp(logs - most).sum(axis=(-2, -1))) + most[..., 0, 0]


def _normal(logs: Floats) -> Floats:
    """Chances over the grid, the last two axes."""
    found = np.exp(logs - logs.max(axis=(-2, -1), keepdims=True))
    return np.asarray(found / found.sum(axis=(-2, -1), keepdims=True))


@seldom(lambda first, N, q, behind, visits, leaks, S: 8 * N.size * visits.size * leaks.size)
def likelihoods(first: Any, N: Any, q: Any, behind: Any, visits: Any, leaks: Any, S: int) -> Any:
    """ln DM(N; n q') for every leak and n0 [leaks, n0s, K], and ln DM(N; 1/S) [K]."""
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
            worth = 1.0 / (1.0 / visits[v] + 1.0 / max(behind[k], 1e-9))
            all_of_it = log_gamma(worth) - log_gamma(worth + n)
            for i in range(leaks.size):
                total = all_of_it
                for j in range(first[k], first[k + 1]):
                    alpha = worth * ((1.0 - leaks[i]) * q[j] + leaks[i] / S)
                    if alpha <= 0.0:
                        total = -np.inf
                    else:
                        total += log_gamma(alpha + N[j]) - log_gamma(alpha)
                spike[i, v, k] = total
    return spike, slab


def strata_of(evidence: Floats, held: Floats, most: int = GROUPS) -> tuple[Ints, Ints, int]:
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
