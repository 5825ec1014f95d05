"""MBIE-EB, model-based interval estimation with exploration bonus (Strehl and Littman, 2008).

    Q(s, a) = r(s, a) + sum_s' p(s'|s, a) V(s') + beta / sqrt(n(s, a))

at most what the remaining steps can pay, which is also the value of a pair never met. Here over the
horizon, planned anew after each episode; `beta` is in units of the reward range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, GROW, THINK, Agent, Mind, Task
from gim.inference.base import inferences
from gim.inference.belief import (
    Belief,
    believed_model,
    divided,
    evidence,
    infer_when_due,
    mean_rewards,
    new_belief,
    observe,
    with_room,
)
from gim.jit import hot
from gim.model.learned import LearnedModel
from gim.model.rewards import RMax, RMin, most_to_come, reward_range
from gim.params import Within
from gim.planning import optimistic_induction_into

HUGE = 1e300  # a bonus that only the ceiling bounds


class Memory(NamedTuple):
    """What was seen, and the optimistic plan."""

    belief: Belief
    q: NDArray[np.float64]  # [H, S, A]
    v: NDArray[np.float64]  # [H + 1, S]
    policy: NDArray[np.int64]  # [H, S]


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the optimistic policy."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; plan after each episode."""
    full = observe(memory.belief, s, a, r, t, end)
    if end != GO_ON:
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class MBIEEB(Agent, name="mbie_eb"):
    """A bonus of beta / sqrt(visits) on every reward, planned anew each episode."""

    beta: Annotated[float, Within(0), "bonus of a pair met once, in units of the reward range"] = 0.5
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
        """Plan with bonuses."""
        belief, task = memory.belief, mind.task
        low, high = reward_range(task, self.r_min, self.r_max)
        infer_when_due(belief, self.infer, mind, (low, high))
        with mind.timed("planning"):
            seen = evidence(belief)
            P, r = divided(seen.N, seen.n), mean_rewards(seen, high)
            some = seen.n > 0
            bonus = np.where(some, self.beta * (high - low) / np.sqrt(np.where(some, seen.n, 1)), HUGE)
            r[belief.terminal] = bonus[belief.terminal] = 0.0
            ceiling = most_to_come(task.H, high)
            optimistic_induction_into(
                P, r, bonus[None], ceiling, task.available, memory.q, memory.v, memory.policy
            )
        mind.plans += 1

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples."""
        return memory._replace(belief=with_room(memory.belief))

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The optimistic policy [H, S]."""
        return memory.policy.copy()

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """What was counted and inferred."""
        return believed_model(memory.belief, task)
