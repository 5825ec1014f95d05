"""The default learner: planning by analogy, with optimism that adapts.

It plans on counts plus what is inferred from other pairs (`gim.inference.analogy`), with one
setting for all tasks, before every episode and at the first visit of a pair:

    Q1_h(s,a) = r(s,a) + p.V1_{h+1} + x b_h(s,a),   but if (s,a) is inferred and was never met
    Q1_h(s,a) = max(that, r(s,a) + test(s,a) + p.V0_{h+1} + x b_h(s,a)),

at most the most that can come, V1 and V0 being the maxima with and without a test.

The bonus b is that of `gim.agents.ucbvi` by its rule, along an episode about one standard error of
the return. Its multiplier x is drawn for each plan (as in RandUCB: Vaswani, Mehrabian, Durand and
Kveton, 2020): a tenth as a rule, and the square of a uniform number with probability
1 / (2 sqrt(episodes so far)). Little optimism is best on average, but now and then stuck for ever;
plans that doubt what is known, ever rarer, cost no more than sqrt(episodes) of them and end that,
and the square spares most of them the cost of doubting all. Where rewards are
noisy, what few visits say of them is little, whatever is inferred of next states: the bonus for
rewards is then taken in full, with a term for what their own n visits may have missed,

    (H - h) min(w, sigma) L / (3 n) / 2 / sqrt(2 L H),   sigma the standard deviation of a reward.

The test is what a pair never met might hide. Its prediction fails with a known chance, and it may
then pay anything: the width of the rewards times that chance times a power of the episodes so far.
It can be collected once in a plan, so no pair is worth the largest reward at every step, and
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
from gim.model.counts import Counts
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.params import Within
from gim.planning.sweeps import rows_of, take_best

LITTLE = 0.1  # of the bonus, as a rule
HALF = 0.5  # of the bonus for what few noisy rewards have missed
GROWTH = 0.6  # power of the episodes so far with which tests grow

columns, moments = columns_dense, moments_dense  # the template is bound to one pair or the other


def hopeful(
    seen: Any,
    frame: Any,
    ceiling: Any,
    test: Any,
    pooled: float,
    L: float,
    scales: Any,
    plan: Any,
) -> None:
    """Backward induction with bonuses and one test, into plan = (q, v, policy).

    `seen` is the evidence with its rows [S*A, S] or CSR; `frame` the available pairs, terminal
    states and the reward range; `test` [S*A] what a pair might hide, 0: nothing; `pooled` the
    variance of a single reward, which counts as one visit; `scales` multiply the parts of the bonus
    that stand for next states, for those that few visits have missed, for rewards, and for what few
    visits have missed of them.
    """
    scale, rare, of_rewards, missed = scales
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
                    spread = max(0.0, R2[s, a] - n_r[s, a] * r[i] * r[i]) + pooled
                    noise[i] = spread / n_r[s, a] / n_r[s, a]
                    bonus[i] = missed * L / n_r[s, a] / 3.0
                bonus[i] += rare * (high - low) * L * one[i] / 3.0
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
            variance = max(0.0, square[i] * one[i] - future * future) * one[i]
            doubt = scale * scale * variance + of_rewards * of_rewards * noise[i]
            now = r[i] + (H - h) * bonus[i] + math.sqrt(2.0 * L * doubt)
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


def multiplier(episode: int, rng: np.random.Generator) -> float:
    """What the bonus is multiplied by in a plan: little as a rule, now and then up to all of it."""
    u, x = rng.random(2)
    return float(x * x) if u < 0.5 / math.sqrt(episode + 1.0) else LITTLE


def reward_noise(counts: Counts) -> float:
    """Variance of a single reward, pooled over what was met twice: triples where they are kept."""
    n: Any = counts.n.ravel()
    R, R2 = counts.R.ravel(), counts.R2.ravel()
    if counts.paid.size:
        n, R, R2 = counts.next, counts.paid, counts.paid2
    twice = n >= 2
    n, R, R2 = n[twice], R[twice], R2[twice]
    scatter = np.maximum(R2 - R**2 / n, 0.0)
    total = float(scatter[scatter > 1e-9 * float(R2.max(initial=0.0))].sum())
    return total / max(float((n - 1).sum()), 1.0)


@dataclass(frozen=True)
class Analogist(Episodic, Agent, name="analogist"):
    """Plans by analogy with optimism that adapts: the learner to start with."""

    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"

    growth = 1e-9  # a plan before each episode
    at_once = 1

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with the bonus, drawn anew, and one test."""
        task, belief = mind.task, memory.belief
        rows = rows_of(seen.N, task.S, task.A)
        L = math.log(5 * task.S * task.A * max(1, int(belief.visits[0])) / self.delta)
        surprise = float(memory.surprise[0] / memory.surprise_weight[0])
        full = 1.0 / math.sqrt(2.0 * L * task.H)
        pooled = 0.0 if belief.rewards.given else reward_noise(belief.counts)
        scale = full * multiplier(mind.episode, mind.rng)
        missed = full * HALF * min(rewards[1] - rewards[0], math.sqrt(pooled))
        induct = hopeful_csr if isinstance(rows, tuple) else hopeful_dense
        induct(
            (rows, *seen[1:]),
            (task.available, belief.terminal, rewards),
            most_to_come(task.H, rewards[1]),
            self._tests(memory, rewards, mind),
            pooled,
            L,
            (scale, scale * surprise, full if pooled > 0 else scale, missed),
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
        size = (rewards[1] - rewards[0]) * (mind.episode + 1.0) ** GROWTH
        return np.where(inferred, size * hidden, 0.0).ravel()
