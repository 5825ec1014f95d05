"""What a pair's own visits say of its prediction: the probability that it holds there.

    w = (1 - doubt) DM(n(.|s,a); n0 q) / ((1 - doubt) DM(n(.|s,a); n0 q) + doubt DM(n(.|s,a); 1/S)),

where DM is the Dirichlet-multinomial likelihood; of rewards likewise, by normal densities.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gim.inference.prior import Floats, Prior
from gim.jit import entry, hot, seldom
from gim.model.counts import Counts

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
LEAST, MOST = 1e-300, 1.0 - 1e-12  # a doubt whose logarithms are asked for
FARTHEST = 700.0  # nats between two hypotheses, beyond which they are not told apart


@hot
def log_gamma(x: float) -> float:
    """ln Gamma(x) for x > 0, by Stirling's series; the same bits compiled and plain."""
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    y = 1.0 / (x * x)
    series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2PI + series - math.log(product)


@hot
def log_odds(doubt: float) -> float:
    """ln(doubt / (1 - doubt)), finite."""
    return math.log(max(doubt, LEAST)) - math.log1p(-min(doubt, MOST))


@hot
def clipped(nats: float) -> float:
    """No farther from 0 than FARTHEST."""
    return min(max(nats, -FARTHEST), FARTHEST)


@hot
def probability(against: float) -> float:
    """Of what has these log-odds against it."""
    return 1.0 / (1.0 + math.exp(clipped(against)))


def holds(rows: Any, said: Any, n0: Floats, leak: Floats, doubt: Floats, S: int) -> Floats:
    """The probability w that each prediction holds at its pair, given its own visits.

    `rows` are the visits of some pairs and `said` is what is predicted of them, CSR parts; the
    others have a number for each pair.
    """
    w = np.ones(n0.size)
    _hold(compare_likelihoods(rows, said, n0, leak, S), doubt, w)
    return w


@seldom(lambda sides, doubt, w: 2 * w.size)
def _hold(sides: Any, doubt: Any, w: Any) -> None:
    for i in range(w.size):
        if doubt[i] > 0.0:
            w[i] = probability(clipped(sides[1, i] - sides[0, i]) + log_odds(doubt[i]))


def compare_likelihoods(rows: Any, said: Any, n0: Any, leak: Any, S: int) -> Any:
    """ln DM(N; n0 ((1 - leak) q + leak/S)) and ln DM(N; 1/S) of every row, [2, rows].

    `rows` are the counts and `said` is what is predicted, CSR parts with their columns in order.
    The first is -inf where something was seen that is impossible under the prediction.
    """
    sides = np.zeros((2, n0.size))
    _compare(rows, said, n0, leak, S, sides)
    return sides


@entry
def _compare(rows: Any, said: Any, n0: Any, leak: Any, S: int, sides: Any) -> None:
    (N, columns, starts), (q, next, first) = rows, said
    blank = log_gamma(1.0 / S)
    for i in range(n0.size):
        if n0[i] <= 0.0 or starts[i] == starts[i + 1]:
            continue
        total, with_q, without, k = 0.0, 0.0, 0.0, first[i]
        for j in range(starts[i], starts[i + 1]):
            while k < first[i + 1] and next[k] < columns[j]:
                k += 1
            predicted = q[k] if k < first[i + 1] and next[k] == columns[j] else 0.0
            alpha = n0[i] * ((1.0 - leak[i]) * predicted + leak[i] / S)
            total += N[j]
            without += log_gamma(1.0 / S + N[j]) - blank
            if alpha <= 0.0:
                with_q = -np.inf
            else:
                with_q += log_gamma(alpha + N[j]) - log_gamma(alpha)
        sides[0, i] = with_q + log_gamma(n0[i]) - log_gamma(n0[i] + total)
        sides[1, i] = without - log_gamma(1.0 + total)


def rewards_hold(counts: Counts, prior: Prior) -> Floats:
    """The probability [S, A] that a predicted reward holds at its pair, given what it paid.

    The mean of n rewards is compared under the prediction, normal with the variance of n single
    ones besides that of r_n0, and under no prediction, where it varies as r(s,a) does over all
    pairs. Where rewards are certain, one that differs removes the prediction.
    """
    hold = np.ones(counts.n.shape)
    if prior.r_doubt.any():
        met = counts.n > 0
        varies = float(np.var(counts.R[met] / counts.n[met])) if met.any() else 0.0
        said = prior.r, prior.r_n0, prior.r_doubt, prior.r_noise
        _rewards_hold(varies, *(each.ravel() for each in (counts.n, counts.R, *said, hold)))
    return hold


@seldom(lambda varies, n, *_: 2 * n.size)
def _rewards_hold(
    varies: float, n: Any, R: Any, r: Any, r_n0: Any, doubt: Any, noise: Any, hold: Any
) -> None:
    for i in range(n.size):
        if n[i] > 0 and doubt[i] > 0.0:
            mean, wide = R[i] / n[i], varies + noise[i]
            narrow = noise[i] * (1.0 / n[i] + 1.0 / max(r_n0[i], LEAST))
            narrow = max(narrow, 1e-18 * (1.0 + mean * mean + wide))  # equal but for rounding
            wide = max(wide, narrow)
            off = (mean - r[i]) * (mean - r[i])
            other = 0.5 * (math.log(narrow / wide) + off / narrow - off / wide)
            hold[i] = probability(log_odds(doubt[i]) + other)
