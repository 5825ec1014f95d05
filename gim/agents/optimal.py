"""Optimal: knows the world and plays its best policy from the beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot
from gim._compile.memory import SAME, Limit, Limits
from gim.model.task import Mind, Task
from gim.planning import backward_induction
from gim.runs.agent import GO_ON, Agent


class Memory(NamedTuple):
    """The policy."""

    policy: NDArray[np.int64]  # [H, S]
    actions: NDArray[np.int64]  # [1] how many there are

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"policy": Limit(0, int(self.actions[0]) - 1), "actions": SAME}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the policy."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Learn nothing: all is known."""
    return GO_ON


@dataclass(frozen=True)
class Optimal(Agent):
    """Plays the best time-dependent policy of the true MDP; the best any agent could do."""

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Make room for the policy."""
        if task.truth is None:
            raise ValueError(
                "the optimal agent must know the world: give a TabularMDP, or an environment "
                "that gim.from_gymnasium can read"
            )
        return Memory(np.zeros((task.H, task.S), np.int64), np.array([task.A]))

    def think(self, memory: Memory, mind: Mind) -> None:
        """Plan once, before the first step."""
        with mind.timed("planning"):
            truth: Any = mind.task.truth
            memory.policy[:] = backward_induction(truth).actions
        mind.plans += 1
        mind.explored_at = mind.episode

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The best policy [H, S]."""
        return memory.policy

    def greedy(self, memory: Memory, task: Task) -> NDArray[np.int64]:
        """The best policy [H, S], also before the first step."""
        truth: Any = task.truth
        return backward_induction(truth).policy
