"""What agents share that plan anew between episodes: all but the plan itself.

Such an agent names its parameters, `r_min`, `r_max` and `infer` among them, and defines
``plan(memory, seen, rewards, mind)``, which turns the evidence into a policy::

    @dataclass(frozen=True)
    class MyAgent(Episodic, Agent): ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, GROW, THINK, Mind, Task
from gim.inference.belief import (
    Belief,
    Evidence,
    believed_model,
    due,
    evidence,
    infer_when_due,
    new_belief,
    observe,
    with_room,
)
from gim.jit import hot
from gim.model.learned import LearnedModel
from gim.model.rewards import reward_range


class Memory(NamedTuple):
    """What was seen and inferred, and the plan in force."""

    belief: Belief
    q: NDArray[np.float64]  # [H, S, A] values; -inf where not available
    v: NDArray[np.float64]  # [H + 1, S] their maxima; the last row is 0
    policy: NDArray[np.int64]  # [H, S]
    planned: NDArray[np.float64]  # [S, A] visits that ask for a new plan: those at the last, grown
    stale: NDArray[np.bool_]  # [1] whether a pair has come so far


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the plan."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; plan after an episode in which the visits of some pair have grown enough."""
    full = observe(memory.belief, s, a, r, t, end)
    if memory.belief.counts.n[s, a] >= memory.planned[s, a]:
        memory.stale[0] = True
    if end != GO_ON and (memory.stale[0] or due(memory.belief)):
        return THINK
    return GROW if full else GO_ON


class Episodic:
    """Counts every step, plans before every episode, or before those that bring enough news."""

    growth: float = 0.0  # of a pair's visits since the last plan that asks for another
    r_min: float | None
    r_max: float | None
    infer: Any

    act = staticmethod(act)
    learn = staticmethod(learn)

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Fill q, v and policy of the memory; `rewards` are the least and the largest r(s,a)."""
        raise TypeError(f"{type(self).__name__} must define plan(memory, seen, rewards, mind)")

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Nothing seen, but what a model learned elsewhere stands for."""
        S, A, H = task.S, task.A, task.H
        reward_range(task, self.r_min, self.r_max)  # complain now rather than later
        return Memory(
            belief=new_belief(task, self.infer),
            q=np.zeros((H, S, A)),
            v=np.zeros((H + 1, S)),
            policy=np.zeros((H, S), np.int64),
            planned=np.zeros((S, A)),
            stale=np.zeros(1, bool),
        )

    def think(self, memory: Memory, mind: Mind) -> None:
        """Infer if it is time, then plan."""
        rewards = reward_range(mind.task, self.r_min, self.r_max)
        infer_when_due(memory.belief, self.infer, mind, rewards)
        with mind.timed("planning"):
            self.plan(memory, evidence(memory.belief), rewards, mind)
        memory.planned[:] = (1.0 + self.growth) * memory.belief.counts.n
        memory.stale[0] = False
        mind.plans += 1

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples."""
        return memory._replace(belief=with_room(memory.belief))

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The policy in force [H, S]."""
        return memory.policy.copy()

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """What was counted and inferred."""
        return believed_model(memory.belief, task)
