"""What RTDP-RMAX and RTDP-MBIE share: real-time dynamic programming on the empirical model.

Values start as large as can be; actions are greedy. After each step one backup of the pair played,

    q = r(s,a) + gamma sum_s' p(s'|s,a) max_b Q(s',b) + beta / sqrt(n(s,a)),

and Q(s,a) becomes q if it is lower than Q(s,a) by epsilon1 or more: O(S) a step, where RMAX and
MBIE solve the whole model. A pair with fewer than `enough` visits keeps its value.

With `infer=` what the inference adds to the counts stays as it is until the next inference. Then
all values start at the top again and backups are swept over all pairs until none falls: else a
prediction that was given up would hold for good.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import entry, hot
from gim._compile.memory import COUNT, SAME, Limit, Limits, actions, row_fault
from gim.agents.counting import Counting
from gim.agents.q_learning import first_best, keep_best
from gim.belief.knowledge import (
    Knowledge,
    believed_model,
    due,
    inferred_when_due,
    new_belief,
    observe,
)
from gim.model.counts import seen, transitions
from gim.model.learned import LearnedModel
from gim.model.rewards import reward_range
from gim.model.task import Mind, Task
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK

FOREVER = np.iinfo(np.int64).max  # as a number of visits


class Added(NamedTuple):
    """What an inference adds to the counts: visits by next state as CSR rows, and sums."""

    N: NDArray[np.float64]  # [entries]
    next: NDArray[np.int64]  # [entries] next states
    first: NDArray[np.int64]  # [S*A + 1] where the entries of each pair begin
    n: NDArray[np.float64]  # [S, A] visits
    R: NDArray[np.float64]  # [S, A] sum of rewards
    n_r: NDArray[np.float64]  # [S, A] visits behind the rewards

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        S, grown = len(self.n), Limit(grows=True)
        return {"N": grown, "next": Limit(0, S - 1, grows=True), "first": Limit(0, COUNT)}

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        return row_fault(self.first, self.N, self.next)


class Memory(NamedTuple):
    """Action values, and the model that they are backed up with."""

    belief: Knowledge
    added: Added
    q: NDArray[np.float64]  # [S, A]; -inf where not available
    best: NDArray[np.int64]  # [S] the greedy action
    m: NDArray[np.int64]  # [1] visits of a pair that are counted
    enough: NDArray[np.float64]  # [1] visits of a pair before its first backup
    epsilon1: NDArray[np.float64]  # [1] in the unit of rewards
    gamma: NDArray[np.float64]  # [1]
    beta: NDArray[np.float64]  # [1] in the unit of rewards
    top: NDArray[np.float64]  # [1] the largest value

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        same = dict.fromkeys(("m", "enough", "gamma"), SAME)
        return same | {"best": actions(self.q)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Greedy."""
    return memory.best[s]


@hot
def close_state(memory: Any, t: int) -> None:
    """A terminal state is worth 0."""
    for b in range(memory.q.shape[1]):
        if memory.q[t, b] > -np.inf:
            memory.q[t, b] = 0.0


@hot
def backup(memory: Any, s: int, a: int) -> bool:
    """One backup of a pair; whether its value fell."""
    counts, added, q, best = memory.belief.counts, memory.added, memory.q, memory.best
    S, A = q.shape
    n = counts.n[s, a] + added.n[s, a]
    n_r = counts.n[s, a] + added.n_r[s, a]
    if n < memory.enough[0] or min(n, n_r) <= 0.0:
        return False
    future = 0.0
    for t in range(S):
        future += seen(counts, s, a, t) * q[t, best[t]]
    for k in range(added.first[s * A + a], added.first[s * A + a + 1]):
        future += added.N[k] * q[added.next[k], best[added.next[k]]]
    r = (counts.R[s, a] + added.R[s, a]) / n_r
    before = q[s, a]
    value = r + memory.gamma[0] * future / n + memory.beta[0] / math.sqrt(n)
    if before - value < memory.epsilon1[0]:
        return False
    q[s, a] = value
    keep_best(q, best, s, a, before)
    return True


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count up to m visits, then back up the pair."""
    belief, full = memory.belief, False
    if belief.counts.n[s, a] < memory.m[0]:
        full = observe(belief, s, a, r, t, end)
    if end == TERMINATED:
        belief.terminal[t] = True
        close_state(memory, t)
    backup(memory, s, a)
    if due(belief):
        return THINK
    return GROW if full else GO_ON


@entry
def sweep(memory: Any, terminal: Any) -> None:
    """All values from the top down, until no backup of any pair lowers one by epsilon1."""
    S, A = memory.q.shape
    for s in range(S):
        for a in range(A):
            if memory.q[s, a] > -np.inf:
                memory.q[s, a] = memory.top[0]
        if terminal[s]:
            close_state(memory, s)
    falls = True
    while falls:
        falls = False
        for s in range(S):
            for a in range(A):
                if memory.q[s, a] > -np.inf and not terminal[s] and backup(memory, s, a):
                    falls = True


def added_by(belief: Knowledge) -> Added:
    """The evidence less the counts."""
    counts, both = belief.counts, belief.evidence()
    extra = sparse.csr_array(_rows(both.N) - _rows(transitions(counts)))
    return Added(
        N=extra.data,
        next=extra.indices.astype(np.int64),
        first=extra.indptr.astype(np.int64),
        n=both.n - counts.n,
        R=both.R - counts.R,
        n_r=both.n_r - counts.n,
    )


def _rows(N: Any) -> sparse.csr_array:
    return N if sparse.issparse(N) else sparse.csr_array(N.reshape(-1, N.shape[-1]))


class RTDP(Counting):
    """Optimistic values and one backup a step; an agent adds `limits` and its parameters."""

    epsilon1: float
    gamma: float
    r_min: float | None
    r_max: float | None
    infer: Any

    act = staticmethod(act)
    learn = staticmethod(learn)

    def limits(self) -> tuple[int, float, float]:
        """Visits that are counted, visits before a backup, and beta in units of the range."""
        raise TypeError(f"{type(self).__name__} must define limits()")

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """All values as large as can be, or as a model learned elsewhere says; actions drawn."""
        low, high = reward_range(task, self.r_min, self.r_max)
        unit = high - low if high > low else 1.0
        top = high / (1 - self.gamma) if high >= 0 else high  # where all costs: an end at once
        belief, (m, enough, beta) = new_belief(task, self.infer), self.limits()
        memory = Memory(
            belief=belief,
            added=added_by(belief),
            q=np.where(task.available, top, -np.inf),
            best=first_best(task.available, rng),
            m=np.array([m]),
            enough=np.array([enough]),
            epsilon1=np.array([self.epsilon1 * unit]),
            gamma=np.array([self.gamma]),
            beta=np.array([beta * unit]),
            top=np.array([top]),
        )
        if belief.visits[0] > 0:
            sweep(memory, belief.terminal)
        return memory

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Take in what is inferred anew; else there is nothing to do."""
        rewards = reward_range(mind.task, self.r_min, self.r_max)
        belief = inferred_when_due(memory.belief, self.infer, mind, rewards)
        if belief is memory.belief:
            return None
        with mind.timed("planning"):
            memory = memory._replace(belief=belief, added=added_by(belief))
            sweep(memory, belief.terminal)
        mind.plans += 1
        return memory

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The greedy policy [S]."""
        return memory.best.copy()

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """What was counted and inferred; a pair is known from its first visit on, whatever m is."""
        return believed_model(memory.belief, task)
