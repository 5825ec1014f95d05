"""R-MAX on a model that is predicted, from types of states or from parts of them.

What cannot be predicted pays r_max and leads to a heaven that goes on to do so; the best policy of
this model is played, planned anew when more can be predicted. An agent names its parameters, `m`,
`r_max` and `rewards`, has the fields `belief`, `known`, `stale` and `policy` in its memory, and
defines ``predicted(memory, task)``.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.agents.counting import Counting, note_explored, note_learned_range
from gim.belief.knowledge import Knowledge, with_loops
from gim.model.counts import new_known
from gim.model.dynamics import learned
from gim.model.learned import LearnedModel
from gim.model.rewards import largest_reward, payments
from gim.model.task import Mind, Task
from gim.planning import backward_induction
from gim.planning.planners import Model


class Prediction(NamedTuple):
    """What is predicted of every pair."""

    rows: sparse.csr_array  # [S*A, S]; they sum to what is known
    r: NDArray[np.float64]  # [S, A] rewards
    unknown: NDArray[np.float64]  # [S, A] the mass of what is not
    ends: NDArray[np.bool_]  # [S] states that end it all


class PredictedRMax(Counting):
    """Plans with what is predicted; all else is as good as can be."""

    assumes_structure: ClassVar[bool] = True

    m: int
    r_max: float | None
    rewards: str

    def predicted(self, memory: Any, task: Task) -> Prediction:
        """What follows from what was seen."""
        raise TypeError(f"{type(self).__name__} must define predicted(memory, task)")

    def check(self, task: Task) -> None:
        """Complain where rewards cannot be given, before the first step."""
        if self.rewards == "known" and task.truth is None:
            raise ValueError(
                "rewards=known needs a world that shows its table: give a TabularMDP, or leave "
                "rewards out"
            )

    def think(self, memory: Any, mind: Mind) -> None:
        """Plan with what is predicted, if that is more than before."""
        task = mind.task
        note_learned_range(mind, self.r_max)
        if not memory.stale[0]:
            return
        with mind.timed("planning"):
            r_max = largest_reward(task, self.r_max, memory.belief.counts)
            rows, r, unknown, ends = self.predicted(memory, task)
            model = with_heaven(rows, r, unknown, ends, task, r_max, self.rewards == "learn")
            memory.policy[:] = backward_induction(model).policy[:, :-1]
        memory.known[:] = task.available & ((unknown <= 0) | ends[:, None])
        memory.stale[0] = False
        mind.plans += 1
        note_explored(mind, memory.belief, memory.known | ~task.available)


def known_payments(
    belief: Knowledge, rows: sparse.csr_array, r: NDArray[np.float64]
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
