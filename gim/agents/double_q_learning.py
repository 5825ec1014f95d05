"""Double Q-learning (van Hasselt, 2010) with epsilon-greedy exploration.

One of two tables is updated at each step, chosen by a coin; it picks the next action and the other
says what that is worth, so that no value is judged by the noise that made it look best:

    QA(s, a) <- QA(s, a) + alpha [r + gamma QB(s', argmax_b QA(s', b)) - QA(s, a)]

or the same with A and B exchanged. Actions are greedy for QA + QB. As in `gim.agents.q_learning`,
greedy actions are kept up to date, and a tie leaves them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot
from gim.agents.q_learning import Memory, epsilon_greedy, new_memory
from gim.model.task import Task
from gim.runs.agent import GO_ON, TERMINATED, Agent

A, B, SUM = 0, 1, 2  # the tables of the memory: two, and their sum


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Epsilon-greedy for the sum."""
    return epsilon_greedy(memory, s, memory.best[SUM, s], rng)


@hot
def change(memory: Any, k: int, s: int, a: int, value: float) -> None:
    """Set a value of table k and keep its greedy action."""
    q, best = memory.q, memory.best
    before, q[k, s, a] = q[k, s, a], value
    if a == best[k, s]:
        if value < before:
            for b in range(q.shape[2]):
                if q[k, s, b] > q[k, s, best[k, s]]:
                    best[k, s] = b
    elif value > q[k, s, best[k, s]]:
        best[k, s] = a


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Update the table that the coin chooses by what the other says of its choice."""
    q, alpha, gamma = memory.q, memory.alpha[0], memory.gamma[0]
    one = int(2.0 * rng.random())
    future = 0.0 if end == TERMINATED else q[1 - one, t, memory.best[one, t]]
    change(memory, one, s, a, q[one, s, a] + alpha * (r + gamma * future - q[one, s, a]))
    change(memory, SUM, s, a, q[A, s, a] + q[B, s, a])
    return GO_ON


@dataclass(frozen=True)
class DoubleQLearning(Agent):
    """Two tables that check each other, epsilon-greedy; one update a step, no model."""

    alpha: Annotated[float, Within(0, 1), "step size"] = 0.05
    epsilon: Annotated[float, Within(0, 1), "probability of a random action"] = 0.1
    gamma: Annotated[float, Within(0, 1), "discount of the future"] = 0.99
    initial: Annotated[float, Within(), "value of every pair at the start"] = 0.0

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """All values equal, the greedy actions drawn."""
        values = np.full((3, task.S, task.A), self.initial, np.float64)
        values[SUM] *= 2.0
        return new_memory(self, values, task, rng)

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy of the sum [S]."""
        return memory.best[SUM].copy()
