"""SARSA (Rummery and Niranjan, 1994), tabular, one step, with epsilon-greedy exploration.

    Q(s, a) <- Q(s, a) + alpha [r + gamma Q(s', a') - Q(s, a)]

where a' is the action that will be taken in s', so the values are those of the policy that is
played, exploration included. a' is drawn before the update and kept for the next step. Ties as in
Q-learning: the greedy action stays until another is strictly better, the first one is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, Limits, actions
from gim.agents.q_learning import epsilon_greedy, keep_best, new_memory
from gim.model.task import Task
from gim.runs.agent import GO_ON, TERMINATED, Agent

NONE = -1  # in place of an action: none is chosen yet


class Memory(NamedTuple):
    """As `gim.agents.q_learning.Memory`, with the action chosen for the next step."""

    q: NDArray[np.float64]  # [S, A]; -inf where not available
    best: NDArray[np.int64]  # [S] the greedy action
    actions: NDArray[np.int64]  # [S, A] available actions, first in each row
    n_actions: NDArray[np.int64]  # [S] how many there are
    alpha: NDArray[np.float64]  # [1]
    gamma: NDArray[np.float64]  # [1]
    epsilon: NDArray[np.float64]  # [1]
    chosen: NDArray[np.int64]  # [1] the action of the next step, or NONE

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        same = dict.fromkeys(("actions", "n_actions", "alpha", "gamma", "epsilon"), SAME)
        return same | {"best": actions(self.q), "chosen": actions(self.q, none=1)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """What the last update was made with; at the start of an episode a new choice."""
    if memory.chosen[0] == NONE:
        return epsilon_greedy(memory, s, memory.best[s], rng)
    return memory.chosen[0]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """One update; where the horizon cuts an episode, an action is drawn for its value only."""
    q, future, following = memory.q, 0.0, NONE
    if end != TERMINATED:
        following = epsilon_greedy(memory, t, memory.best[t], rng)
        future = q[t, following]
    before = q[s, a]
    q[s, a] = before + memory.alpha[0] * (r + memory.gamma[0] * future - before)
    keep_best(q, memory.best, s, a, before)
    memory.chosen[0] = following if end == GO_ON else NONE
    return GO_ON


@dataclass(frozen=True)
class SARSA(Agent, name="sarsa"):
    """SARSA, epsilon-greedy: the values of the policy that is played; no model."""

    alpha: Annotated[float, Within(0, 1), "step size"] = 0.1
    epsilon: Annotated[float, Within(0, 1), "probability of a random action"] = 0.1
    gamma: Annotated[float, Within(0, 1), "discount of the future"] = 0.95
    initial: Annotated[float, Within(), "value of every pair at the start"] = 0.0

    examples = ("", "alpha=0.3,epsilon=0.5,initial=2")

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """All values equal, the greedy action of each state drawn."""
        values = new_memory(self, np.full((task.S, task.A), self.initial), task, rng)
        return Memory(*values, chosen=np.array([NONE]))

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy [S]."""
        return memory.best.copy()
