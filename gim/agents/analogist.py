"""The default learner: planning by analogy, with optimism that adapts.

It plans on counts plus what is inferred from other pairs (`gim.inference.analogy`), with one
setting for all tasks, before every episode and at the first visit of a pair (in large dense worlds
both wait, by what a plan costs):

    Q1_h(s,a) = r(s,a) + p.V1_{h+1} + x b_h(s,a),   but if (s,a) is inferred and was never met
    Q1_h(s,a) = max(that, r(s,a) + test_h(s,a) + p.V0_{h+1} + x b_h(s,a)),

at most the most that can come, V1 and V0 being the maxima with and without a test.

The bonus b is that of `gim.agents.ucbvi` by its rule, along an episode about one standard error of
the return. Its multiplier x is drawn for each plan (as in RandUCB: Vaswani, Mehrabian, Durand and
Kveton, 2020): a tenth as a rule, and 1.5 u^4 of a uniform number u with probability
1 / (2 sqrt(episodes so far)). Little optimism is best on average, but now and then stuck for ever;
plans that doubt what is known, ever rarer, cost no more than sqrt(episodes) of them and end that.
One visit to the best pair that went badly takes a multiplier above 1 to be made good; the power
spares most of these plans the cost of doubting all. Few visits may have missed the next
state that matters, and one slip must not close a way for good. So to the term for what n visits
have missed comes one that is not as little, for the best state that they may have missed,

    max(x, .3) (max V1_{h+1} - p.V1_{h+1}) sqrt(surprise) L / (3 n) / sqrt(2 L H):

it is small where values are alike, however much can be earned, and 0 where nothing is random. (The
surprise is that of an average visit, see `gim.agents.episodic`; where rewards are noisy every visit
is one, and the .3 is left out.) There what few visits say of rewards is little, whatever is
inferred of next states: the bonus for rewards is then taken in full, with a term for what their own
n visits may have missed,

    (H - h) min(w, sigma) L / (3 n) / 2 / sqrt(2 L H),   sigma the standard deviation of a reward.

A pair that was never met and of which nothing is known has the largest value that can come. So has
one whose prediction q says too little: the squared error that it leaves open,

    doubt + (1 - doubt) (1 - sum q^2) / (n0 + 1),   p ~ Dirichlet(n0 q) where it holds,

is above one half (a wild guess leaves 1). Whoever believes such a guess stays where he has been.

The test is what another pair never met might hide. Its prediction fails with a known chance, and it
may then pay anything, or be the way out: the width of the rewards, and what the rest of the episode
is predicted to cost, times that chance times a power of the steps so far. It can be collected once
in a plan, so no pair is worth the largest reward at every step, and
it grows, so every pair is tried in the end.

Where nothing is random, several outcomes that are predicted of a pair are no chance but ignorance:
one of them always comes, and one visit tells which. (A passenger is picked up in one cell of 25.)
To the test comes then what is expected to be gained by knowing, the same power of the steps times

    sum_s' p(s') max(0, r(s,a) + V0_{h+1}(s') - max_a V0_h(s)),

less by ten times the surprise: one visit in ten that differs from those before, and it is nothing.

The range of the rewards says that more is hidden, as long as the best pair met pays less than half
of it. One of the pairs never met then pays the rest, for an episode of H steps, and there may be as
many episodes to come as there have been: (low + high - 2 best) H episodes, times the share that the
pair has in all that might be hidden, the less the more often its action was met. Without this,
small rewards near the start end the search. It is asked in each part of the world that an episode
never leaves, by the steps that were spent there and will be in this episode: that one passenger was
brought home does not end the search for another's.
Where every step costs, what is hidden is an end of the episode, as long as none was met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent, Mind, Task
from gim.agents.backups import (
    count_entries,
    gains_apart,
    gains_csr,
    gains_dense,
    most_of,
    raise_bars,
    sums_apart,
    sums_csr,
    sums_dense,
)
from gim.agents.episodic import Episodic, Memory, pause
from gim.agents.unknowns import missing, parts, reward_noise, unknowns
from gim.inference.base import inferences
from gim.inference.belief import Belief, due
from gim.inference.evidence import Evidence
from gim.inference.shared_rows import EIGHT, Apart, is_dense, shared_rows
from gim.jit import bind, hot
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.params import Within
from gim.planning.sweeps import rows_of, take_best

LITTLE = 0.1  # of the bonus, as a rule
MUCH = 1.5  # the most of it
HOPE = 0.3  # of the bonus for the best state that few visits have missed, as a rule
HALF = 0.5  # of the bonus for what few noisy rewards have missed
RANDOM = 0.1  # surprise of an average visit from which outcomes are taken for chance
ENTRIES = 1 << 21  # of sums over next states, of plans inside an episode, that one step may cost
WORK = 1 << 20  # numbers that a plan goes through where it reads a dense prior apart, by step
GROWTH, LONG = 0.6, 40  # tests grow with this power of the steps so far, counted by so many


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the plan; in a large world it may wait for a new one, and tests no pair twice then."""
    n, now = memory.belief.counts.n, memory.now
    if now[s, memory.policy[h, s]] > 1.0 or n[s, memory.policy[h, s]] == 0:
        return memory.policy[h, s]
    best, most = memory.policy[h, s], -np.inf
    for a in range(n.shape[1]):
        if memory.q[h, s, a] > most and (now[s, a] > 1.0 or n[s, a] == 0):
            best, most = a, memory.q[h, s, a]
    return best


