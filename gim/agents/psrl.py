"""PSRL, posterior sampling for reinforcement learning (Osband, Russo and Van Roy, 2013).

Each episode follows the best policy of an MDP drawn from the posterior (Strens, 2000):

    p(.|s,a) ~ Dirichlet(alpha/S + n(.|s,a)),
    r(s,a) ~ N(mu, 1 / (lambda tau)) with the precision tau ~ Gamma(shape, rate): normal-gamma.

The prior of rewards is stated in units of the reward range, so that scaling all rewards changes
nothing; it is optimistic, and weak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim.agent import Agent, Mind
from gim.agents.episodic import Episodic, Memory
from gim.inference.base import Floats, inferences
from gim.inference.belief import Evidence, dense
from gim.model.rewards import RMax, RMin
from gim.params import Within
from gim.planning import backward_induction_into

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class PSRL(Episodic, Agent, name="psrl"):
    """Plays the best policy of an MDP drawn from the posterior, a new one each episode."""

    alpha: Annotated[float, Within(1e-3), "visits that the Dirichlet prior is worth"] = 1.0
    mean: Annotated[float, Within(), "prior mean reward: 0 the least, 1 the largest"] = 1.0
    visits: Annotated[float, Within(1e-9), "visits that the prior mean is worth, lambda"] = 0.1
    shape: Annotated[float, Within(1e-9), "half the visits that the prior spread is worth"] = 1.0
    spread: Annotated[float, Within(1e-9), "prior standard deviation of rewards, in ranges"] = 0.1
    r_min: RMin = None
    r_max: RMax = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Draw an MDP from the posterior and plan on it."""
        P = self.draw_transitions(seen, mind.rng)
        r = self.draw_rewards(seen, rewards, mind.rng)
        ends = memory.belief.terminal
        P[ends], r[ends] = 0.0, 0.0
        available = mind.task.available
        backward_induction_into(P, r, available, memory.q, memory.v, memory.policy)

    def draw_transitions(self, seen: Evidence, rng: np.random.Generator) -> Floats:
        """p(.|s,a) of every pair [S, A, S]: gamma variables over their sum are Dirichlet."""
        P = rng.standard_gamma(dense(seen.N, seen.n.shape) + self.alpha / len(seen.n))
        np.maximum(P, TINY, out=P)  # a small shape may give 0 everywhere
        P /= P.sum(axis=2, keepdims=True)
        return P

    def draw_rewards(
        self, seen: Evidence, rewards: tuple[float, float], rng: np.random.Generator
    ) -> Floats:
        """r(s,a) of every pair [S, A] from its normal-gamma posterior."""
        low, high = rewards
        mu0, lambda0, n = low + self.mean * (high - low), self.visits, seen.n_r
        mean = seen.R / np.maximum(n, TINY)
        scatter = np.maximum(seen.R2 - n * mean**2, 0.0)  # about their own mean
        lambda_n = lambda0 + n
        mu_n = (lambda0 * mu0 + seen.R) / lambda_n
        rate0 = self.shape * (self.spread * (high - low)) ** 2
        rate_n = rate0 + scatter / 2 + lambda0 * n * (mean - mu0) ** 2 / (2 * lambda_n)
        tau = rng.standard_gamma(self.shape + n / 2) / np.maximum(rate_n, 1e-290)
        return mu_n + rng.standard_normal(n.shape) / np.sqrt(lambda_n * tau)
