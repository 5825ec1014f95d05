"""What is believed of r(s,a), ready to be drawn."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from gim.inference.certificate.draws import Rewards
from gim.inference.certificate.facts import Bools, Facts, Floats
from gim.inference.evidence import rewards_hold
from gim.inference.prior import no_prior

ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none
SOLVED = 1 << 30  # operations up to which rewards are tried as a function of the next state


def payments(facts: Facts, unlike: Bools) -> Rewards:
    """What is believed of the rewards of every pair.

    A pair that was met pays what it has paid, up to the noise of single rewards, in which that of
    all pairs counts as one visit; what is predicted counts as visits, if it holds. The reward of a
    pair never met is as predicted, but for the chance that it is not, and may else be anything; so
    may that of one `unlike` [S, A] all judges.
    """
    counts, prior = facts.belief.counts, facts.belief.prior
    prior = prior if prior.n0.size else no_prior(*counts.n.shape)
    met, n = counts.n > 0, np.maximum(counts.n, 1)
    own = counts.R / n
    size = max(float(np.abs(own).max(initial=0.0)), 1e-300)
    scatter = np.maximum(counts.R2 - n * own**2, 0.0)
    scatter[scatter <= ROUNDING * n * size**2] = 0.0
    pooled = float(scatter.sum() / max((counts.n - 1)[met].sum(), 1))
    noise = np.where(met, (scatter + pooled) / n, pooled)  # variance of a single reward
    given = np.isinf(prior.r_n0)  # known from elsewhere
    r_n0 = np.where(given, 0.0, prior.r_n0)
    visits = np.maximum(counts.n + r_n0, 1e-300)
    mean = np.where(given, prior.r, (counts.R + r_n0 * prior.r) / visits)
    told = met | given | ((r_n0 > 0) & ~unlike)
    sd = np.where(given | ~told, 0.0, np.sqrt(noise / visits))
    free = np.where(met | given, 0.0, np.where(told, prior.r_doubt, 1.0))
    holds = np.where(met & ~given, rewards_hold(counts, prior), 1.0)
    by_next, strange = np.zeros(0), np.zeros(0, bool)
    if pooled > 0 and not given.any():
        by_next, strange = paid_by_next(facts.judges.all, counts.R.ravel(), counts.R2.ravel())
        if by_next.size:
            free = np.where(met, 0.0, 0.5 / (met.sum() + 1.0))
    return Rewards(
        mean=np.stack([own.ravel(), mean.ravel()]),
        sd=np.stack([np.sqrt(noise / n).ravel(), sd.ravel()]),
        holds=holds.ravel(),
        free=free.ravel(),
        by_next=by_next,
        strange=strange,
        low=float(facts.frame.reward_range[0]),
        high=float(facts.frame.reward_range[1]),
    )


def paid_by_next(N: sparse.csr_array, R: Floats, R2: Floats) -> tuple[Floats, Bools]:
    """What each next state pays [S], and which were never entered; size 0 if they do not decide.

    They do if payments of next states alone explain the rewards of all pairs, and their squares,
    where pairs are at least twice as many as states. Then r(s,a) = sum p(s'|s,a) paid(s') is off as
    p is, and has no noise of its own.

    Args:
        N: [S*A, S] visits by next state.
        R, R2: [S*A] sums of rewards and of their squares.
    """
    none = np.zeros(0), np.zeros(0, bool)
    met = np.flatnonzero(np.diff(N.indptr) > 0)
    entered = np.asarray(N.sum(axis=0)).ravel() > 0
    if met.size < 2 * entered.sum() or met.size * N.shape[1] ** 2 > SOLVED:
        return none
    visits = np.asarray(N[met].sum(axis=1)).ravel()
    shares = N[met].toarray() / visits[:, None]
    mean, square = R[met] / visits, R2[met] / visits
    paid = np.linalg.lstsq(shares, mean, rcond=None)[0]
    off, off2 = np.abs(shares @ paid - mean).max(), np.abs(shares @ paid**2 - square).max()
    decides = off <= 1e-6 * math.sqrt(square.max()) and off2 <= 1e-6 * square.max()
    return (paid, ~entered) if decides else none
