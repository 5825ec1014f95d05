"""R-MAX on a model in parts: what factored R-MAX and Met-Rmax do with their guesses.

The model is the product of what is predicted of each part of a step (`gim.agents.factors`). What
cannot be predicted pays r_max and leads to a heaven that goes on to do so; the best policy of this
model is played, planned anew when more can be predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.agent import GO_ON, GROW, TERMINATED, THINK, Mind, Task
from gim.agents.factor_predictions import predicted
from gim.agents.factors import (
    Factors,
    Guess,
    foreseen,
    new_factors,
    parts_of,
    take_in,
    variables_of,
)
from gim.inference.belief import Belief, new_belief, observe, with_loops, with_room
from gim.jit import hot
from gim.memory import Limits, actions
from gim.model.counts import new_known
from gim.model.dynamics import learned
from gim.model.known_rewards import payments
from gim.model.learned import LearnedModel
from gim.model.rewards import LEARNED_RANGE, largest_reward, reward_range
from gim.planners import Model
from gim.planning import backward_induction


class Memory(NamedTuple):
    """What was seen, the tables made of it, and the plan in force."""

    belief: Belief
    factors: Factors
    known: NDArray[np.bool_]  # [S, A] whether all of a pair was predicted at the last plan
    stale: NDArray[np.bool_]  # [1] whether more can be predicted since
    policy: NDArray[np.int64]  # [H, S]

    def limits(self) -> Limits:
        """See `gim.memory`."""
        return {"policy": actions(self.known)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the plan."""
    return memory.policy[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Learn from a step that was not predicted; wake when such a step can be, or the episode ends.

    To plan at every table that fills would cost hundreds of plans for one pair.
    """
    if memory.known[s, a]:
        return THINK if end != GO_ON and memory.stale[0] else GO_ON
    if end == TERMINATED and not memory.belief.terminal[t]:
        memory.stale[0] = True
    full = observe(memory.belief, s, a, r, t, end)
    if take_in(memory.factors, s, a, r, t, end == TERMINATED):
        memory.stale[0] = True
    if memory.stale[0] and (end != GO_ON or foreseen(memory.factors, s, a, t)):
        return THINK
    return GROW if full else GO_ON


class Factored:
    """R-MAX on a model in parts; an agent adds its parameters and `guesses`."""

    assumes_structure: ClassVar[bool] = True

    m: int
    r_max: float | None
    rewards: str

    act = staticmethod(act)
    learn = staticmethod(learn)

    def guesses(self, task: Task, parts: int) -> Sequence[Guess]:
        """On what each part may depend, in the order of actions and parts."""
        raise TypeError(f"{type(self).__name__} must define guesses(task, parts)")

    def limits(self) -> tuple[int, float, int]:
        """Visits after which a guess speaks; how far guesses may differ; how often, at the most."""
        return self.m, 0.0, 1

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Empty tables."""
        if self.rewards == "known" and task.truth is None:
            raise ValueError(
                "rewards=known needs a world that shows its table: give a TabularMDP, or leave "
                "rewards out"
            )
        parts = parts_of(len(variables_of(task).sizes), self.rewards)
        belief = new_belief(task, None)
        low, high = reward_range(task, None, None, belief.counts)
        return Memory(
            belief=belief,
            factors=new_factors(
                task, self.guesses(task, parts), parts, self.limits(), (high - low) or 1.0
            ),
            known=np.zeros((task.S, task.A), bool),
            stale=np.array([True]),
            policy=np.zeros((task.H, task.S), np.int64),
        )

    def think(self, memory: Memory, mind: Mind) -> None:
        """Plan with what is predicted, if that is more than before."""
        if mind.plans == 0 and mind.task.reward_range is None and self.r_max is None:
            mind.note(LEARNED_RANGE)
        if not memory.stale[0]:
            return
        with mind.timed("planning"):
            r_max = largest_reward(mind.task, self.r_max, memory.belief.counts)
            rows, r, unknown, ends = self._predicted(memory, mind.task, any_guess=False)
            model = with_heaven(rows, r, unknown, ends, mind.task, r_max, self.rewards == "learn")
            memory.policy[:] = backward_induction(model).policy[:, :-1]
        memory.known[:] = mind.task.available & ((unknown <= 0) | ends[:, None])
        memory.stale[0] = False
        mind.plans += 1
        met = memory.belief.counts.n.any(axis=1)
        explored = met.any() and memory.known[met][mind.task.available[met]].all()
        first = mind.episode if mind.explored_at is None else mind.explored_at
        mind.explored_at = first if explored else None

    def _predicted(self, memory: Memory, task: Task, any_guess: bool) -> tuple[Any, Any, Any, Any]:
        """Rows [S*A, S], rewards and what is unknown [S, A], and the states that end it all [S]."""
        terminal, truth = memory.belief.terminal, task.truth
        r, unknown, ends = np.zeros((task.S, task.A)), np.zeros((task.S, task.A)), terminal.copy()
        if truth is not None and self.rewards == "known":
            r, ends = truth.rewards.copy(), truth.terminal.copy()
        into = (r, unknown, ends)
        data, column, first = predicted(memory.factors, task.available, terminal, into, any_guess)
        rows = sparse.csr_array((data, column, first), shape=(task.S * task.A, task.S))
        rows.sort_indices()
        return rows, known_payments(memory.belief, rows, r), unknown, ends

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples."""
        return memory._replace(belief=with_room(memory.belief))

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The policy in force [H, S]."""
        return memory.policy.copy()

    def belief(self, memory: Memory) -> Belief:
        """What was seen."""
        return memory.belief

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """The best guess at every pair of which something was seen; what is left out is scaled."""
        rows, r, unknown, ends = self._predicted(memory, task, any_guess=True)
        mass = 1.0 - unknown if self.rewards == "learn" else np.ones_like(unknown)
        return estimated(rows, r / np.where(mass > 0, mass, 1.0), ends, memory, task)


def known_payments(
    belief: Belief, rows: sparse.csr_array, r: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What rows [S*A, S] pay by rewards that were given to the run; `r` [S, A] where none were."""
    if not belief.rewards.given:
        return r
    mass = np.asarray(rows.sum(axis=1)).reshape(r.shape)
    csr = (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
    return np.where(mass > 0, payments(belief.rewards, csr, mass)[0], 0.0)


def with_heaven(
    rows: Any,
    r: NDArray[np.float64],
    unknown: NDArray[np.float64],
    ends: NDArray[np.bool_],
    task: Task,
    r_max: float,
    pays: bool,
) -> Model:
    """A model with one more state, a heaven that pays r_max, where all leads that is unknown.

    `rows` are CSR [S*A, S] without it; `pays` says whether what is unknown pays r_max itself, and
    not a reward that is known all the same.
    """
    A = task.A
    goes_on = task.available & ~ends[:, None]
    kept = sparse.csr_array(rows * goes_on.reshape(-1, 1).astype(np.float64))
    kept.eliminate_zeros()
    P = with_loops(kept, np.flatnonzero(task.available & ends[:, None]), A)
    out = sparse.csr_array(np.where(goes_on, unknown, 0.0).reshape(-1, 1))
    heaven = sparse.block_array([[P, out], [None, np.ones((A, 1))]], format="csr")
    paid = np.where(goes_on, r + unknown * r_max if pays else r, 0.0)
    top = np.full((1, A), max(r_max, 0.0))  # where all costs, the best is an end
    available = np.vstack([task.available, np.ones((1, A), bool)])
    return Model(heaven, np.vstack([paid, top]), available, task.H)


def estimated(
    rows: Any, r: NDArray[np.float64], ends: NDArray[np.bool_], memory: Any, task: Task
) -> LearnedModel:
    """A model from rows [S*A, S] that need not sum to 1; an empty one stays, and pays the least.

    A state in which an action was taken, or an episode may start, is no end, whatever is predicted.
    """
    lived_in = memory.belief.counts.n.any(axis=1)
    if task.truth is not None:
        lived_in |= task.truth.start > 0
    ends = ends & (memory.belief.terminal | ~lived_in)
    mass = np.asarray(rows.sum(axis=1)).reshape(task.S, task.A)
    told = (mass > 0) & task.available & ~ends[:, None]
    scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=told)
    P = sparse.csr_array(rows * scale.reshape(-1, 1))
    P.eliminate_zeros()
    P = with_loops(P, np.flatnonzero(~told & task.available), task.A)
    least = r[told].min(initial=0.0)
    known = new_known(task.available, 1, 1.0)
    known.terminal[:] = ends
    known.mask[:] = task.available & (memory.known | ends[:, None])
    paid = np.where(told, r, least)
    return learned(P, paid, memory.belief.counts, known, task, told | ends[:, None])
