"""The default learner: it plans with what it infers, and doubts it as far as it may be wrong.

Every estimate p(.|s,a) is made of a pair's own n visits and of a prediction that counts for w n0
visits more, N = n + w n0 in all (`gim.belief.evidence`). It may be wrong in two ways. The *rule*
behind the prediction was seen B times, and all pairs that follow it err together, so that its
errors add up along an episode. The *pair* may differ from its rule, by so much as N visits leave
open; such errors average out over the H steps of an episode. With y = r + V_{h+1}(s'), and
g = w n0 / N the part of the rule in the estimate,

    Q_h(s,a) = E y + .3 g sd(y) / sqrt(B + 1)
               + sqrt((Var(y) / (N + 1) + z (d u + e m) + (1 + z) noise / n_r) / H),
    u = (max V - E V)^2 / (n + 1)^2,  m = (r_max - E r)^2 if n = 0, else 0.

d is the chance that no rule of next states holds at the pair, so that n visits may have missed the
best that there is; e the chance that no rule of rewards does at a pair never met, so that it may
pay the most. z grows with the root of the episodes, so that no run is stuck for ever; for d it is
the surprise of an average visit, too. The noise is that of single rewards. A pair of which nothing
is known has the largest value that can come; so has one whose action was never tried.

The range of rewards may say that more is hidden than was met (`gim.agents.unknowns.missing`): a
pair never met is then worth at least E(r + V0_{h+1}) and its share of that, V0 being the values
without it, so that it is collected once in a plan; the less, the fewer steps are left to go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot
from gim._compile.memory import Limit, Limits, actions
from gim.agents.backups import count_entries
from gim.agents.doubting import (
    Doubts,
    doubting_apart,
    doubting_csr,
    doubting_dense,
    room_for,
)
from gim.agents.episodic import Episodic, pause
from gim.agents.unknowns import missing, parts, reward_noise
from gim.analogy.base import inferences
from gim.analogy.prior import Prior
from gim.belief.evidence import Apart, Evidence, is_dense, shared_rows
from gim.belief.knowledge import Knowledge, due, rule_doubt
from gim.belief.noticing import notice
from gim.model.deploy import RULE
from gim.model.rewards import LargestReward, LeastReward, most_to_come
from gim.model.task import Mind, Task
from gim.planning.sweeps import rows_of
from gim.runs.agent import Agent

GROWTH = 0.3  # of what is open, by the root of the episodes so far
ENTRIES = 1 << 19  # of sums over next states, of plans inside an episode, that one step may cost
WORK = 1 << 20  # numbers that one step of a plan may read, or it is made between episodes alone
WHOLE = 8  # limit: steps that a whole plan inside an episode may wait for
AHEAD = 32  # limit: steps that such a plan makes anew where a whole one would wait longer


class Memory(NamedTuple):
    """As `gim.agents.episodic.Memory`, with the values without a test."""

    belief: Knowledge
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
        """See `gim._compile.memory`."""
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


def _kept(mind: Mind, name: str, prior: Prior, make: Callable[[], Any]) -> Any:
    """What is made once for each prior, and kept until the next."""
    of, found = mind.kept.get(name, (None, None))
    if of is not prior.q:
        found = make()
        mind.kept[name] = prior.q, found
    return found


@dataclass(frozen=True)
class Analogist(Episodic, Agent, name="analogist"):
    """Plans by analogy and doubts it as far as it may be wrong: the learner to start with."""

    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"

    notices = True
    growth = 1e-9  # a plan before each episode
    at_once = 1
    act = staticmethod(act)  # type: ignore[misc]

    def start(self, task: Task, rng: np.random.Generator) -> Any:
        """Nothing seen, but what a model learned elsewhere stands for."""
        v0, never = np.zeros((task.H + 1, task.S)), -np.ones(1)
        return Memory(*Episodic.start(self, task, rng), v0=v0, whole=never)

    def plan(self, memory: Any, seen: Evidence, rewards: tuple[float, float], mind: Mind) -> None:
        """Backward induction with the bonuses, for the steps to come."""
        task, belief = mind.task, memory.belief
        induct, N, ahead = self._read(memory, seen.N, task)
        hidden = self._hidden(belief, rewards, mind)
        told = self.infer is not None and self.infer.elsewhere
        if told:
            memory.pause[0] = pause(task.S, task.A, task.H)  # what a step shows may change all
        induct(
            N,
            doubts_of(memory, seen, task, rewards[1], mind.episode, told)._replace(hidden=hidden),
            most_to_come(task.H, rewards[1]),
            bool(hidden.any()),
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
        if self.infer is None or self.infer.doubted:  # else nobody knows how far it may be off
            notice(memory.belief, mind)
        return super().think(memory, mind)

    def evidence(self, belief: Knowledge, mind: Mind) -> Evidence:
        """Counts and prior together, or apart where the prior is dense and large."""
        if belief.rewards.given or not is_dense(belief.counts, belief.prior):
            return super().evidence(belief, mind)
        return belief.evidence(_kept(mind, "rows", belief.prior, lambda: shared_rows(belief.prior)))

    def _read(self, memory: Memory, N: Any, task: Task) -> tuple[Any, Any, int]:
        """How to plan with visits by next state, and how far ahead inside an episode.

        Sets its pause by what it costs.
        """
        S, A, H = task.S, task.A, task.H
        if isinstance(N, Apart):
            kind, columns = N.rows[:2]
            work = H * (2 * N.met[0].size + columns.size // 2) + 2 * S * A * (S + 8 * H)
            memory.pause[0] = H + work // WORK  # never inside an episode
            room = np.empty((3, columns.shape[1]))
            return doubting_apart, (N.met, N.n0, kind, columns, *room), H
        rows = rows_of(N, S, A)
        entries, ahead = count_entries(rows), H
        if max(pause(S, A, H), entries * H // ENTRIES) > WHOLE:
            ahead = min(H, AHEAD)
        memory.pause[0] = min(H, max(pause(S, A, ahead), entries * ahead // ENTRIES))
        if entries > WORK:
            memory.pause[0] = H + entries * H // WORK
        if isinstance(rows, tuple):
            return doubting_csr, rows, ahead
        return doubting_dense, np.ascontiguousarray(rows.T), ahead

    def _last(self, memory: Any, ahead: int, mind: Mind) -> int:
        """The step from which on this plan goes by the one before: H if it is whole.

        It is whole before an episode, after an inference, and where plans are cheap.
        """
        due_at = memory.belief.infer_at[0]
        whole = mind.step == 0 or due_at != memory.whole[0]
        memory.whole[0] = due_at
        return mind.task.H if whole else min(mind.task.H, mind.step + ahead)

    def _hidden(
        self, belief: Knowledge, rewards: tuple[float, float], mind: Mind
    ) -> NDArray[np.float64]:
        """What each pair never met might pay more than all that were, in the whole run, [S*A]."""
        prior, never = belief.prior, belief.counts.n == 0
        if not (never.any() and prior.speaks):
            return np.zeros(never.size)
        inferred = never & (prior.n0 > 0) & (prior.r_n0 > 0)
        if not inferred.any():
            return np.zeros(never.size)
        hidden = (unruly(prior) * inferred).ravel()
        part = _kept(mind, "parts", prior, lambda: parts(belief))
        steps = mind.task.H * (mind.episode + 1)
        return steps * missing(belief, rewards, part, hidden, mind.task.H)


def unruly(prior: Prior) -> NDArray[np.float64]:
    """The chance [S, A] that what is predicted of a pair, its reward included, does not hold."""
    return 1.0 - (1.0 - prior.doubt) * (1.0 - prior.r_doubt)


def doubts_of(
    memory: Any, seen: Evidence, task: Task, largest: float, episode: int, elsewhere: bool = False
) -> Doubts:
    """How far each estimate may be wrong, and in which way.

    An action never tried may do anything, unless it was tried `elsewhere`, in worlds of its family.
    """
    belief, n, n_r, H = memory.belief, seen.n.ravel(), seen.n_r.ravel(), task.H
    counts, prior, own = belief.counts, belief.prior, belief.counts.n.ravel()
    met = seen.N.met if isinstance(seen.N, Apart) else None
    pooled = 0.0 if belief.rewards.given else reward_noise(counts, met)
    known, never, pay = n > 0, own == 0, n_r > 0
    visits, paid = np.maximum(n, 1e-300), np.maximum(n_r, 1e-300)
    r = np.where(pay, seen.R.ravel() / paid, largest)
    spread = np.maximum(seen.R2.ravel() / paid - r * r, 0.0) * pay
    new = float(memory.surprise[0] / memory.surprise_weight[0])
    lawless = pays = np.ones(n.size)
    if prior.speaks:
        if never.any():
            untried = never & np.tile(~counts.n.any(axis=0), task.S)
            if elsewhere:
                untried &= prior.behind.ravel() <= 1.0
            known &= ~untried
        held = (seen.n - counts.n) / np.where(prior.n0 > 0, prior.n0, np.inf)
        lawless = np.maximum(prior.doubt, 1.0 - held).ravel()
        pays = np.where(prior.r_n0 > 0, prior.r_doubt, 1.0).ravel()
    grown = GROWTH * math.sqrt(1.0 + episode)
    unseen = lawless * np.where(never, 1.0, new) * grown
    r = np.where(known, r, np.where(belief.terminal, 0.0, np.inf).repeat(task.A))
    more = np.zeros(n.size)
    if never.any() and not belief.rewards.given:
        more = np.where(known & never, pays * grown * (largest - r) ** 2 / H, 0.0)
    return Doubts(
        r=np.where(task.available.ravel(), r, -np.inf),
        one=np.where(known, 1.0 / visits, 0.0),
        spread=np.where(known, spread, 0.0),
        noise=np.where(known & pay, (1.0 + grown) * pooled / (paid * H), 0.0),
        rule=np.where(known, RULE * rule_doubt(belief, seen).ravel(), 0.0),
        own=np.where(known, 1.0 / (H * (n + 1.0)), 0.0),
        open=np.where(known, unseen / (H * (own + 1.0) ** 2), 0.0),
        more=more,
        hidden=np.zeros(n.size),
    )
