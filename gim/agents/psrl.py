"""PSRL, posterior sampling for reinforcement learning (Osband, Russo and Van Roy, 2013).

Each episode follows the best policy of an MDP drawn from the posterior (Strens, 2000):

    p(.|s,a) ~ Dirichlet(alpha/S + n(.|s,a)),
    r(s,a) ~ N(mu, 1 / (lambda tau)) with the precision tau ~ Gamma(shape, rate): normal-gamma.

The prior of rewards is stated in units of the reward range, so that scaling all rewards changes
nothing; it is optimistic, and weak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim.agent import Agent, Mind
from gim.agents.episodic import Episodic, Memory
from gim.inference.base import Floats, inferences
from gim.inference.evidence import Evidence
from gim.jit import entry
from gim.model.counts import dense
from gim.model.rewards import LargestReward, LeastReward
from gim.params import Within
from gim.planning import backward_induction_into
from gim.sampling import gamma

TINY = 1e-300  # in place of 0: a gamma variable of small shape may be below any number


@dataclass(frozen=True)
class PSRL(Episodic, Agent, name="psrl"):
    """Plays the best policy of an MDP drawn from the posterior, a new one each episode."""

    alpha: Annotated[float, Within(1e-3), "visits that the Dirichlet prior is worth"] = 1.0
    mean: Annotated[float, Within(), "prior mean reward: 0 the least, 1 the largest"] = 1.0
    visits: Annotated[float, Within(1e-9), "visits that the prior mean is worth, lambda"] = 0.1
    shape: Annotated[float, Within(1e-9), "half the visits that the prior spread is worth"] = 1.0
    spread: Annotated[float, Within(1e-9), "prior standard deviation of rewards, in ranges"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "infer=by_completion(m=2,rho=0.3)")

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Draw an MDP from the posterior and plan on it."""
        available = mind.task.available
        playable = available & ~memory.belief.terminal[:, None]
        P, r = self.draw(seen, playable, rewards, mind.rng)
        backward_induction_into(P, r, available, memory.q, memory.v, memory.policy)

    def draw(
        self, seen: Evidence, playable: Any, rewards: tuple[float, float], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """p(.|s,a) [S, A, S] and r(s,a) [S, A] of the pairs that can be played; 0 elsewhere."""
        low, high = rewards
        rate = self.shape * (self.spread * (high - low)) ** 2
        prior = (self.alpha, low + self.mean * (high - low), self.visits, self.shape, rate)
        return draw((dense(seen.N, seen.n.shape), *seen[1:]), playable, prior, rng)


@entry
def draw(seen: Any, playable: Any, prior: Any, rng: Any) -> tuple[Floats, Floats]:
    """Draw pair by pair: its row, then the precision of its rewards, then their mean."""
    (N, _, R, R2, n_r), (alpha, mu0, lambda0, shape0, rate0) = seen, prior
    S, A = playable.shape
    P, r = np.zeros((S, A, S)), np.zeros((S, A))
    for s in range(S):
        for a in range(A):
            if not playable[s, a]:
                continue
            total = 0.0
            for t in range(S):  # gamma variables over their sum are Dirichlet
                P[s, a, t] = max(TINY, gamma(N[s, a, t] + alpha / S, rng))
                total += P[s, a, t]
            for t in range(S):
                P[s, a, t] /= total
            n, lambda_n = n_r[s, a], lambda0 + n_r[s, a]
            mean = R[s, a] / n if n > 0.0 else mu0
            scatter = max(0.0, R2[s, a] - n * mean * mean)  # about their own mean
            rate = rate0 + scatter / 2.0 + lambda0 * n * (mean - mu0) ** 2 / (2.0 * lambda_n)
            tau = gamma(shape0 + n / 2.0, rng) / max(rate, TINY)
            mu = (lambda0 * mu0 + R[s, a]) / lambda_n
            r[s, a] = mu + rng.standard_normal() / math.sqrt(lambda_n * tau)
    return P, r
