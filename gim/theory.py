"""The paper's bounds as numbers.

Every bound is stated up to an unknown constant; here it is the parameter `constant`, 1 by default,
so that values compare and scale but promise nothing. `docs/theory.md` lists what they come to on
the tasks, and the steps of the proofs that do not hold as printed; functions whose name ends in
``_repaired`` give what does hold.

S and A are the numbers of states and actions, H the horizon, D the diameter, r, kappa, mu0 and mu1
the suprema over the dynamic matrices (`gim.model.matrices.spectrum`), rho the share of known
pairs, m the visits that make a pair known, beta the share of random actions.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim.model.matrices import THRESHOLD, dynamic_matrices, spectrum

Floats = NDArray[np.float64]


def known_fraction(
    S: int, A: int, kappa: float, r: int, mu0: float, mu1: float, constant: float = 1.0
) -> float:
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
    return constant / sqrt(S * A) * kappa**2 * max(terms)


def known_threshold(
    S: int,
    A: int,
    H: int,
    kappa: float,
    r: int,
    epsilon: float,
    rho: float = 1.0,
    constant: float = 1.0,
) -> float:
    """The m of Theorem 2."""
    return constant * kappa**4 * r * S * H**2 * max(S, A) / (rho * A * epsilon**2)


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
    constant: float = 1.0,
) -> float:
    """Episodes in which GIM may not be near-optimal (Theorem 2)."""
    size = kappa**4 * r * S**2 * max(S, A) * H * D
    return constant * size / ((1 - beta) * epsilon**2) * log(1 / delta)


def sample_complexity_rmax(
    S: int, A: int, H: int, epsilon: float, delta: float, constant: float = 1.0
) -> float:
    """Episodes in which RMax may not be near-optimal (Kakade, 2003, as the paper states it)."""
    return constant * S**2 * A * H**2 / epsilon**3 * log(1 / delta) * log(S * A / delta)


def sample_complexity_worst(
    S: int,
    A: int,
    H: int,
    D: float,
    epsilon: float,
    delta: float,
    beta: float = 0.2,
    constant: float = 1.0,
) -> float:
    """Scenario (3): episodes of GIM with rho = 1, completion switched off."""
    size = S**2 * A * H * D / ((1 - beta) * epsilon**2)
    return constant * size * log(1 / delta) * log(S * A / delta)


def known_threshold_worst(
    S: int, A: int, H: int, epsilon: float, delta: float, constant: float = 1.0
) -> float:
    """Scenario (3): the m that goes with rho = 1."""
    return constant * S * H**2 / epsilon**2 * log(S * A / delta)


class Scenario(NamedTuple):
    """Which comparison with RMax applies, and the rank below which GIM's bound is the lower."""

    number: int  # (1) A >= S, (2) S > A
    rank_below: float
    lower_than_rmax: bool


def scenario(
    S: int, A: int, H: int, r: int, epsilon: float, delta: float, constant: float = 1.0
) -> Scenario:
    """Scenarios (1) and (2): the condition on r, with kappa^4 D / (1 - beta) taken as constant."""
    limit = constant * H / epsilon * log(S * A / delta)
    if A < S:
        limit *= A / S
    return Scenario(1 if A >= S else 2, limit, r < limit)


class PlanningOperations(NamedTuple):
    """Numbers of dynamic-programming operations (Lemma 1)."""

    gim: float
    rmax: float
    rtdp_rmax: float


def planning_operations(S: int, A: int, epsilon: float, v_max: float) -> PlanningOperations:
    """Lemma 1: one for GIM, S for RMax, S A v_max / epsilon for RTDP-RMAX.

    The paper prints S A epsilon / v_max for the last, upside down: each of the S A values starts
    at v_max and is updated only when it falls by epsilon or more, so at most v_max / epsilon times.
    """
    return PlanningOperations(1.0, float(S), S * A * v_max / epsilon)


def exploration_bound(
    S: int,
    A: int,
    H: int,
    D: float,
    m: float,
    rho: float,
    beta: float = 0.2,
    delta: float = 0.05,
    constant: float = 1.0,
) -> float:
    """Episodes until a share rho of the pairs is known (Lemma 3); beside the measured TotalEps."""
    return constant * rho * m * S * A * D / ((1 - beta) * H) * log(1 / delta)


def perturbation_bound(
    S: int, A: int, kappa: float, r: int, rho: float, sigma: float, constant: float = 1.0
) -> float:
    """Root mean square error of one completed matrix (Keshavan, Montanari and Oh, 2010).

    The paper takes this average over entries for a bound on every entry, and (S+1) times it for a
    bound on dist(M, M'); neither follows. sigma is the noise of a seen entry: 1 / (2 sqrt(m)) for
    a probability estimated from m visits (`noise`).
    """
    return constant * kappa**2 * sigma * sqrt(r * max(S, A) / (rho * S * A))


def noise(m: float) -> float:
    """The sub-Gaussian parameter of a probability estimated from m visits, by Hoeffding."""
    return 1 / (2 * sqrt(m))