sums, gains = sums_dense, gains_dense  # the template is bound to those of one form of N


def hopeful(
    seen: Any,
    frame: Any,
    ceiling: Any,
    test: Any,
    astray: Any,
    pooled: float,
    L: float,
    scales: Any,
    plan: Any,
    first: int,
    room: Any,
) -> None:
    """Backward induction with bonuses and one test, into `plan`, from `first` on.

    `seen` is the evidence with its columns [S, S*A], CSR or apart (see `gim.agents.backups`);
    `frame` the available pairs, terminal states and the reward range; `test` [S*A] what a pair
    might pay, 0: nothing is hidden; `astray` [S*A] times what the rest of the episode costs, if it
    does, might be saved; `pooled` the variance of a single reward, which counts as one visit;
    `scales` multiply the parts of the bonus that stand for next states, for those that few visits
    have missed, for the best of them, for rewards, and for what few visits have missed of them,
    and what a test may find; `plan` is q, the same with pairs in a row [H, S*A], v and policy;
    `room` is to work in, zeros: what allocates, or makes views, takes long to compile.
    """
    scale, rare, hope, of_rewards, missed, find = scales
    (N, n, R, R2, n_r), (available, terminal, (low, high)) = seen, frame
    (q, values, v, policy) = plan
    # reward, 1/n, its variance / n, bonus per step; sums over next states; bars; without a test
    (r, one, noise, bonus), (mean, square, later, gain), bar, (q0, without, v0, policy0) = room
    H, S, A = q.shape
    many = 0  # pairs to test
    for s in range(S):
        for a in range(A):
            i = s * A + a
            if not available[s, a]:
                r[i] = -np.inf
            elif n[s, a] > 0.0:
                many += test[i] > 0.0
                one[i] = 1.0 / n[s, a]
                r[i] = high  # unless something is known of it
                if n_r[s, a] > 0.0:
                    r[i] = R[s, a] / n_r[s, a]
                    spread = max(0.0, R2[s, a] - n_r[s, a] * r[i] * r[i]) + pooled
                    noise[i] = spread / n_r[s, a] / n_r[s, a]
                    bonus[i] = missed * L / n_r[s, a] / 3.0
            elif not terminal[s]:
                r[i] = np.inf  # brought down to the ceiling
    tests = many > 0
    for s in range(S):
        v[H, s] = v0[s] = 0.0
    for h in range(H - 1, first - 1, -1):
        best, anything = most_of(v[h + 1]), rare * (H - h) * (high - low)
        if h < H - 1:  # else they are 0
            sums(N, v[h + 1], v0, tests, mean, square, later)
        for i in range(S * A):
            future = mean[i] * one[i]
            variance = max(0.0, square[i] * one[i] - future * future) * one[i]
            doubt = scale * scale * variance + of_rewards * of_rewards * noise[i]
            beyond = (anything + hope * (best - future)) * L * one[i] / 3.0
            now = r[i] + (H - h) * bonus[i] + beyond + math.sqrt(2.0 * L * doubt)
            values[h, i] = min(ceiling[h], now + future)
            if tests:
                without[i] = min(ceiling[h], now + later[i] * one[i])
        if tests:
            if find > 0.0 and h < H - 1:  # at the last step there is nothing to be gained
                raise_bars(q0, test, later, one, bar)
                gains(N, v0, bar, gain)
            for i in range(S * A):
                if test[i] > 0.0:
                    hidden = test[i] + astray[i] * max(0.0, -later[i] * one[i])
                    x = without[i] + hidden + find * gain[i] * one[i]
                    values[h, i] = min(ceiling[h], max(values[h, i], x))
            take_best(q0, v0, policy0)
        take_best(q[h], v[h], policy[h])


hopeful_dense = bind(hopeful, "dense", sums=sums_dense, gains=gains_dense)
hopeful_csr = bind(hopeful, "csr", sums=sums_csr, gains=gains_csr)
hopeful_apart = bind(hopeful, "apart", sums=sums_apart, gains=gains_apart)


def room_for(S: int, A: int) -> Any:
    """What `hopeful` works in."""
    rows, q0 = tuple(np.zeros((9, S * A))), np.empty((S, A))
    without = q0, q0.reshape(-1), np.empty(S), np.empty(S, np.int64)
    return rows[:4], rows[4:8], rows[8], without


def multiplier(episode: int, rng: np.random.Generator) -> float:
    """What the bonus is multiplied by in a plan: little as a rule, now and then MUCH of it."""
    u, x = rng.random(2)
    return MUCH * float(x**4) if u < 0.5 / math.sqrt(episode + 1.0) else LITTLE


def grown(belief: Belief) -> float:
    """What tests are multiplied by: a power of the steps so far."""
    return float((1.0 + belief.visits[0] / LONG) ** GROWTH)


