"""Double Q-learning (van Hasselt, 2010) with epsilon-greedy exploration.

One of two tables is updated at each step, chosen by a coin; it picks the next action and the other
says what that is worth, so that no value is judged by the noise that made it look best:

    QA(s, a) <- QA(s, a) + alpha [r + gamma QB(s', argmax_b QA(s', b)) - QA(s, a)]

or the same with A and B exchanged. Actions are greedy for QA + QB. As in `gim.agents.q_learning`,
greedy actions are kept up to date, and a tie leaves them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, TERMINATED, Agent, Task
from gim.agents.q_learning import keep_best
from gim.jit import hot
from gim.params import Within
from gim.sampling import listed, pick


class Table(NamedTuple):
    """Action values and the greedy action of each state."""

    q: NDArray[np.float64]  # [S, A]; -inf where not available
    best: NDArray[np.int64]  # [S]


class Memory(NamedTuple):
    """Two tables, their sum, and the available actions."""

    a: Table
    b: Table
    sum: Table
    actions: NDArray[np.int64]  # [S, A] available actions, first in each row
    n_actions: NDArray[np.int64]  # [S] how many there are
    rates: NDArray[np.float64]  # [3] alpha, gamma, epsilon


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Epsilon-greedy for the sum; one number decides both whether to explore and where."""
    epsilon = memory.rates[2]
    u = rng.random()
    if u < epsilon:
        return pick(memory.actions, memory.n_actions, s, u / epsilon)
    return memory.sum.best[s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Update the table that the coin chooses."""
    if rng.random() < 0.5:
        update(memory.a, memory.b, memory.sum, memory.rates, s, a, r, t, end)
    else:
        update(memory.b, memory.a, memory.sum, memory.rates, s, a, r, t, end)
    return GO_ON


@hot
def update(
    one: Any, other: Any, both: Any, rates: Any, s: int, a: int, r: float, t: int, end: int
) -> None:
    """Update one table by what the other says of its choice."""
    future = 0.0 if end == TERMINATED else other.q[t, one.best[t]]
    before, sum_before = one.q[s, a], both.q[s, a]
    one.q[s, a] = before + rates[0] * (r + rates[1] * future - before)
    both.q[s, a] = one.q[s, a] + other.q[s, a]
    keep_best(one.q, one.best, s, a, before)
    keep_best(both.q, both.best, s, a, sum_before)


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
        actions, n_actions = listed(task.available)

        def table(value: float) -> Table:
            drawn = (rng.random(task.S) * n_actions).astype(np.int64)
            q = np.where(task.available, value, -np.inf)
            return Table(q, actions[np.arange(task.S), drawn])

        return Memory(
            a=table(self.initial),
            b=table(self.initial),
            sum=table(2 * self.initial),
            actions=actions,
            n_actions=n_actions,
            rates=np.array([self.alpha, self.gamma, self.epsilon]),
        )

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy of the sum [S]."""
        return memory.sum.best.copy()