class Distance(NamedTuple):
    """How far two MDPs are apart."""

    transitions: float  # max over pairs of |p - p'|_1
    rewards: float  # max over pairs of |r - r'|

    @property
    def dist(self) -> float:
        """The paper's dist(M, M'), the larger of the two."""
        return max(self)


def distance(P: Any, r: ArrayLike, other_P: Any, other_r: ArrayLike) -> Distance:
    """Compare two MDPs, each as transitions [S, A, S] (or sparse [S*A, S]) and rewards [S, A]."""
    difference = dynamic_matrices(P, r) - dynamic_matrices(other_P, other_r)
    return Distance(
        float(np.abs(difference[:-1]).sum(axis=0).max()), float(np.abs(difference[-1]).max())
    )


def simulation_bound(dist: float, H: int) -> float:
    """The Simulation Lemma as printed: |V_M - V_M'| <= (H+1) dist, for every policy.

    False for rewards of large range; see `simulation_bound_repaired`.
    """
    return (H + 1) * dist


def simulation_bound_repaired(apart: Distance, H: int, span: float) -> float:
    """A simulation lemma that holds: for every policy, and the average reward over H steps.

    After h steps the state distributions are at most h times the distance of the transitions apart
    in l1, and never more than 2; an expectation of numbers of range `span` = max r - min r moves by
    at most half of span times that:

        |V_M - V_M'| <= d_r + span / (2 H) * sum_{h<H} min(h d_p, 2)

    which is at most d_r + span (H-1) d_p / 4. For |r| <= 1 this is below (H+1) dist, so there the
    printed lemma is true, though its proof is not.
    """
    drift = np.minimum(np.arange(H) * apart.transitions, 2.0).sum()
    return float(apart.rewards + span / (2 * H) * drift)


def average_value(P: Floats, r: Floats, policy: ArrayLike, H: int, start: ArrayLike = 0) -> float:
    """V of a policy: the expected average reward over H steps.

    Args:
        P: [S, A, S].
        r: [S, A].
        policy: actions [S], or by step [H, S].
        H: the horizon.
        start: a state, or a distribution [S].
    """
    S = len(r)
    states = np.arange(S)
    actions = np.broadcast_to(np.asarray(policy), (H, S))
    d = np.asarray(start, dtype=float) if np.ndim(start) else np.eye(S)[np.asarray(start)]
    total = 0.0
    for a in actions:
        total += float(d @ r[states, a])
        d = d @ P[states, a]
    return total / H


def value_gap(
    P: Floats,
    r: Floats,
    other_P: Floats,
    other_r: Floats,
    policy: ArrayLike,
    H: int,
    start: ArrayLike = 0,
) -> float:
    """|V_M - V_M'| of one policy: what the simulation lemma bounds."""
    return abs(
        average_value(P, r, policy, H, start) - average_value(other_P, other_r, policy, H, start)
    )


class Row(NamedTuple):
    """The theory of one task, with constants set to 1: a row of the table in docs/theory.md."""

    name: str
    S: int
    A: int
    H: int
    r: int
    kappa: float
    mu0: float  # in Keshavan's scaling
    mu1: float
    rho: float  # Theorem 2's; above 1 it asks for the impossible
    m: float  # Theorem 2's, at min(rho, 1)
    episodes: float  # Theorem 2's sample complexity
    episodes_rmax: float
    explore: float  # Lemma 3's episodes, at m = 40 and rho = .8


def table(
    name: str,
    P: Any,
    r: ArrayLike,
    H: int,
    D: float,
    epsilon: float = 0.1,
    delta: float = 0.05,
    beta: float = 0.2,
    with_rewards: bool = True,
    threshold: float = THRESHOLD,
) -> Row:
    """Work out the theory of one task.

    Args:
        name: of the task.
        P: transitions [S, A, S], or sparse [S*A, S].
        r: rewards [S, A].
        H: the horizon.
        D: the diameter.
        epsilon, delta: what the theorem is asked for.
        beta: the share of random actions.
        with_rewards: whether the reward matrix counts among the dynamic matrices, as the paper
            has it; rewards of very different size give it a large kappa.
        threshold: of the numerical rank.
    """
    matrices = dynamic_matrices(P, r)
    _, S, A = matrices.shape
    supremum = spectrum(matrices if with_rewards else matrices[:-1], threshold).suprema()
    kappa, rank = supremum.kappa, supremum.rank
    mu0, mu1 = supremum.mu0.keshavan, supremum.mu1.keshavan
    rho = known_fraction(S, A, kappa, rank, mu0, mu1)
    return Row(
        name,
        S,
        A,
        H,
        rank,
        kappa,
        mu0,
        mu1,
        rho,
        ceil(known_threshold(S, A, H, kappa, rank, epsilon, min(rho, 1.0))),
        sample_complexity(S, A, H, D, kappa, rank, epsilon, delta, beta),
        sample_complexity_rmax(S, A, H, epsilon, delta),
        exploration_bound(S, A, H, D, 40, 0.8, beta, delta),
    )
