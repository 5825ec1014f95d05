"""UCBVI, upper confidence bound value iteration (Azar, Osband and Munos, 2017).

Each episode follows the greedy policy of optimistic values, planned anew from all counts:

    Q_h(s, a) = min(Q_h of the episode before, the most that can come,
                    r(s, a) + sum_s' p(s'|s, a) V_{h+1}(s') + b_h(s, a))

with, for rewards of width 1, L = ln(5 S A T / delta), T steps so far and n visits of (s, a),

    hoeffding (Algorithm 3):  b = 7 H L sqrt(1 / n)
    bernstein (Algorithm 4):  b = sqrt(8 L Var(V_{h+1}) / n) + 14 H L / (3 n)
                                  + sqrt(8 E[min(100^2 H^3 S^2 A L^2 / n_{h+1}(s'), H^2)] / n)

`scale` multiplies them: as proven they exceed all values for millions of episodes. Rewards are not
known in advance here; their variance is added to that of V.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, GROW, THINK, Agent, Mind, Task
from gim.inference.base import inferences
from gim.inference.belief import (
    Belief,
    believed_model,
    evidence,
    infer_when_due,
    mean_rewards,
    new_belief,
    observe,
    with_room,
)
from gim.jit import bind, hot
from gim.model.learned import LearnedModel
from gim.model.rewards import RMax, RMin, most_to_come, reward_range
from gim.params import OneOf, Within
from gim.planning.sweeps import expect_csr, expect_dense, rows_of, take_best

expect = expect_dense


class Memory(NamedTuple):
    """Counts, and the optimistic plan."""

    belief: Belief
    arrivals: NDArray[np.float64]  # [H, S] how often each state was met at step h, n_h(s)
    q: NDArray[np.float64]  # [H, S, A] optimistic values; -inf where not available
    v: NDArray[np.float64]  # [H + 1, S] their maxima
    policy: NDArray[np.int64]  # [H, S]


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the optimistic policy."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; plan after each episode."""
    memory.arrivals[h, s] += 1
    full = observe(memory.belief, s, a, r, t, end)
    if end != GO_ON:
        return THINK
    return GROW if full else GO_ON


def optimistic(
    N: Any,
    n: Any,
    r: Any,
    noise: Any,
    arrivals: Any,
    terminal: Any,
    ceiling: Any,
    width: float,
    L: float,
    bernstein: bool,
    q: Any,
    v: Any,
    policy: Any,
) -> None:
    """Backward induction with bonuses, into q, v and policy.

    N [S*A, S] or CSR and n [S, A] are visits, r [S, A] rewards, noise [S, A] the variance of r over
    its visits, width the range of rewards times the scale of the bonus.
    """
    H, S, A = q.shape
    pairs = np.arange(S * A)
    mean, square, doubt = np.empty(S * A), np.empty(S * A), np.empty(S * A)
    v2, uncertain = np.empty(S), np.empty(S)
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        expect(N, pairs, v[h + 1], mean)
        if bernstein:
            for t in range(S):
                v2[t] = v[h + 1, t] ** 2
                met = arrivals[h + 1, t] if h + 1 < H else 0.0
                limit = 1e4 * H**3 * S**2 * A * L**2
                uncertain[t] = float(H**2) if met * H**2 <= limit else limit / met
            expect(N, pairs, v2, square)
            expect(N, pairs, uncertain, doubt)
        for s in range(S):
            for a in range(A):
                i = s * A + a
                if terminal[s]:
                    q[h, s, a] = min(q[h, s, a], 0.0)
                elif n[s, a] > 0:
                    one = 1.0 / n[s, a]
                    ahead = mean[i] * one
                    if bernstein:
                        spread = max(0.0, square[i] * one - ahead * ahead)
                    	
