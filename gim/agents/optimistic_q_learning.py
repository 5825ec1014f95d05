"""Optimistic Q-learning (Jin, Allen-Zhu, Bubeck and Jordan, 2018): bonuses without a model.

At the t-th visit of (s, a) at step h, with alpha_t = (H + 1) / (H + t),

    Q_h(s,a) <- (1 - alpha_t) Q_h(s,a) + alpha_t [r + V_{h+1}(s') + b_t],
    V_h(s) = min(the most that can come, max_a Q_h(s,a)),

and actions are greedy. With iota = ln(S A T / delta) after T steps and rewards of width w,

    hoeffding:  b_t = c w sqrt(H^3 iota / t),
    bernstein:  b_t = (beta_t - (1 - alpha_t) beta_{t-1}) / (2 alpha_t), beta_t the lesser of
                c (sqrt(H (W_t + w^2 H) iota / t) + rest w sqrt(H^7 S A) iota / t) and
                c w sqrt(H^3 iota / t), W_t the variance of the t values V_{h+1}(s') seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import OneOf, Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, VISITS, Limits, actions
from gim.agents.q_learning import first_best
from gim.model.rewards import LargestReward, LeastReward, most_to_come, reward_range
from gim.model.task import Task
from gim.runs.agent import GO_ON, TERMINATED, Agent


class Memory(NamedTuple):
    """Values by step, and what their bonuses are made of; names as in the paper's pseudo-code."""

    q: NDArray[np.float64]  # [H, S, A]; -inf where not available
    v: NDArray[np.float64]  # [H + 1, S]; the last row is 0
    best: NDArray[np.int64]  # [H, S] the greedy action
    n: NDArray[np.int64]  # [H, S, A] visits, N_h
    mu: NDArray[np.float64]  # [H, S, A] sum of V_{h+1}(s'), or [0, 0, 0] for hoeffding
    sigma: NDArray[np.float64]  # likewise the sum of its squares
    beta: NDArray[np.float64]  # likewise beta_t of the last visit
    ceiling: NDArray[np.float64]  # [H] the most that can come
    steps: NDArray[np.int64]  # [1] T
    width: NDArray[np.float64]  # [1] of the range of rewards
    c: NDArray[np.float64]  # [1]
    rest: NDArray[np.float64]  # [1]
    delta: NDArray[np.float64]  # [1]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        same = dict.fromkeys(("c", "rest", "delta"), SAME)
        return same | {"best": actions(self.q), "n": VISITS, "steps": VISITS}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Greedy."""
    return memory.best[h, s]


@hot
def bonus(memory: Any, s: int, h: int, a: int, future: float, alpha: float) -> float:
    """b_t of either kind, for the visit that has just been counted."""
    H, S, A = memory.q.shape
    n, width, c = memory.n[h, s, a], memory.width[0], memory.c[0]
    iota = math.log(S * A * memory.steps[0] / memory.delta[0])
    hoeffding = c * width * math.sqrt(H**3 * iota / n)
    if memory.beta.size == 0:
        return hoeffding
    memory.mu[h, s, a] += future
    memory.sigma[h, s, a] += future * future
    mean = memory.mu[h, s, a] / n
    W = max(0.0, memory.sigma[h, s, a] / n - mean * mean)
    rest = memory.rest[0] * width * math.sqrt(float(H) ** 7 * S * A) * iota / n
    beta = min(c * (math.sqrt(H * (W + width * width * H) * iota / n) + rest), hoeffding)
    before = memory.beta[h, s, a]
    memory.beta[h, s, a] = beta
    return (beta - (1.0 - alpha) * before) / (2.0 * alpha)


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """One update of the value of this step, and the greedy action with it."""
    q, best = memory.q, memory.best
    H, A = q.shape[0], q.shape[2]
    memory.steps[0] += 1
    memory.n[h, s, a] += 1
    alpha = (H + 1.0) / (H + memory.n[h, s, a])
    future = 0.0 if end == TERMINATED else memory.v[h + 1, t]
    target = r + future + bonus(memory, s, h, a, future, alpha)
    q[h, s, a] = (1.0 - alpha) * q[h, s, a] + alpha * target
    for b in range(A):  # the greedy action stays until another is strictly better
        if q[h, s, b] > q[h, s, best[h, s]]:
            best[h, s] = b
    memory.v[h, s] = min(memory.ceiling[h], q[h, s, best[h, s]])
    return GO_ON


@dataclass(frozen=True)
class OptimisticQLearning(Agent):
    """Q-learning by step with a bonus for what is uncertain; greedy, no model."""

    c: Annotated[float, Within(0), "times the bonus; 1: the inequality behind the proof"] = 0.003
    bonus: Annotated[str, OneOf("hoeffding", "bernstein"), "the inequality"] = "hoeffding"
    rest: Annotated[float, Within(0), "times Bernstein's term in sqrt(H^7 S A); 1: the paper's"] = (
        0.0
    )
    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None

    examples: ClassVar[tuple[str, ...]] = (
        "",
        "bonus=bernstein",
        "c=1,bonus=bernstein,rest=1",
    )

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """All values as large as can be, the greedy action of each step and state drawn."""
        H, S, A = task.H, task.S, task.A
        low, high = reward_range(task, self.r_min, self.r_max)
        top = most_to_come(H, high)
        seen = (H, S, A) if self.bonus == "bernstein" else (0, 0, 0)
        return Memory(
            q=np.where(task.available, top[:, None, None], -np.inf),
            v=np.repeat(np.append(top, 0.0)[:, None], S, axis=1),
            best=first_best(task.available, rng, H),
            n=np.zeros((H, S, A), np.int64),
            mu=np.zeros(seen),
            sigma=np.zeros(seen),
            beta=np.zeros(seen),
            ceiling=top,
            steps=np.zeros(1, np.int64),
            width=np.array([high - low]),
            c=np.array([self.c]),
            rest=np.array([self.rest]),
            delta=np.array([self.delta]),
        )

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy [H, S]."""
        return memory.best.copy()
