"""Ways that nobody predicted: states to which some pairs lead now and then.

A pair may do what is predicted of it most of the time and lead to a treasure now and then. A few
visits that agree do not rule that out, as they rule out that it does anything at all. So a state t
may be a goal: a share of the pairs leads there with a chance w, the others next to never, whatever
is predicted of them. With k of n visits of a judge in t, that is compared with what is predicted,

    k ~ share BB(s w) + (1 - share) BB(s USUAL)   against   k ~ BB(n0 q(t)),

BB the beta-binomial distribution. If it is far likelier over all judges, t is a goal, and a pair's
own visits say how likely it is one of those that lead there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from gim.belief.certificate.judges import FEW, Floats, Ints, Judges

SHARES = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.3])
WIDTHS = np.array([0.03, 0.06, 0.12, 0.25, 0.5, 0.9])
CLEARLY = 3.0  # nats by which a way must be likelier than none, besides one for each choice
MOST = 4  # goals
USUAL = 1e-3  # chance of a goal for pairs that have no way to it
ALIKE = 200.0  # s, visits that the chances of all that have one are worth


class Surprises(NamedTuple):
    """Ways that nobody predicted."""

    goals: Ints  # [D] states
    width: Floats  # [D] the chance that a pair with a way takes it
    chance: Floats  # [D, S*A] that a pair has one

    def drawn(self, models: int, rng: np.random.Generator) -> Floats:
        """The width of every way in so many models, [models, D, S*A]; 0: there is none."""
        there = rng.random((models, *self.chance.shape)) < self.chance
        return np.asarray(there * self.width[:, None])


def surprises(judges: Judges, n0: Floats, leak: float) -> Surprises:
    """From all judges, whose predictions are worth n0 [K] and miss a share `leak` of all visits."""
    S, n, N = judges.S, judges.n[:, None], judges.N.toarray()
    q = (1.0 - leak) * judges.held.toarray() + leak / S
    as_predicted = _likelihoods(N, n, n0[:, None], q).sum(axis=0)
    without = _likelihoods(N, n, ALIKE, np.full((1, S), USUAL))
    best, share, width, odds = np.full(S, -np.inf), np.zeros(S), np.zeros(S), np.zeros(N.shape)
    for each in WIDTHS:
        gain = _likelihoods(N, n, ALIKE, np.full((1, S), each)) - without
        for part in SHARES:
            now = gain + math.log(part) - math.log1p(-part)
            score = (without + np.logaddexp(0.0, now) + math.log1p(-part)).sum(axis=0)
            better = score > best
            best[better], width[better], share[better] = score[better], each, part
            odds[:, better] = now[:, better]
    gain = best - as_predicted
    clear = gain > CLEARLY + math.log(S * SHARES.size * WIDTHS.size)
    clear &= (odds > 0.0).sum(axis=0) >= FEW
    goals = np.flatnonzero(clear)[np.argsort(-gain[clear], kind="stable")][:MOST]
    chance = np.repeat(share[goals, None], S * judges.A, axis=1)
    chance[:, judges.pairs] = expit(odds[:, goals].T)
    return Surprises(goals.astype(np.int64), width[goals], chance)


def _likelihoods(N: Floats, n: Floats, n0: Any, q: Floats) -> Floats:
    """ln of the chance that N of n visits lead to a state of which q is predicted, but for C(n, N).

    Beta-binomial; [K, S] each, or [K, 1].
    """
    hit, miss = n0 * q, n0 * (1.0 - q)
    found = gammaln(hit + N) - gammaln(hit) + gammaln(miss + n - N) - gammaln(miss)
    return np.asarray(found + gammaln(n0) - gammaln(n0 + n))
