"""UBEV, upper bounding the expected next state value (Dann, Lattimore and Brunskill, 2017).

Each episode follows the greedy policy of optimistic values whose bonus holds for all numbers of
visits at once, by the law of the iterated logarithm: with n visits of a pair,

    phi = sqrt((2 ln ln max(e, n) + ln(27 S A H / delta)) / n)
    Q_h(s, a) = min(r_max, r(s, a) + w phi)
                + min(max V_{h+1}, sum_s' p(s'|s, a) V_{h+1}(s') + w (H - h - 1) phi)

with phi times `scale` and w the width of the reward range. Both parts are clipped: no reward is
above r_max, and no expectation above the best next value. Published for estimates of each step of
the episode apart; here a world is the same at every step, and so are the estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim._compile.jit import bind
from gim.agents.episodic import Episodic, Memory
from gim.analogy.base import inferences
from gim.analogy.prior import Floats
from gim.belief.evidence import Evidence
from gim.belief.knowledge import divided, mean_rewards
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.model.task import Mind
from gim.planning.sweeps import expect_csr, expect_dense, rows_of, take_best
from gim.runs.agent import Agent

expect = expect_dense  # the template below is bound to one or the other


def clipped(P: Any, r: Any, bonus: Any, available: Any, ceiling: Any, plan: Any) -> None:
    """Backward induction with clipped expectations, into plan = (q, v, policy).

    `r` [S, A] are upper rewards, inf for what was never met; `bonus` [S, A] is for one step.
    """
    q, v, policy = plan
    H, S, A = q.shape
    pairs = np.arange(S * A)
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        expect(P, pairs, v[h + 1], q[h].reshape(-1))
        top = v[h + 1, 0]
        for s in range(1, S):
            top = max(top, v[h + 1, s])
        for s in range(S):
            for a in range(A):
                future = min(top, q[h, s, a] + (H - h - 1) * bonus[s, a])
                q[h, s, a] = min(ceiling[h], r[s, a] + future) if available[s, a] else -np.inf
        take_best(q[h], v[h], policy[h])


clipped_dense = bind(clipped, "dense", expect=expect_dense)
clipped_csr = bind(clipped, "csr", expect=expect_csr)


@dataclass(frozen=True)
class UBEV(Episodic, Agent, name="ubev"):
    """Bonuses by the law of the iterated logarithm, clipped backups, planned anew each episode."""

    scale: Annotated[float, Within(0), "times the bonus; 1: as published"] = 0.02
    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "scale=1,delta=0.5", "infer=by_completion(m=2,rho=0.3)")

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with bonuses, each part clipped."""
        (low, high), task, ends = rewards, mind.task, memory.belief.terminal
        log = math.log(27 * task.S * task.A * task.H / self.delta)
        wide = self.scale * (high - low)
        bonus = wide * phi(seen.n, log)
        upper = np.minimum(high, mean_rewards(seen, high) + wide * phi(seen.n_r, log))
        r = np.where(seen.n > 0, upper, np.inf)  # inf: brought to the ceiling
        r[ends] = bonus[ends] = 0.0
        rows = rows_of(divided(seen.N, seen.n), task.S, task.A)
        induct = clipped_csr if isinstance(rows, tuple) else clipped_dense
        plan = (memory.q, memory.v, memory.policy)
        induct(rows, r, bonus, task.available, most_to_come(task.H, high), plan)


def phi(n: Floats, log: float) -> Floats:
    """sqrt((2 ln ln max(e, n) + log) / n) [S, A]; 0 where n is 0."""
    met = np.where(n > 0, n, np.inf)
    return np.asarray(np.sqrt((2 * np.log(np.log(np.maximum(math.e, n))) + log) / met))
