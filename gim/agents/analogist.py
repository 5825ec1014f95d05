"""The default learner: planning by analogy, with optimism that adapts.

It plans on counts plus what is inferred from other pairs (`gim.inference.analogy`), with one
setting for all tasks, before every episode:

    Q1_h(s,a) = r(s,a) + p.V1_{h+1} + b_h(s,a),   but if (s,a) is inferred and was never met
    Q1_h(s,a) = max(that, r(s,a) + test(s,a) + p.V0_{h+1} + b_h(s,a)),

at most the most that can come, V1 and V0 being the maxima with and without a test.

The bonus b is that of `gim.agents.ucbvi` by its rule, along an episode about one standard error of
the return, times x = u^power with u drawn uniformly for each plan (RandUCB: Vaswani, Mehrabian,
Durand and Kveton, 2020). Most plans trust what is known, a few doubt all of it at once, and none of
this ever stops: little optimism on average, and no run is stuck for ever.

The test is what a pair never met might hide. Its prediction fails with a known chance, and it may
then pay anything: the width of the rewards times that chance times the root of the episodes so
far. It can be collected once in a plan, so no pair is worth the largest reward at every step, and
it grows, so every pair is tried in the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent, Mind
from gim.agents.episodic import Episodic, Memory
from gim.agents.ucbvi import columns_csr, columns_dense, moments_csr, moments_dense
from gim.inference.base import inferences
from gim.inference.evidence import Evidence
from gim.jit import bind
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.params import Within
from gim.planning.sweeps import rows_of, take_best

columns, moments = columns_dense, moments_dense  # the template is bound to one pair or the other


def hopeful(
    seen: Any, frame: Any, ceiling: Any, test: Any, L: float, scales: Any, plan: Any
) -> None:
    """Backward induction with bonuses and one test, into plan = (q, v, policy).

    `seen` is the evidence with its rows [S*A, S] or CSR; `frame` the available pairs, terminal
    states and the reward range; `test` [S*A] what a pair might hide, 0: nothing; `scales` multiply
    the two terms of the bonus.
    """
    scale, rare = scales
    (N, n, R, R2, n_r), (available, terminal, (low, high)), (q, v, policy) = seen, frame, plan
    H, S, A = q.shape
    r, one, noise, bonus = np.zeros((4, S * A))  # reward, 1/n, its variance / n, bonus per step
    tests = False
    for s in range(S):
        for a in range(A):
            i = s * A + a
            if not available[s, a]:
                r[i] = -np.inf
            elif n[s, a] > 0.0:
                tests = tests or test[i] > 0.0
                one[i] = 1.0 / n[s, a]
                r[i] = high  # unless something is known of it
                if n_r[s, a] > 0.0:
                    r[i] = R[s, a] / n_r[s, a]
                    noise[i] = max(0.0, R2[s, a] / n_r[s, a] - r[i] * r[i]) / n_r[s, a]
                bonus[i] = rare * (high - low) * L * one[i] / 3.0
            elif not terminal[s]:
                r[i] = np.inf  # brought down to the ceiling
    by_next, mean, square = columns(N), np.empty(S * A), np.empty(S * A)
    later, unused = np.empty(S * A), np.empty(S * A)
    q0, v0, policy0 = np.empty((S, A)), np.zeros(S), np.empty(S, policy.dtype)
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        moments(by_next, v[h + 1], mean, square)
        if tests:
            moments(by_next, v0, later, unused)
        values, without = q[h].reshape(-1), q0.reshape(-1)
        for i in range(S * A):
            future = mean[i] * one[i]
            variance = max(0.0, square[i] * one[i] - future * future) * one[i] + noise[i]
            now = r[i] + (H - h) * bonus[i] + scale * math.sqrt(2.0 * L * variance)
            x = now + future
            if tests:
                without[i] = min(ceiling[h], now + later[i] * one[i])
                if test[i] > 0.0:
                    x = max(x, now + test[i] + later[i] * one[i])
            values[i] = min(ceiling[h], x)
        take_best(q[h], v[h], policy[h])
        if tests:
            take_best(q0, v0, policy0)


hopeful_dense = bind(hopeful, "dense", columns=columns_dense, moments=moments_dense)
hopeful_csr = bind(hopeful, "csr", columns=columns_csr, moments=moments_csr)


@dataclass(frozen=True)
class Analogist(Episodic, Agent, name="analogist"):
    """Plans by analogy with optimism that adapts: the learner to start with."""

    power: Annotated[
        float, Within(0), "of the uniform draw that the bonus is multiplied by; 0: none is drawn"
    ] = 3.0
    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    growth: Annotated[
        float, Within(0), "share by which visits of a pair grow before a plan; 0: each episode"
    ] = 1e-9
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"

    at_once = 1

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with the bonus, drawn anew, and one test."""
        task, belief = mind.task, memory.belief
        rows = rows_of(seen.N, task.S, task.A)
        L = math.log(5 * task.S * task.A * max(1, int(belief.visits[0])) / self.delta)
        surprise = float(memory.surprise[0] / memory.surprise_weight[0])
        scale = float(mind.rng.random()) ** self.power / math.sqrt(2.0 * L * task.H)
        induct = hopeful_csr if isinstance(rows, tuple) else hopeful_dense
        induct(
            (rows, *seen[1:]),
            (task.available, belief.terminal, rewards),
            most_to_come(task.H, rewards[1]),
            self._tests(memory, rewards, mind),
            L,
            (scale, scale * surprise),
            (memory.q, memory.v, memory.policy),
        )

    def _tests(
        self, memory: Memory, rewards: tuple[float, float], mind: Mind
    ) -> NDArray[np.float64]:
        """What each pair might hide, [S*A]: 0 for those that were met or are not inferred."""
        prior, counts = memory.belief.prior, memory.belief.counts
        if not prior.speaks:
            return np.zeros(counts.n.size)
        hidden = 1.0 - (1.0 - prior.doubt) * (1.0 - prior.r_doubt)
        inferred = (prior.n0 > 0) & (prior.r_n0 > 0) & (counts.n == 0)
        size = (rewards[1] - rewards[0]) * math.sqrt(mind.episode + 1.0)
        return np.where(inferred, size * hidden, 0.0).ravel()
