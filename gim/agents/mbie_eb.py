"""MBIE-EB, model-based interval estimation with exploration bonus (Strehl and Littman, 2008).

    Q_h(s,a) = r(s,a) + sum_s' p(s'|s,a) V_{h+1}(s') + beta / sqrt(n(s,a))

but at most what the steps to come can pay, which is also the value of a pair never met. Published
for discounted values; here over the horizon, planned anew after each episode.
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

NEVER_MET = 1e-300  # in place of 0 visits: a bonus that only the ceiling bounds


@dataclass(frozen=True)
class MBIEEB(Episodic, Agent, name="mbie_eb"):
    """A bonus of beta / sqrt(visits) on every reward, planned anew each episode."""

    beta: Annotated[float, Within(0), "bonus of a pair met once, in units of the reward range"] = (
        0.5
    )
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "infer=by_completion(m=2,rho=0.3)")

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with the bonus."""
        low, high = rewards
        P, r = divided(seen.N, seen.n), mean_rewards(seen, high)
        bonus = self.beta * (high - low) / np.sqrt(np.maximum(seen.n, NEVER_MET))
        ends = memory.belief.terminal
        r[ends] = bonus[ends] = 0.0
        optimistic_induction_into(
            P,
            r,
            bonus[None],
            most_to_come(mind.task.H, high),
            mind.task.available,
            memory.q,
            memory.v,
            memory.policy,
        )
