"""UCBVI, upper confidence bound value iteration (Azar, Osband and Munos, 2017).

Each episode follows the greedy policy of optimistic values, planned anew from all counts:

    Q_h(s, a) = min(the most that can come, r(s, a) + sum_s' p(s'|s, a) V_{h+1}(s') + b_h(s, a))

The bonus b is what a concentration inequality leaves open after n visits: with L = ln(5 S A T /
delta) after T steps, k = H - h steps to go and rewards of width w,

    bernstein:  sqrt(2 L Var / n) + w k L / (3 n),    Var that of r + V_{h+1}(s') as counted,
    hoeffding:  w k sqrt(L / (2 n)),

times `scale`. Without one a rule sets it (docs/analogy.md): both terms times 1 / sqrt(2 L H), the
second also times the surprise of an average visit, which is 0 where nothing is random. The page
docs/agents/ucbvi.md says how this differs from the published bonuses, which are larger by constants
of the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from gim._base.params import OneOf, Within
from gim._compile.jit import bind, entry
from gim.agents.backups import Given, moments_csr, moments_dense
from gim.agents.episodic import Episodic, Memory
from gim.analogy.base import inferences
from gim.belief.evidence import Evidence
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.model.task import Mind
from gim.planning.sweeps import rows_of, take_best
from gim.runs.agent import Agent


@entry
def columns_dense(N: Any) -> Any:
    """N [S*A, S] by next state, [S, S*A]: sums over next states then run side by side."""
    return np.ascontiguousarray(N.T)


@entry
def columns_csr(N: Any) -> Any:
    """CSR stays as it is."""
    return N


columns, moments = columns_dense, moments_dense  # the template is bound to one pair or the other


def optimistic(
    seen: Any,
    frame: Any,
    ceiling: Any,
    L: float,
    scale: float,
    rare: float,
    bernstein: bool,
    plan: Any,
) -> None:
    """Backward induction with bonuses, into plan = (q, v, policy).

    `seen` is an `Evidence` with rows [S*A, S] or CSR, `frame` is `Given`, both as bare tuples,
    which are handed over faster; `scale` and `rare` multiply the two terms of the bonus.
    """
    seen, frame = Evidence(*seen), Given(*frame)
    n, n_r, low, high = seen.n, seen.n_r, frame.low, frame.high
    q, v, policy = plan
    H, S, A = q.shape
    r, one, noise, bonus = np.zeros((4, S * A))  # reward, 1/n, its variance / n, bonus per step
    for s in range(S):
        for a in range(A):
            i = s * A + a
            if not frame.available[s, a]:
                r[i] = -np.inf
            elif n[s, a] > 0.0:
                one[i] = 1.0 / n[s, a]
                r[i] = high  # unless something is known of it
                if n_r[s, a] > 0.0:
                    r[i] = seen.R[s, a] / n_r[s, a]
                    noise[i] = max(0.0, seen.R2[s, a] / n_r[s, a] - r[i] * r[i]) / n_r[s, a]
                left = L * one[i] / 3.0 if bernstein else math.sqrt(L * one[i] / 2.0)
                bonus[i] = rare * (high - low) * left
            elif not frame.terminal[s]:
                r[i] = np.inf  # brought down to the ceiling
    by_next, mean, square = columns(seen.N), np.empty(S * A), np.empty(S * A)
    spread = 2.0 * L if bernstein else 0.0
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        moments(by_next, v[h + 1], mean, square)
        values = q[h].reshape(-1)
        for i in range(S * A):
            future = mean[i] * one[i]
            variance = max(0.0, square[i] * one[i] - future * future) * one[i] + noise[i]
            x = r[i] + future + (H - h) * bonus[i] + scale * math.sqrt(spread * variance)
            values[i] = min(ceiling[h], x)
        take_best(q[h], v[h], policy[h])


optimistic_dense = bind(optimistic, "dense", columns=columns_dense, moments=moments_dense)
optimistic_csr = bind(optimistic, "csr", columns=columns_csr, moments=moments_csr)


@dataclass(frozen=True)
class UCBVI(Episodic, Agent, name="ucbvi"):
    """Optimistic values with a bonus for what is uncertain, planned anew each episode."""

    scale: Annotated[
        float | None, Within(0), "times the bonus; 1: the inequality; none: 1 / sqrt(2 L H)"
    ] = 0.03
    bonus: Annotated[str, OneOf("bernstein", "hoeffding"), "the inequality behind it"] = "bernstein"
    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    growth: Annotated[
        float, Within(0), "share by which visits of a pair grow before a plan; 0: each episode"
    ] = 0.0
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples: ClassVar[tuple[str, ...]] = (
        "",
        "bonus=hoeffding,scale=1",
        "scale=none,growth=0.5",
        "infer=by_completion(m=2,rho=0.3)",
    )

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with the bonus."""
        task, belief = mind.task, memory.belief
        rows = rows_of(seen.N, task.S, task.A)
        T = max(1, int(belief.visits[0]))
        L = math.log(5 * task.S * task.A * T / self.delta)
        induct = optimistic_csr if isinstance(rows, tuple) else optimistic_dense
        induct(
            (rows, *seen[1:]),
            (task.available, belief.terminal, *rewards),
            most_to_come(task.H, rewards[1]),
            L,
            *self._scales(memory, L, task.H),
            self.bonus == "bernstein",
            (memory.q, memory.v, memory.policy),
        )

    def _scales(self, memory: Memory, L: float, H: int) -> tuple[float, float]:
        """What the two terms of the bonus are multiplied by.

        By rule the first is a standard error, and those of H steps add up as if independent; the
        second, for what n visits have missed, counts as far as visits differ at all.
        """
        if self.scale is not None:
            return self.scale, self.scale
        scale = 1.0 / math.sqrt(2.0 * L * H)
        surprise = float(memory.surprise[0] / memory.surprise_weight[0])
        return scale, scale * surprise
