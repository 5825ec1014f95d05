"""Sample complexity: Theorem 2, what it is compared with, and the lemmas behind it."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple


def known_fraction(S: int, A: int, kappa: float, r: int, mu0: float, mu1: float) -> float:
    """The rho of Theorem 2. Above 1, the theorem has nothing to say.

    mu0 and mu1 are to be in Keshavan's scaling, in which the theorem behind it is stated.
    """
    low, high = min(S, A), max(S, A)
    spread = high / low
    terms = (
        mu0 * r * sqrt(spread) * log(low),
        mu0**2 * r**2 * spread * kappa**4,
        mu1**2 * r**2 * spread * kappa**4,
    )
    return 1.0 / sqrt(S * A) * kappa**2 * max(terms)


def known_threshold(
    S: int,
    A: int,
    H: int,
    kappa: float,
    r: int,
    epsilon: float,
    rho: float = 1.0,
) -> float:
    """The m of Theorem 2."""
    return kappa**4 * r * S * H**2 * max(S, A) / (rho * A * epsilon**2)


def sample_complexity(
    S: int,
    A: int,
    H: int,
    D: float,
    kappa: float,
    r: int,
    epsilon: float,
    delta: float,
    beta: float = 0.2,
) -> float:
    """Episodes in which GIM may not be near-optimal (Theorem 2)."""
    size = kappa**4 * r * S**2 * max(S, A) * H * D
    return size / ((1 - beta) * epsilon**2) * log(1 / delta)


def sample_complexity_rmax(S: int, A: int, H: int, epsilon: float, delta: float) -> float:
    """Episodes in which RMax may not be near-optimal (Kakade, 2003, as the paper states it)."""
    return S**2 * A * H**2 / epsilon**3 * log(1 / delta) * log(S * A / delta)


def sample_complexity_worst(
    S: int,
    A: int,
    H: int,
    D: float,
    epsilon: float,
    delta: float,
    beta: float = 0.2,
) -> float:
    """Scenario (3): episodes of GIM with rho = 1, completion switched off."""
    size = S**2 * A * H * D / ((1 - beta) * epsilon**2)
    return size * log(1 / delta) * log(S * A / delta)


def known_threshold_worst(S: int, A: int, H: int, epsilon: float, delta: float) -> float:
    """Scenario (3): the m that goes with rho = 1."""
    return S * H**2 / epsilon**2 * log(S * A / delta)


class Scenario(NamedTuple):
    """Which comparison with RMax applies, and the rank below which GIM's bound is the lower."""

    number: int  # (1) A >= S, (2) S > A
    rank_below: float
    lower_than_rmax: bool


def scenario(S: int, A: int, H: int, r: int, epsilon: float, delta: float) -> Scenario:
    """Scenarios (1) and (2): the condition on r, with kappa^4 D / (1 - beta) taken as constant."""
    limit = H / epsilon * log(S * A / delta)
    if A < S:
        limit *= A / S
    return Scenario(1 if A >= S else 2, limit, r < limit)


def exploration_bound(
    S: int,
    A: int,
    H: int,
    D: float,
    m: float,
    rho: float,
    beta: float = 0.2,
    delta: float = 0.05,
) -> float:
    """Episodes until a share rho of the pairs is known (Lemma 2); beside the measured TotalEps."""
    return rho * m * S * A * D / ((1 - beta) * H) * log(1 / delta)


def perturbation_bound(S: int, A: int, kappa: float, r: int, rho: float, sigma: float) -> float:
    """Root mean square error of one completed matrix (Keshavan, Montanari and Oh, 2010).

    The paper takes this average over entries for a bound on every entry, and (S+1) times it for a
    bound on dist(M, M'); neither follows. sigma is the noise of a seen entry: 1 / (2 sqrt(m)) for
    a probability estimated from m visits (`noise`).
    """
    return kappa**2 * sigma * sqrt(r * max(S, A) / (rho * S * A))


def noise(m: float) -> float:
    """The sub-Gaussian parameter of a probability estimated from m visits, by Hoeffding."""
    return 1 / (2 * sqrt(m))
