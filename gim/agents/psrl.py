"""PSRL, posterior sampling for reinforcement learning (Osband, Russo and Van Roy, 2013).

Each episode follows the best policy of an MDP drawn from the posterior:

    p(.|s, a) ~ Dirichlet(alpha / S + n(.|s, a)),
    r(s, a) ~ normal-gamma: precision tau ~ Gamma(shape, rate), mean ~ N(mu, 1 / (lambda tau))

(Strens, 2000, for the idea; Thompson, 1933, for one state). The normal-gamma prior is stated in the
units of the task's reward range, so that scaling all rewards changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, GROW, THINK, Agent, Mind, Task
from gim.inference.base import Floats, inferences
from gim.inference.belief import (
    Belief,
    Evidence,
    believed_model,
    dense,
    evidence,
    infer_when_due,
    new_belief,
    observe,
    with_room,
)
from gim.jit import hot
from gim.model.learned import LearnedModel
from gim.model.rewards import RMax, RMin, reward_range
from gim.params import Within
from gim.planning import backward_induction_into

TINY = np.finfo(np.float64).tiny


class Memory(NamedTuple):
    """What was seen, and the plan for the MDP drawn last."""

    belief: Belief
    q: NDArray[np.float64]  # [H, S, A]
    v: NDArray[np.float64]  # [H + 1, S]
    policy: NDArray[np.int64]  # [H, S]


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the policy of the MDP drawn."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; draw and plan after each episode."""
    full = observe(memory.belief, s, a, r, t, end)
    if end != GO_ON:
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class PSRL(Agent, name="psrl"):
    """Plays the best policy of an MDP drawn from the posterior, a new one each episode."""

    alpha: Annotated[float, Within(1e-3), "visits that the Dirichlet prior is worth"] = 1.0
    mean: Annotated[float, Within(), "prior mean reward: 0 the least, 1 the largest"] = 1.0
    visits: Annotated[float, Within(1e-9), "visits that the prior mean is worth, lambda"] = 0.1
    shape: Annotated[float, Within(1e-9), "of the precision's prior"] = 1.0
    spread: Annotated[float, Within(1e-9), "prior standard deviation of rewards, in ranges"] = 0.1
    r_min: RMin = None
    r_max: RMax = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Nothing seen."""
        S, A, H = task.S, task.A, task.H
        reward_range(task, self.r_min, self.r_max)  # complain now rather than later
        return Memory(
            belief=new_belief(task, self.infer),
            q=np.zeros((H, S, A)),
            v=np.zeros((H + 1, S)),
            policy=np.zeros((H, S), np.int64),
        )

    def think(self, memory: Memory, mind: Mind) -> None:
        """Draw an MDP from the posterior and plan on it."""
        belief, task = memory.belief, mind.task
        low, high = reward_range(task, self.r_min, self.r_max)
        infer_when_due(belief, self.infer, mind, (low, high))
        with mind.timed("drawing"):
            seen = evidence(belief)
            P = self.draw_transitions(seen, mind.rng)
            r = self.draw_rewards(seen, low, high, mind.rng)
            P[belief.terminal], r[belief.terminal] = 0.0, 0.0
        with mind.timed("planning"):
            backward_induction_into(P, r, task.available, memory.q, memory.v, memory.policy)
        mind.plans += 1

    def draw_transitions(self, seen: Evidence, rng: np.random.Generator) -> Floats:
        """p(.|s,a) of every pair [S, A, S]: gamma variables over their sum are Dirichlet."""
        S = seen.n.shape[0]
        P = rng.standard_gamma(dense(seen.N, seen.n.shape) + self.alpha / S)
        np.maximum(P, TINY, out=P)  # a small shape may give 0 everywhere
        P /= P.sum(axis=2, keepdims=True)
        return P

    def draw_rewards(
        self, seen: Evidence, low: float, high: float, rng: np.random.Generator
    ) -> Floats:
        """r(s,a) of every pair [S, A] from its normal-gamma posterior."""
        n, width = seen.n_r, max(high - low, TINY)
        mu0, lambda0 = low + self.mean * (high - low), self.visits
        mean = seen.R / np.maximum(n, TINY)
        scatter = np.maximum(seen.R2 - n * mean**2, 0.0)
        lambda_n = lambda0 + n
        mu = (lambda0 * mu0 + seen.R) / lambda_n
        rate = self.shape * (self.spread * width) ** 2
        rate = rate + scatter / 2 + lambda0 * n * (mean - mu0) ** 2 / (2 * lambda_n)
        tau = rng.standard_gamma(self.shape + n / 2) / rate
        return mu + rng.standard_normal(n.shape) / np.sqrt(lambda_n * tau)

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples."""
        return memory._replace(belief=with_room(memory.belief))

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The best policy [H, S] of the MDP drawn last."""
        return memory.policy.copy()

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """What was counted and inferred, not what was drawn."""
        return believed_model(memory.belief, task)
