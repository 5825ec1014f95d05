"""The default learner: planning by analogy, with optimism that adapts.

It plans on counts plus what is inferred from other pairs (`gim.inference.analogy`), with one
setting for all tasks, before every episode and at the first visit of a pair (in large worlds such
a plan waits, by what it costs; where a whole one would wait long, it is made for the next 32 steps
and goes by the plan before from there on; in large dense worlds all plans wait):

    Q1_h(s,a) = r(s,a) + p.V1_{h+1} + x b_h(s,a),   but if (s,a) is inferred and was never met
    Q1_h(s,a) = max(that, r(s,a) + test_h(s,a) + p.V0_{h+1} + x b_h(s,a)),

at most the most that can come, V1 and V0 being the maxima with and without a test.

The bonus b is that of `gim.agents.ucbvi` by its rule, along an episode about one standard error of
the return. Its multiplier x is drawn for each plan (as in RandUCB: Vaswani, Mehrabian, Durand and
Kveton, 2020): a tenth as a rule, and 1.5 u^4 of a uniform number u with probability
1 / (2 sqrt(episodes so far)). Little optimism is best on average, but now and then stuck for ever;
plans that doubt what is known, ever rarer, cost no more than sqrt(episodes) of them and end that.
One visit to the best pair that went badly takes a multiplier above 1 to be made good; the power
spares most of these plans the cost of doubting all. To try again a pair that looks good to them may
cost an episode: where there are few pairs, up to 64, doubt is cheap, and comes twice as often, with
u^3; in larger worlds less so, by (64 / (S A))^2. A rule that holds of a hundred pairs and not
of the one that matters speaks there with the weight of all of them: no bonus for visits, inferred
ones included, would have it tried again. So where much is random one plan in a hundred (later as
seldom as those that doubt) goes by visits alone, with all of the bonus, as if nothing were
inferred.

Few visits may have missed the next state that matters, and one slip must not close a way for good.
So to the term for what n visits have missed comes one that is not as little, for the best state
that they may have missed,

    max(x, .3) (max V1_{h+1} - p.V1_{h+1}) sqrt(surprise) L / (3 n) / sqrt(2 L H):

it is small where values are alike, however much can be earned, and 0 where nothing is random. (The
surprise is that of an average visit, see `gim.agents.episodic`; where rewards are noisy every visit
is one, and the .3 is left out.) There what few visits say of rewards is little, whatever is
inferred of next states: the bonus for rewards is then taken in full, with a term for what their own
n visits may have missed,

    (H - h) min(w, sigma) L / (3 n) / 2 / sqrt(2 L H),   sigma the standard deviation of a reward.

So it is for a pair whose next states are inferred while its rewards, which depend on them, are not:
one visit shows what one of them pays (`gim.agents.unknowns.noise_by_pair`).

An action that has done nothing so far is another matter. Where many steps fail and leave one where
one was, two or four that did say next to nothing, and whoever believes them never learns where
the action leads. How often visits leave a state after k that did not can be counted over all pairs
(`gim.agents.unknowns.may_leave`): where much is random that chance, times what the best state is
better, max V1_{h+1} - p.V1_{h+1}, is added for each pair that has only stayed, in every plan.

A pair that was never met and of which nothing is known has the largest value that can come. So has
one whose prediction q says too little: the squared error that it leaves open,

    doubt + (1 - doubt) (1 - sum q^2) / (n0 + 1),   p ~ Dirichlet(n0 q) where it holds,

is above one half (a wild guess leaves 1). Whoever believes such a guess stays where he has been.

The test is what another pair never met might hide. Its prediction fails with a known chance, and it
may then pay anything, or be the way out: the width of the rewards, and what the rest of the episode
is predicted to cost, times that chance times a power of the steps so far. It can be collected once
in a plan, so no pair is worth the largest reward at every step, and
it grows, so every pair is tried in the end. Where rewards are given it can pay nothing else, but it
may lead to the best state, max V0_{h+1}, or out, 0: what that is above p.V0_{h+1} stands then for
both.

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent, Mind, Task
from gim.agents.backups import count_entries
from gim.agents.episodic import Episodic, pause
from gim.agents.hopeful import hopeful_apart, hopeful_csr, hopeful_dense, room_for
from gim.agents.unknowns import (
    may_leave,
    missing,
    noise_by_pair,
    parts,
    reward_noise,
    sharpness,
    unknowns,
)
from gim.inference.base import inferences
from gim.inference.belief import Belief, due
from gim.inference.evidence import Evidence
from gim.inference.prior import Prior, no_prior
from gim.inference.shared_rows import EIGHT, Apart, is_dense, shared_rows
from gim.jit import hot
from gim.memory import Limit, Limits, actions
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.params import Within
from gim.planning.sweeps import rows_of

LITTLE = 0.1  # of the bonus, as a rule
MUCH = 1.5  # the most of it
FEW = 64  # pairs up to which doubt is cheap
SELDOM = 0.01  # share of plans, at most, that go by visits alone
HOPE = 0.3  # of the bonus for the best state that few visits have missed, as a rule
RANDOM = 0.1  # surprise of an average visit from which outcomes are taken for chance
ENTRIES = 1 << 21  # of sums over next states, of plans inside an episode, that one step may cost
WORK = 1 << 20  # numbers that a plan goes through where it reads a dense prior apart, by step
WHOLE = 8  # steps that a whole plan inside an episode may wait for
AHEAD = 32  # steps that such a plan makes anew where a whole one would wait longer
GROWTH, LONG = 0.6, 40  # tests grow with this power of the steps so far, counted by so many


class Memory(NamedTuple):
    """As `gim.agents.episodic.Memory`, with the values without a test."""

    belief: Belief
    q: NDArray[np.float64]  # [H, S, A] values; -inf where not available
    v: NDArray[np.float64]  # [H + 1, S] their maxima; the last row is 0
    policy: NDArray[np.int64]  # [H, S]
    later: NDArray[np.float64]  # [S, A]
    now: NDArray[np.float64]  # [S, A]
    stale: NDArray[np.bool_]  # [1]
    urgent: NDArray[np.bool_]  # [1]
    pause: NDArray[np.int64]  # [1]
    waited: NDArray[np.int64]  # [1]
    surprise: NDArray[np.float64]  # [1]
    surprise_weight: NDArray[np.float64]  # [1]
    v0: NDArray[np.float64]  # [H + 1, S] maxima without a test; the last row is 0
    whole: NDArray[np.float64]  # [1] when inference was due next, at the last whole plan

    def limits(self) -> Limits:
        """See `gim.memory`."""
        return {"policy": actions(self.q), "whole": Limit(-1)}


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


def multiplier(episode: int, cheap: float, rng: np.random.Generator) -> tuple[float, bool]:
    """What the bonus is multiplied by in a plan, and whether the plan goes by visits alone.

    Little as a rule, now and then up to MUCH, more often where doubt is `cheap` (0 to 1). One in a
    hundred goes by visits alone, where much is random: else one visit tells.
    """
    u, x = rng.random(2)
    seldom = 0.5 / math.sqrt(episode + 1.0)
    often = min(0.5, (1.0 + cheap) * seldom)
    much = MUCH * float(x ** (4.0 - cheap))
    return (much if u < often else LITTLE), bool(u >= 1.0 - min(SELDOM, seldom))


def grown(belief: Belief) -> float:
    """What tests are multiplied by: a power of the steps so far."""
    return float((1.0 + belief.visits[0] / LONG) ** GROWTH)


def _kept(mind: Mind, name: str, prior: Prior, make: Callable[[], Any]) -> Any:
    """What is made once for each prior, and kept until the next."""
    of, found = mind.kept.get(name, (None, None))
    if of is not prior.q:
        found = make()
        mind.kept[name] = prior.q, found
    return found


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

    def start(self, task: Task, rng: np.random.Generator) -> Any:
        """Nothing seen, but what a model learned elsewhere stands for."""
        v0, never = np.zeros((task.H + 1, task.S)), -np.ones(1)
        return Memory(*Episodic.start(self, task, rng), v0=v0, whole=never)

    def plan(self, memory: Any, seen: Evidence, rewards: tuple[float, float], mind: Mind) -> None:
        """Backward induction with the bonus, drawn anew, and one test, for the steps to come."""
        task, belief = mind.task, memory.belief
        surprise = float(memory.surprise[0] / memory.surprise_weight[0])
        cheap = min(1.0, (FEW / (task.S * task.A)) ** 2)
        x, alone = multiplier(mind.episode, cheap, mind.rng)
        if alone and surprise > RANDOM and belief.prior.speaks:
            x, belief = 1.0, belief._replace(prior=no_prior(task.S, task.A))
            seen = belief.evidence()
        induct, N, sharp, ahead = self._read(memory, seen.N, task)
        L = math.log(5 * task.S * task.A * max(1, int(belief.visits[0])) / self.delta)
        full = 1.0 / math.sqrt(2.0 * L * task.H)
        met = seen.N.met if isinstance(seen.N, Apart) else None
        pooled = 0.0 if belief.rewards.given else reward_noise(belief.counts, met)
        scale = full * x
        hope = full * max(x, 0.0 if pooled > 0 else HOPE) * math.sqrt(surprise)
        find = grown(belief) * max(0.0, 1.0 - surprise / RANDOM)
        if sharp is None and belief.prior.speaks:
            sharp = _kept(mind, "sharp", belief.prior, lambda: sharpness(belief.prior))
        unknown = unknowns(belief, sharp)
        if unknown.any():
            seen = seen._replace(n=np.where(unknown, 0.0, seen.n))
        leaves = np.zeros(seen.n.size)
        if surprise > RANDOM:
            leaves = may_leave(belief.counts, seen.n, surprise)
        induct(
            (N, *seen[1:]),
            (task.available, belief.terminal, *rewards),
            most_to_come(task.H, rewards[1]),
            *self._tests(memory._replace(belief=belief), rewards, mind),
            leaves,
            noise_by_pair(belief, seen.n, pooled),
            L,
            (scale, scale * surprise, hope, full, find, float(belief.rewards.given)),
            (memory.q, memory.q.reshape(task.H, -1), memory.v, memory.policy, memory.v0),
            mind.step,
            self._last(memory, ahead, mind),
            room_for(task.S, task.A),
        )

    def think(self, memory: Any, mind: Mind) -> Any:
        """Infer if it is time, then plan; where plans cost more than an episode may, they wait."""
        wait = memory.pause[0] - mind.task.H
        if mind.plans and memory.waited[0] < wait and not due(memory.belief):
            return memory
        return super().think(memory, mind)

    def evidence(self, belief: Belief, mind: Mind) -> Evidence:
        """Counts and prior together, or apart where the prior is dense and large."""
        if belief.rewards.given or not is_dense(belief.counts, belief.prior):
            return super().evidence(belief, mind)
        return belief.evidence(_kept(mind, "rows", belief.prior, lambda: shared_rows(belief.prior)))

    def _read(self, memory: Memory, N: Any, task: Task) -> tuple[Any, Any, Any, int]:
        """How to plan with visits by next state; the sharpness of predictions, if known.

        Last the steps that a plan inside an episode looks ahead. Sets its pause by what it costs.
        """
        S, A, H = task.S, task.A, task.H
        if isinstance(N, Apart):
            kind, blocks, sharp = N.rows[:3]
            work = 2 * S * A * S + H * (16 * S * A + 2 * N.met[0].size + blocks.size // 2)
            memory.pause[0] = H + work // WORK  # never inside an episode
            room = np.empty((3, EIGHT * len(blocks)))
            return hopeful_apart, (N.met, N.n0, kind, blocks, *room), sharp, H
        rows = rows_of(N, S, A)
        entries, ahead = count_entries(rows), H
        if max(pause(S, A, H), entries * H // ENTRIES) > WHOLE:
            ahead = min(H, AHEAD)
        memory.pause[0] = min(H, max(pause(S, A, ahead), entries * ahead // ENTRIES))
        if isinstance(rows, tuple):
            return hopeful_csr, rows, None, ahead
        return hopeful_dense, np.ascontiguousarray(rows.T), None, ahead

    def _last(self, memory: Any, ahead: int, mind: Mind) -> int:
        """The step from which on this plan goes by the one before: H if it is whole.

        It is whole before an episode, after an inference, and where plans are cheap.
        """
        due_at = memory.belief.infer_at[0]
        whole = mind.step == 0 or due_at != memory.whole[0]
        memory.whole[0] = due_at
        return mind.task.H if whole else min(mind.task.H, mind.step + ahead)

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
        part = _kept(mind, "parts", prior, lambda: parts(memory.belief))
        sought = missing(memory.belief, rewards, part, hidden, mind.task.H)
        times = grown(memory.belief)
        width = 0.0 if memory.belief.rewards.given else rewards[1] - rewards[0]
        test = width * times * hidden + steps * sought
        return test, times * (inferred * prior.doubt).ravel()
