"""RLSVI, randomised least-squares value iteration (Osband, Van Roy, Russo and Wen, 2019).

The tabular form. Before each episode values are drawn, backwards over the horizon, and the greedy
policy is played. Least squares on rewards with noise of deviation sigma, and with a prior that is
worth k visits, then have a closed form:

    Q_h(s,a) ~ N((k top_h + n (r(s,a) + sum_s' p(s'|s,a) V_{h+1}(s'))) / (k + n), sigma^2 / (k + n))

where n, r and p are as counted and top_h, the prior's mean, is the most that steps h on can pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim.agents.episodic import Episodic, Memory
from gim.analogy.base import inferences
from gim.belief.evidence import Evidence
from gim.belief.knowledge import divided, mean_rewards
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.model.task import Mind
from gim.planning import optimistic_induction_into
from gim.runs.agent import Agent


@dataclass(frozen=True)
class RLSVI(Episodic, Agent, name="rlsvi"):
    """Plays the best policy of values with Gaussian noise, drawn anew each episode."""

    sigma: Annotated[float, Within(0), "deviation of the noise on a reward, in reward ranges"] = 0.1
    visits: Annotated[float, Within(1e-9), "visits that the prior mean is worth"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "sigma=2,visits=3", "infer=by_completion(m=2,rho=0.3)")

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Draw the noise of every step and pair, then backward induction."""
        low, high = rewards
        H, ends = mind.task.H, memory.belief.terminal
        weight = self.visits + seen.n
        noise = self.sigma * (high - low) * mind.rng.standard_normal(memory.q.shape)
        prior = (self.visits / weight) * most_to_come(H, high)[:, None, None]
        r = seen.n / weight * mean_rewards(seen, high)
        drawn = prior + noise / np.sqrt(weight)
        r[ends] = drawn[:, ends] = 0.0
        optimistic_induction_into(
            divided(seen.N, weight),
            r,
            drawn,
            np.full(H, np.inf),
            mind.task.available,
            memory.q,
            memory.v,
            memory.policy,
        )
