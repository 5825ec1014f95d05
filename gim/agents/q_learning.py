"""Q-learning (Watkins, 1989) with epsilon-greedy exploration.

    Q(s, a) <- Q(s, a) + alpha [r + gamma max_b Q(s', b) - Q(s, a)]

The greedy action of each state is kept up to date in `learn`, so a step costs O(1) but for the
rescan when the greedy action itself falls. Ties: the greedy action stays until another is strictly
better; the first one is drawn from the agent's stream, so that no index is favoured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, Limits, actions
from gim.mdp.sampling import listed, pick
from gim.model.task import Task
from gim.runs.agent import GO_ON, TERMINATED, Agent


class Memory(NamedTuple):
    """Action values, in one table or more of them, and what is derived from them."""

    q: NDArray[np.float64]  # [..., S, A]; -inf where not available
    best: NDArray[np.int64]  # [..., S] the greedy action
    actions: NDArray[np.int64]  # [S, A] available actions, first in each row
    n_actions: NDArray[np.int64]  # [S] how many there are
    alpha: NDArray[np.float64]  # [1]
    gamma: NDArray[np.float64]  # [1]
    epsilon: NDArray[np.float64]  # [1]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        same = dict.fromkeys(("actions", "n_actions", "alpha", "gamma", "epsilon"), SAME)
        return same | {"best": actions(self.q)}


@hot
def epsilon_greedy(memory: Any, s: int, best: int, rng: Any) -> Any:
    """The best action, as a rule; one number decides both whether to explore and where."""
    epsilon = memory.epsilon[0]
    u = rng.random()
    if u < epsilon:
        return pick(memory.actions, memory.n_actions, s, u / epsilon)
    return best


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Epsilon-greedy."""
    return epsilon_greedy(memory, s, memory.best[s], rng)


@hot
def keep_best(q: Any, best: Any, s: int, a: int, before: float) -> None:
    """Keep best[s] the greedy action after q[s, a] has changed from `before`."""
    if a == best[s]:
        if q[s, a] < before:
            for b in range(q.shape[1]):
                if q[s, b] > q[s, best[s]]:
                    best[s] = b
    elif q[s, a] > q[s, best[s]]:
        best[s] = a


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """One update of Q-learning."""
    q = memory.q
    future = 0.0 if end == TERMINATED else q[t, memory.best[t]]
    before = q[s, a]
    q[s, a] = before + memory.alpha[0] * (r + memory.gamma[0] * future - before)
    keep_best(q, memory.best, s, a, before)
    return GO_ON


@dataclass(frozen=True)
class QLearning(Agent):
    """Q-learning, epsilon-greedy; one update a step, no model."""

    alpha: Annotated[float, Within(0, 1), "step size"] = 0.1
    epsilon: Annotated[float, Within(0, 1), "probability of a random action"] = 0.1
    gamma: Annotated[float, Within(0, 1), "discount of the future"] = 0.95
    initial: Annotated[float, Within(), "value of every pair at the start"] = 0.0

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """All values equal, the greedy action of each state drawn."""
        return new_memory(self, np.full((task.S, task.A), self.initial), task, rng)

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy [S]."""
        return memory.best.copy()


def first_best(available: NDArray[np.bool_], rng: np.random.Generator, *tables: int) -> Any:
    """Greedy actions [*tables, S] where all values of a state are equal: drawn."""
    actions, n_actions = listed(available)
    drawn = (rng.random((*tables, n_actions.size)) * n_actions).astype(np.int64)
    return actions[np.arange(n_actions.size), drawn]


def new_memory(
    agent: Any, values: NDArray[np.float64], task: Task, rng: np.random.Generator
) -> Memory:
    """The memory of an epsilon-greedy agent that begins with these values [..., S, A]."""
    actions, n_actions = listed(task.available)
    return Memory(
        q=np.where(task.available, values, -np.inf),
        best=first_best(task.available, rng, *values.shape[:-2]),
        actions=actions,
        n_actions=n_actions,
        alpha=np.array([agent.alpha]),
        gamma=np.array([agent.gamma]),
        epsilon=np.array([agent.epsilon]),
    )
