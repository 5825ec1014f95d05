"""UCRL2, upper confidence reinforcement learning (Auer, Jaksch and Ortner, 2009; Jaksch, 2010).

An epoch follows the best policy of the best MDP within the confidence sets of the counts, and ends
at once when the visits of some pair have doubled since it began. With n visits of a pair and t
steps before the epoch,

    e_r = w sqrt(7 ln(2 S A t / delta) / (2 n)),    e_p = sqrt(14 S ln(2 A t / delta) / n),

w the width of the reward range, both times `scale`. Published for the average reward of one endless
life, where value iteration stops when all values grow alike; here it goes back over the horizon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from gim._base.params import Within
from gim.agents.episodic import Episodic, Memory
from gim.agents.mbie import plan_within
from gim.analogy.base import inferences
from gim.belief.evidence import Evidence
from gim.model.rewards import LargestReward, LeastReward
from gim.model.task import Mind
from gim.runs.agent import Agent


@dataclass(frozen=True)
class UCRL2(Episodic, Agent, name="ucrl2"):
    """The best MDP within confidence sets, planned anew when the visits of a pair have doubled."""

    scale: Annotated[float, Within(0), "times both widths; 1: as published"] = 0.02
    delta: Annotated[float, Within(1e-12, 1), "probability that the sets may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    growth = 1.0  # doubled,
    at_once = 1  # or met for the first time: the epoch ends
    examples = (
        "",
        "scale=1,delta=0.5",
        "infer=by_completion(m=2,rho=0.3)",
    )

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Extended value iteration over the horizon."""
        S, A, t = mind.task.S, mind.task.A, max(1, int(memory.belief.visits[0]))
        of_rewards = self.scale * math.sqrt(7 * math.log(2 * S * A * t / self.delta) / 2)
        of_rows = self.scale * math.sqrt(14 * S * math.log(2 * A * t / self.delta))
        plan_within(memory, seen, rewards, mind, of_rewards, of_rows)