@dataclass(frozen=True)
class Analogist(Episodic, Agent, name="analogist"):
    """Plans by analogy with optimism that adapts: the learner to start with."""

    delta: Annotated[float, Within(1e-12, 1), "probability that the bounds may fail"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"

    growth = 1e-9  # a plan before each episode
    at_once = 1
    act = staticmethod(act)  # type: ignore[misc]

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Backward induction with the bonus, drawn anew, and one test, for the steps to come."""
        task, belief = mind.task, memory.belief
        induct, N, sharp = self._read(memory, seen.N, task)
        L = math.log(5 * task.S * task.A * max(1, int(belief.visits[0])) / self.delta)
        surprise = float(memory.surprise[0] / memory.surprise_weight[0])
        full = 1.0 / math.sqrt(2.0 * L * task.H)
        met = seen.N.met if isinstance(seen.N, Apart) else None
        pooled = 0.0 if belief.rewards.given else reward_noise(belief.counts, met)
        x = multiplier(mind.episode, mind.rng)
        scale = full * x
        hope = full * max(x, 0.0 if pooled > 0 else HOPE) * math.sqrt(surprise)
        find = grown(belief) * max(0.0, 1.0 - surprise / RANDOM)
        unknown = unknowns(belief, sharp)
        if unknown.any():
            seen = seen._replace(n=np.where(unknown, 0.0, seen.n))
        missed = full * HALF * min(rewards[1] - rewards[0], math.sqrt(pooled))
        induct(
            (N, *seen[1:]),
            (task.available, belief.terminal, rewards),
            most_to_come(task.H, rewards[1]),
            *self._tests(memory, rewards, mind),
            pooled,
            L,
            (scale, scale * surprise, hope, full if pooled > 0 else scale, missed, find),
            (memory.q, memory.q.reshape(task.H, -1), memory.v, memory.policy),
            mind.step,
            room_for(task.S, task.A),
        )

    def think(self, memory: Memory, mind: Mind) -> Memory:
        """Infer if it is time, then plan; where plans cost more than an episode may, they wait."""
        wait = memory.pause[0] - mind.task.H
        if mind.plans and memory.waited[0] < wait and not due(memory.belief):
            return memory
        return super().think(memory, mind)

    def evidence(self, belief: Belief, mind: Mind) -> Evidence:
        """Counts and prior together, or apart where the prior is dense and large."""
        if belief.rewards.given or not is_dense(belief.counts, belief.prior):
            return belief.evidence()
        of, rows = mind.kept.get("rows", (None, None))
        if of is not belief.prior.q:
            rows = shared_rows(belief.prior)
            mind.kept["rows"] = belief.prior.q, rows
        return belief.evidence(rows)

    def _read(self, memory: Memory, N: Any, task: Task) -> tuple[Any, Any, Any]:
        """How to plan with visits by next state, and the sharpness of predictions, if known.

        Sets the pause of plans by what they cost.
        """
        S, A, H = task.S, task.A, task.H
        if isinstance(N, Apart):
            kind, blocks, sharp = N.rows[:3]
            work = 2 * S * A * S + H * (16 * S * A + 2 * N.met[0].size + blocks.size // 2)
            memory.pause[0] = H + work // WORK  # never inside an episode
            room = tuple(np.empty((3, EIGHT * len(blocks))))
            return hopeful_apart, (N.met, N.n0, kind, blocks, room), sharp
        rows = rows_of(N, S, A)
        memory.pause[0] = min(H, max(pause(S, A, H), count_entries(rows) * H // ENTRIES))
        if isinstance(rows, tuple):
            return hopeful_csr, rows, None
        return hopeful_dense, np.ascontiguousarray(rows.T), None

    def _parts(self, belief: Belief, mind: Mind) -> NDArray[np.int64]:
        """The parts of the world [S] that an episode never leaves, by what was inferred last."""
        of, part = mind.kept.get("parts", (None, None))
        if of is not belief.prior.q:
            part = parts(belief)
            mind.kept["parts"] = belief.prior.q, part
        return part

    def _tests(
        self, memory: Memory, rewards: tuple[float, float], mind: Mind
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each pair might pay, and how likely it leads astray, times its growth; [S*A] each.

        0 for those that were met or are not inferred.
        """
        prior, counts = memory.belief.prior, memory.belief.counts
        nothing = np.zeros(counts.n.size), np.zeros(counts.n.size)
        if not prior.speaks:
            return nothing
        inferred = (prior.n0 > 0) & (prior.r_n0 > 0) & (counts.n == 0)
        if not inferred.any():
            return nothing
        hidden = 1.0 - (1.0 - prior.doubt) * (1.0 - prior.r_doubt)
        hidden = (hidden * inferred).ravel()
        steps = mind.task.H * (mind.episode + 1)
        part = self._parts(memory.belief, mind)
        sought = missing(memory.belief, rewards, part, hidden, mind.task.H)
        times = grown(memory.belief)
        test = (rewards[1] - rewards[0]) * times * hidden + steps * sought
        return test, times * (inferred * prior.doubt).ravel()
