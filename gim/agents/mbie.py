"""MBIE, model-based interval estimation (Strehl and Littman, 2005 and 2008).

Each episode follows the best policy of the best MDP within the confidence intervals of the counts:

    Q_h(s, a) = upper r(s, a) + max over p with |p - p_hat|_1 <= e_p of sum_s' p(s') V_{h+1}(s')

With n visits of the pair, T steps so far and d = delta / (2 S A T), the widths are

    e_r = w sqrt(ln(2 / d) / (2 n)),    e_p = sqrt(2 (ln(2^S - 2) - ln d) / n),

w the width of the reward range, both times `scale`. A pair never met is worth the most that can
come. Published for discounted values; here over the horizon, planned anew after each episode.
"""

from __future__ import annotations

import math
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
from gim.planning.extended import extended_induction_into
from gim.runs.agent import Agent


@dataclass(frozen=True)
class MBIE(Episodic, Agent, name="mbie"):
    """The best MDP within confidence intervals of rewards and transitions, each episode anew."""

    scale: Annotated[float, Within(0), "times both widths; 1: the inequalities themselves"] = 0.05
    delta: Annotated[float, Within(1e-12, 1), "probability that the intervals may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "scale=1,delta=0.5", "infer=by_completion(m=2,rho=0.3)")

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Extended value iteration over the horizon."""
        task = mind.task
        T = max(1, int(memory.belief.visits[0]))
        d = self.delta / (2 * task.S * task.A * T)
        of_rewards = self.scale * math.sqrt(math.log(2 / d) / 2)
        of_rows = self.scale * math.sqrt(2 * (log_subsets(task.S) - math.log(d)))
        plan_within(memory, seen, rewards, mind, of_rewards, of_rows)


def plan_within(
    memory: Memory,
    seen: Evidence,
    rewards: tuple[float, float],
    mind: Mind,
    of_rewards: float,
    of_rows: float,
) -> None:
    """Plan optimistically where one visit leaves widths of this size, and n of them 1 / sqrt(n).

    Args:
        memory: whose q, v and policy are filled.
        seen: the evidence.
        rewards: the least and the largest r(s,a).
        mind: who asks.
        of_rewards: half-width of a reward after one visit, in units of the reward range.
        of_rows: L1 width of p(.|s,a) after one visit.
    """
    low, high = rewards
    at = np.sqrt(np.maximum(seen.n, 1e-300))
    upper = mean_rewards(seen, high)
    upper += of_rewards * (high - low) / np.sqrt(np.maximum(seen.n_r, 1e-300))
    r = np.where(seen.n > 0, np.minimum(high, upper), np.inf)  # inf: brought to the ceiling
    width = of_rows / at
    ends = memory.belief.terminal
    r[ends] = width[ends] = 0.0
    extended_induction_into(
        divided(seen.N, seen.n),
        r,
        width,
        most_to_come(mind.task.H, high),
        mind.task.available,
        memory.q,
        memory.v,
        memory.policy,
    )


def log_subsets(S: int) -> float:
    """ln(2^S - 2), for any S: the sets of states that a union bound goes over; 0 for S = 1."""
    return S * math.log(2) + math.log1p(-(2.0 ** (1 - S))) if S > 1 else 0.0
