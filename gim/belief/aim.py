"""What a policy is for: so many steps, from where episodes begin; and what was done of late."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.analogy.unseen import Beginnings
from gim.model.rewards import most_to_come
from gim.model.task import Task
from gim.planning import evaluate

Floats = NDArray[np.float64]
REST = 1e-5  # weight of the steps that are left out where there is no end


class Aim(NamedTuple):
    """What is to be earned: the rewards of so many steps, each of less weight than the last."""

    horizon: int | None  # H; None: there is no end
    discount: float = 1.0

    @property
    def steps(self) -> int:
        """H, or so many that what follows has next to no weight."""
        if self.horizon is not None:
            return self.horizon
        return 1 if self.discount == 0 else math.ceil(math.log(REST) / math.log(self.discount))

    def most(self, r_max: float) -> Floats:
        """The most that can come from each step on, [steps]; see `most_to_come`."""
        if self.horizon is None:
            return np.full(self.steps, max(r_max, 0.0) / (1.0 - self.discount))
        return most_to_come(self.horizon, r_max, self.discount)

    def returned(self, mdp: Any, policy: Any) -> float:
        """What a policy earns in an MDP from where its episodes begin."""
        discount = None if self.discount == 1.0 else self.discount
        v = evaluate(mdp, policy, self.horizon, discount)
        return float(mdp.start @ (v if v.ndim == 1 else v[0]))


class Done(NamedTuple):
    """What was done in the latest episodes, and what all of them returned."""

    pairs: NDArray[np.int64]  # [W, H] see `gim.runs.loop.Trail`
    returns: Floats


def beginnings_of(task: Task, terminal: Any) -> Beginnings | None:
    """Where the episodes of a run begin, if that was only seen."""
    if task.starts is None or not (begun := np.where(terminal, 0, task.starts)).any():
        return None
    seen = begun.astype(np.float64)
    return Beginnings(seen / seen.sum(), seen, ~terminal)
