"""Delayed Q-learning (Strehl, Li, Wiewiora, Langford and Littman, 2006).

Values start as large as can be and fall: m samples of r + gamma max_b Q(s', b) are collected for a
pair, and if their mean is lower than Q(s, a) by 2 epsilon1 or more, it becomes Q(s, a), plus
epsilon1. A pair whose attempt fails stops learning until some value has changed since. Actions are
greedy, always. Each change is by epsilon1 at least, so there are S A / ((1 - gamma) epsilon1) of
them at the most, which makes it PAC-MDP. Published for r_max = 1, which is the unit here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, VISITS, Limits, actions
from gim.agents.q_learning import first_best, keep_best
from gim.model.rewards import LargestReward, largest_reward
from gim.model.task import Task
from gim.runs.agent import GO_ON, TERMINATED, Agent


class Memory(NamedTuple):
    """Action values and the attempts under way; names as in the paper's pseudo-code."""

    q: NDArray[np.float64]  # [S, A]; -inf where not available
    best: NDArray[np.int64]  # [S] the greedy action
    U: NDArray[np.float64]  # [S, A] sum of the attempt's samples
    samples: NDArray[np.int64]  # [S, A] their number, l
    t: NDArray[np.int64]  # [S, A] step of the last attempt
    learning: NDArray[np.bool_]  # [S, A] LEARN
    step: NDArray[np.int64]  # [1] steps so far
    changed: NDArray[np.int64]  # [1] step of the last change of a value, t*
    m: NDArray[np.int64]  # [1]
    gamma: NDArray[np.float64]  # [1]
    epsilon1: NDArray[np.float64]  # [1]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        counts = dict.fromkeys(("samples", "t", "step", "changed"), VISITS)
        return counts | {"best": actions(self.q), "m": SAME, "gamma": SAME}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Greedy."""
    return memory.best[s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Lines 13 to 33 of the pseudo-code: collect, attempt, or wake up again."""
    memory.step[0] += 1
    if memory.learning[s, a]:
        future = 0.0 if end == TERMINATED else memory.q[t, memory.best[t]]
        memory.U[s, a] += r + memory.gamma[0] * future
        memory.samples[s, a] += 1
        if memory.samples[s, a] == memory.m[0]:
            attempt(memory, s, a)
    elif memory.t[s, a] < memory.changed[0]:
        memory.learning[s, a] = True
    return GO_ON


@hot
def attempt(memory: Any, s: int, a: int) -> None:
    """Take the mean of the samples for the value, if it is clearly lower."""
    q, epsilon1 = memory.q, memory.epsilon1[0]
    before, mean = q[s, a], memory.U[s, a] / memory.m[0]
    if before - mean >= 2 * epsilon1:
        q[s, a] = mean + epsilon1
        memory.changed[0] = memory.step[0]
        keep_best(q, memory.best, s, a, before)
    elif memory.t[s, a] >= memory.changed[0]:
        memory.learning[s, a] = False
    memory.t[s, a] = memory.step[0]
    memory.U[s, a] = 0.0
    memory.samples[s, a] = 0


@dataclass(frozen=True)
class DelayedQLearning(Agent):
    """Optimistic values that fall only on the evidence of m samples; greedy, no model."""

    m: Annotated[int, Within(1), "samples of an attempt"] = 5
    epsilon1: Annotated[float, Within(0), "how far values stay above samples, in r_max"] = 0.1
    gamma: Annotated[float, Within(0, 0.9999), "discount of the future"] = 0.95
    r_max: LargestReward = None

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """All values as large as can be, the greedy action of each state drawn."""
        r_max = largest_reward(task, self.r_max)
        top = r_max / (1 - self.gamma) if r_max >= 0 else r_max  # where all costs: an end at once
        zeros = np.zeros((task.S, task.A))
        return Memory(
            q=np.where(task.available, top, -np.inf),
            best=first_best(task.available, rng),
            U=zeros.copy(),
            samples=zeros.astype(np.int64),
            t=zeros.astype(np.int64),
            learning=np.ones((task.S, task.A), bool),
            step=np.zeros(1, np.int64),
            changed=np.zeros(1, np.int64),
            m=np.array([self.m]),
            gamma=np.array([self.gamma]),
            epsilon1=np.array([self.epsilon1 * abs(r_max)]),
        )

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy [S]."""
        return memory.best.copy()
