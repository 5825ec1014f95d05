"""UCBVI, upper confidence bound value iteration (Azar, Osband and Munos, 2017).

Each episode follows the greedy policy of optimistic values, planned anew from all counts:

    Q_h(s, a) = min(the most that can come, r(s, a) + sum_s' p(s'|s, a) V_{h+1}(s') + b_h(s, a))

The bonus b is what a concentration inequality leaves open after n visits: with L = ln(5 S A T /
delta) after T steps, k = H - h steps to go and rewards of width w,

    bernstein:  sqrt(2 L Var / n) + w k L / (3 n),    Var that of r + V_{h+1}(s') as counted,
    hoeffding:  w k sqrt(L / (2 n)),

times `scale`. The page docs/agents/ucbvi.md says how this differs from the published bonuses, which
are larger by constants of the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim.agent import Agent, Mind
from gim.agents.episodic import Episodic, Memory
from gim.inference.base import inferences
from gim.inference.belief import VISITS, Evidence
from gim.jit import bind
from gim.model.rewards import RMax, RMin, most_to_come
from gim.params import OneOf, Within
from gim.planning.sweeps import expect_csr, expect_dense, rows_of, take_best

expect = expect_dense  # the template below is bound to one or the other


def optimistic(
    seen: Any, frame: Any, ceiling: Any, L: float, scale: float, bernstein: bool, plan: Any
) -> None:
    """Backward induction with bonuses, into plan = (q, v, policy).

    `seen` is the evidence with its rows [S*A, S] or CSR; `frame` the available pairs, terminal
    states and the reward range.
    """
    (N, n, R, R2, n_r), (available, terminal, (low, high)), (q, v, policy) = seen, frame, plan
    H, S, A = q.shape
    r, one, noise, bonus = np.zeros((4, S, A))  # reward, 1/n, its variance / n, bonus per step
    for s in range(S):
        for a in range(A):
            if not available[s, a]:
                r[s, a] = -np.inf
            elif n[s, a] > 0.0:
                one[s, a] = 1.0 / n[s, a]
                r[s, a] = high  # unless something is known of it
                if n_r[s, a] > 0.0:
                    r[s, a] = R[s, a] / n_r[s, a]
                    noise[s, a] = max(0.0, R2[s, a] / n_r[s, a] - r[s, a] ** 2) / n_r[s, a]
                open_ = L * one[s, a] / 3.0 if bernstein else math.sqrt(L * one[s, a] / 2.0)
                bonus[s, a] = scale * (high - low) * open_
            elif not terminal[s]:
                r[s, a] = np.inf  # brought down to the ceiling
    pairs = np.arange(S * A)
    square, v2 = np.zeros((S, A)), np.empty(S)
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        expect(N, pairs, v[h + 1], q[h].reshape(-1))
        if bernstein:
            for t in range(S):
                v2[t] = v[h + 1, t] ** 2
            expect(N, pairs, v2, square.reshape(-1))
        for s in range(S):
            for a in range(A):
                mean = q[h, s, a] * one[s, a]
                x = r[s, a] + mean + (H - h) * bonus[s, a]
                if bernstein:
                    spread = max(0.0, square[s, a] * one[s, a] - mean * mean) * one[s, a]
                    x += scale * math.sqrt(2.0 * L * (spread + noise[s, a]))
                q[h, s, a] = min(ceiling[h], x)
        take_best(q[h], v[h], policy[h])


optimistic_dense = bind(optimistic, "dense", expect=expect_dense)
optimistic_csr = bind(optimistic, "csr", expect=expect_csr)


@dataclass(frozen=True)
class UCBVI(Episodic, Agent, name="ucbvi"):
    """Optimistic values with a bonus for what is uncertain, planned anew each episode."""

    scale: Annotated[float, Within(0), "times the bonus; 1 is what the inequality says"] = 0.03
    bonus: Annotated[str, OneOf("bernstein", "hoeffding"), "the inequality behind it"] = "bernstein"
    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    r_min: RMin = None
    r_max: RMax = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with the bonus."""
        task, belief = mind.task, memory.belief
        rows = rows_of(seen.N, task.S, task.A)
        T = max(1, int(belief.schedule[VISITS]))
        induct = optimistic_csr if isinstance(rows, tuple) else optimistic_dense
        induct(
            (rows, *seen[1:]),
            (task.available, belief.terminal, rewards),
            most_to_come(task.H, rewards[1]),
            math.log(5 * task.S * task.A * T / self.delta),
            self.scale,
            self.bonus == "bernstein",
            (memory.q, memory.v, memory.policy),
        )
