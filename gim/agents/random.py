"""Random: every available action with equal probability; the worst that one should do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot
from gim._compile.memory import SAME, Limits
from gim.mdp.sampling import listed, pick
from gim.model.task import Task
from gim.runs.agent import GO_ON, Agent


class Memory(NamedTuple):
    """The available actions of each state, first in each row."""

    actions: NDArray[np.int64]  # [S, A]
    n_actions: NDArray[np.int64]  # [S]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"actions": SAME, "n_actions": SAME}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Draw an available action."""
    return pick(memory.actions, memory.n_actions, s, rng.random())


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Learn nothing."""
    return GO_ON


@dataclass(frozen=True)
class Random(Agent):
    """Uniform over the available actions."""

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """List the available actions."""
        return Memory(*listed(task.available))

    def policy(self, memory: Memory) -> NDArray[np.float64]:
        """The probabilities [S, A]."""
        S, A = memory.actions.shape
        chances = np.zeros((S, A))
        for s in range(S):
            chances[s, memory.actions[s, : memory.n_actions[s]]] = 1 / memory.n_actions[s]
        return chances
