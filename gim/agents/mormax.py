"""MORMAX, modified R-MAX (Szita and Szepesvari, 2010): estimates of m visits that are renewed.

As in R-MAX a pair is as good as can be until it was visited m times. Unlike there its estimate may
be replaced by that of m later visits, all of them new, if that is needed:

- m visits of a pair are collected, and then those before are forgotten, whatever comes of them;
- they make a new model if the pair has none yet, or if its value has fallen by more than `drop`
  since it was last tried: then what its values were worth has changed;
- the new model is taken only if the value of the pair does not rise by it.

So values fall only, at most a bounded number of times, and m need not be large enough for all of
p(.|s,a) at once, only for the values in force: N log N in the number of states, not N^2 log N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.params import Within
from gim._compile.jit import hot
from gim._compile.memory import Limit, Limits, actions
from gim.agents.counting import Counting, note_explored, note_learned_range
from gim.agents.predicted_rmax import known_payments, with_heaven
from gim.analogy.base import inferences
from gim.belief.knowledge import (
    Knowledge,
    divided,
    due,
    inferred_when_due,
    mean_rewards,
    new_belief,
    observe,
)
from gim.model.rewards import LargestReward, LeastReward, reward_range
from gim.model.task import Mind, Task
from gim.planning import Plan, backward_induction
from gim.planning.planners import Model
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK, Agent

NONE = -1  # no pair has m new visits


class Memory(NamedTuple):
    """The m visits behind each pair of the model, those that are being collected, and the plan."""

    belief: Knowledge  # of all visits
    n: NDArray[np.int64]  # [S, A] visits that are being collected
    to: NDArray[np.int64]  # [S, A, m] their next states
    R: NDArray[np.float64]  # [S, A] sum of their rewards
    has_model: NDArray[np.bool_]  # [S, A] whether the pair was ever tried
    model_to: NDArray[np.int64]  # [S, A, m] the next states that are its model
    model_R: NDArray[np.float64]  # [S, A] and the sum of rewards
    tried: NDArray[np.float64]  # [S, A] value of the pair when it was last tried
    q: NDArray[np.float64]  # [S, A] values in force, with all H steps to go
    drop: NDArray[np.float64]  # [1] in units of returns
    pending: NDArray[np.int64]  # [1] the pair s*A + a to be tried, or NONE
    stale: NDArray[np.bool_]  # [1] whether the plan is
    policy: NDArray[np.int64]  # [H, S]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        S, A, m = self.to.shape
        states = Limit(0, S - 1)
        return {
            "n": Limit(0, m),
            "to": states,
            "model_to": states,
            "pending": Limit(NONE, S * A - 1),
            "policy": actions(self.q),
        }


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the plan."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Collect; wake when m visits are to be tried."""
    if end == TERMINATED and not memory.belief.terminal[t]:
        memory.stale[0] = True
    full = observe(memory.belief, s, a, r, t, end)
    m = memory.to.shape[2]
    if memory.n[s, a] < m:
        memory.to[s, a, memory.n[s, a]] = t
        memory.R[s, a] += r
        memory.n[s, a] += 1
    if memory.n[s, a] == m:
        fallen = memory.tried[s, a] - memory.q[s, a] > memory.drop[0]
        if not memory.has_model[s, a] or fallen:
            memory.pending[0] = s * memory.n.shape[1] + a
        else:
            memory.n[s, a] = 0
            memory.R[s, a] = 0.0
    if memory.pending[0] != NONE or memory.stale[0] or due(memory.belief):
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class MORMax(Counting, Agent, name="mormax"):
    """R-MAX whose estimates are renewed from m later visits where values have fallen since."""

    m: Annotated[int, Within(1), "visits that make a model of a pair"] = 20
    drop: Annotated[
        float, Within(0), "fall of its value that renews a pair, in reward ranges times H"
    ] = 0.001
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "m=2,drop=0.01", "m=4,infer=by_completion(m=2,rho=0.3)")

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """No pair has a model."""
        S, A, m = task.S, task.A, self.m
        belief = new_belief(task, self.infer)
        reward_range(task, self.r_min, self.r_max, belief.counts)  # complain now, not later
        return Memory(
            belief=belief,
            n=np.zeros((S, A), np.int64),
            to=np.zeros((S, A, m), np.int64),
            R=np.zeros((S, A)),
            has_model=np.zeros((S, A), bool),
            model_to=np.zeros((S, A, m), np.int64),
            model_R=np.zeros((S, A)),
            tried=np.zeros((S, A)),
            q=np.zeros((S, A)),
            drop=np.zeros(1),
            pending=np.array([NONE]),
            stale=np.array([True]),
            policy=np.zeros((task.H, S), np.int64),
        )

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Plan anew if the world has changed; then try the pair that has m new visits."""
        note_learned_range(mind, self.r_min, self.r_max)
        low, high = reward_range(mind.task, self.r_min, self.r_max, memory.belief.counts)
        belief = inferred_when_due(memory.belief, self.infer, mind, (low, high))
        if belief is not memory.belief:
            memory = memory._replace(belief=belief)
            memory.stale[0] = True
        memory.drop[0] = self.drop * (high - low) * mind.task.H
        # A model is compared with values in force, which must rest on the same largest reward.
        moves = mind.task.reward_range is None and self.r_max is None
        with mind.timed("planning"):
            if memory.stale[0] or moves:
                take(memory, self._plan(memory, mind, high))
            if memory.pending[0] != NONE:
                self._try(memory, mind, high)
        memory.stale[0] = False
        note_explored(mind, belief, memory.has_model | ~mind.task.available)
        return memory

    def _try(self, memory: Memory, mind: Mind, r_max: float) -> None:
        """Put the m new visits of a pair in the model, unless its value would rise by them."""
        s, a = divmod(int(memory.pending[0]), mind.task.A)
        before = memory.model_to[s, a].copy(), memory.model_R[s, a], memory.has_model[s, a]
        memory.model_to[s, a], memory.model_R[s, a] = memory.to[s, a], memory.R[s, a]
        memory.has_model[s, a] = True
        plan = self._plan(memory, mind, r_max)
        if plan.q[0, s, a] <= memory.q[s, a]:
            take(memory, plan)
        else:
            memory.model_to[s, a], memory.model_R[s, a], memory.has_model[s, a] = before
        memory.tried[s, a] = memory.q[s, a]
        memory.n[s, a], memory.R[s, a], memory.pending[0] = 0, 0.0, NONE

    def _plan(self, memory: Memory, mind: Mind, r_max: float) -> Plan:
        """The best policy where all pairs without a model are as good as can be."""
        mind.plans += 1
        task, seen = mind.task, memory.belief.evidence()
        S, A = task.S, task.A
        s, a = np.nonzero(memory.has_model)
        rows = sparse.csr_array(
            (
                np.full(s.size * self.m, 1.0 / self.m),
                (np.repeat(s * A + a, self.m), memory.model_to[s, a].ravel()),
            ),
            shape=(S * A, S),
        )
        told, r = memory.has_model, memory.model_R / self.m
        if memory.belief.prior.speaks:  # a pair whose prediction is worth m visits has a model
            guessed = ~told & (seen.n >= self.m) & (seen.n_r > 0)
            P = divided(seen.N, np.where(guessed, seen.n, 0.0))
            rows = rows + (P if sparse.issparse(P) else sparse.csr_array(P.reshape(S * A, S)))
            told, r = told | guessed, np.where(guessed, mean_rewards(seen, r_max), r)
        unknown = np.where(told, 0.0, 1.0)
        rows.sort_indices()
        r = known_payments(memory.belief, rows, r)
        model: Model = with_heaven(rows, r, unknown, memory.belief.terminal, task, r_max, True)
        return backward_induction(model)


def take(memory: Memory, plan: Plan) -> None:
    """Play this plan from now on; its last state is the heaven."""
    memory.policy[:], memory.q[:] = plan.policy[:, :-1], plan.q[0, :-1]
