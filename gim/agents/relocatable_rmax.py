"""A relocatable action model with R-MAX (Leffler, Littman and Edmunds, 2007): types are given.

States have types, and an action has the same *outcomes* with the same probabilities in all states
of a type: "one up", "becomes a passenger in the taxi". What an outcome leads to from a state is
known. So visits are pooled: a type and action are known after m visits, in whichever states they
were made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.params import OneOf, Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, VISITS, Limits, actions
from gim.agents.factors import variables_of
from gim.agents.predicted_rmax import PredictedRMax, Prediction, estimated, known_payments
from gim.belief.knowledge import Knowledge, new_belief, observe
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables
from gim.model.counts import Counts, transitions
from gim.model.learned import LearnedModel
from gim.model.rewards import LargestReward
from gim.model.task import Task
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK, Agent

Ints = NDArray[np.int64]

DIGITS = 9  # to which probabilities and rewards of a type are equal


class Memory(NamedTuple):
    """What was seen, pooled by type, and the plan in force."""

    belief: Knowledge
    type: NDArray[np.int64]  # [S] of the state
    n: NDArray[np.int64]  # [types, A] visits
    m: NDArray[np.int64]  # [1] visits that make a type and action known
    known: NDArray[np.bool_]  # [S, A] whether a pair was known at the last plan
    stale: NDArray[np.bool_]  # [1] whether more is known since
    policy: NDArray[np.int64]  # [H, S]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"type": SAME, "n": VISITS, "m": SAME, "policy": actions(self.known)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the plan."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count up to m visits of a type and action; wake when one is known."""
    if memory.n[memory.type[s], a] >= memory.m[0]:
        return GO_ON
    if end == TERMINATED and not memory.belief.terminal[t]:
        memory.stale[0] = True
    full = observe(memory.belief, s, a, r, t, end)
    memory.n[memory.type[s], a] += 1
    if memory.n[memory.type[s], a] == memory.m[0]:
        memory.stale[0] = True
    if memory.stale[0]:
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class RelocatableRMax(PredictedRMax, Agent, name="relocatable_rmax"):
    """R-MAX that is told which states behave alike; what they do is learned."""

    m: Annotated[int, Within(1), "visits of a type and action that make them known"] = 10
    r_max: LargestReward = None
    rewards: Annotated[
        str, OneOf("learn", "known"), "known: rewards and ends are given, as published"
    ] = "learn"

    examples = ("", "m=2,rewards=known")

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """The types; nothing seen. Without variables or a table each state is a type of its own."""
        self.check(task)
        kinds = np.arange(task.S)
        if task.truth is not None and task.variables is not None:
            kinds = true_types(task.truth, task.variables, rewards=self.rewards == "learn")
        return Memory(
            belief=new_belief(task, None),
            type=kinds,
            n=np.zeros((int(kinds.max()) + 1, task.A), np.int64),
            m=np.array([self.m]),
            known=np.zeros((task.S, task.A), bool),
            stale=np.array([True]),
            policy=np.zeros((task.H, task.S), np.int64),
        )

    def predicted(self, memory: Memory, task: Task) -> Prediction:
        """The estimates of types with m visits, in all of their states."""
        rows, r, ends = self._relocated(memory, task, self.m)
        unknown = (memory.n < self.m)[memory.type].astype(np.float64)
        unknown = np.maximum(unknown, np.diff(rows.indptr).reshape(unknown.shape) == 0)
        return Prediction(rows, r, unknown, ends)

    def _relocated(self, memory: Memory, task: Task, m: int) -> tuple[Any, Any, Any]:
        """Rows [S*A, S] and rewards [S, A] of types with m visits, and states that end it all."""
        (S, A), made_of = (task.S, task.A), variables_of(task)
        s, a, t, n = triples(memory.belief.counts)
        moves, move = outcomes(made_of, s, t, memory.belief.terminal)
        place = memory.type[s] * A + a
        seen = sparse.csr_array((n, (place, move)), shape=(memory.n.size, len(moves)))
        R = np.zeros(memory.n.shape)
        np.add.at(R, memory.type, memory.belief.counts.R)
        told = memory.n >= m
        r = np.where(told, R / np.maximum(memory.n, 1), 0.0)[memory.type]
        each = (memory.type[:, None] * A + np.arange(A)).ravel()  # the type and action of each pair
        found = seen[each].tocoo()
        pair, move = found.row, found.col
        to = relocated(made_of, moves)[pair // A, move]
        kept = (to >= 0) & told.ravel()[each[pair]] & task.available.ravel()[pair]
        pair, move, to, n = pair[kept], move[kept], to[kept], found.data[kept]
        ends = memory.belief.terminal.copy()
        ends[to[moves[move, -1] > 0]] = True
        if self.rewards == "known" and task.truth is not None:
            r, ends = task.truth.rewards.copy(), task.truth.terminal.copy()
        total = np.bincount(pair, n, S * A)
        rows = sparse.csr_array((n / total[pair], (pair, to)), shape=(S * A, S))
        rows.sort_indices()
        return rows, known_payments(memory.belief, rows, r), ends

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """The estimate for all states of a type that was met."""
        rows, r, ends = self._relocated(memory, task, 1)
        return estimated(rows, r, ends, memory, task)


def triples(counts: Counts) -> tuple[Ints, Ints, Ints, NDArray[np.float64]]:
    """The steps (s, a, s') that were met, and how often."""
    S, A = counts.n.shape
    N = transitions(counts)
    found = sparse.csr_array(N if sparse.issparse(N) else N.reshape(S * A, S)).tocoo()
    return found.row // A, found.row % A, found.col, found.data


def outcomes(made_of: Variables, s: Ints, t: Ints, ends: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """What becomes of a state on the way to the next: distinct outcomes [n, k + 1], and which.

    An ordinal variable grows by so much; a nominal one stays (0) or becomes the value v (v + 1).
    The last number says whether the episode ends.
    """
    x, y = made_of.codes[s], made_of.codes[t]
    change = np.where(made_of.ordinal, y - x, np.where(x == y, 0, y + 1))
    moves, which = np.unique(np.column_stack([change, ends[t]]), axis=0, return_inverse=True)
    return moves, which.ravel()


def relocated(made_of: Variables, moves: Ints) -> Ints:
    """Where each outcome leads from each state, [S, outcomes]; -1: to none that exists."""
    x, change = made_of.codes[:, None], moves[None, :, :-1]
    return made_of.index_of(
        np.where(made_of.ordinal, x + change, np.where(change > 0, change - 1, x))
    )


def true_types(mdp: TabularMDP, made_of: Variables, rewards: bool) -> Ints:
    """States in which all actions have the same outcomes (and rewards) share a type, [S]."""
    rows, A = mdp.rows(), mdp.A
    pair = np.repeat(np.arange(mdp.S * A), np.diff(rows.indptr))
    _, move = outcomes(made_of, pair // A, rows.indices, mdp.terminal)
    chance = rows.data.round(DIGITS)
    found: dict[Any, int] = {}
    kinds = np.zeros(mdp.S, np.int64)
    for s in range(mdp.S):
        described: list[Any] = [bool(mdp.terminal[s])]
        for i in range(s * A, (s + 1) * A):
            inside = slice(rows.indptr[i], rows.indptr[i + 1])
            paid = round(float(mdp.rewards[s, i % A]), DIGITS) if rewards else 0.0
            ways = sorted(zip(move[inside].tolist(), chance[inside].tolist(), strict=True))
            described.append((bool(mdp.available[s, i % A]), paid, *ways))
        kinds[s] = found.setdefault(tuple(described), len(found))
    return kinds
