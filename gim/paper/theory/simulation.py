"""The Simulation Lemma: how far values are apart if two MDPs are close."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim.model.matrices import dynamic_matrices

Floats = NDArray[np.float64]


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
