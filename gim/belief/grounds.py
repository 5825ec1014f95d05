"""What a certificate rests on: a belief, the task that it is about, and what the policy is for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.analogy.unseen import Beginnings
from gim.analogy.witnesses import Witness
from gim.belief.belief import Belief
from gim.model.rewards import most_to_come
from gim.model.task import Task
from gim.planning import evaluate

Floats = NDArray[np.float64]
REST = 1e-5  # weight of the steps that are left out where there is no end
LARGEST = 1 << 24  # successors of all pairs together, beyond which nothing is certified


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


@dataclass(frozen=True)
class Grounds:
    """What a certificate rests on.

    `grounds_of` makes it of an agent, `Learned.grounds` of a log; of anything else a belief and a
    task are enough.
    """

    belief: Belief  # what was seen and inferred
    task: Task  # sizes, horizon, available pairs, the range of rewards
    policy: Any = None  # what is certified, in any form that an MDP takes; None: the best plan
    start: Floats | None = None  # [S] where episodes begin; None: as the task has it
    aim: Aim | None = None  # None: the rewards up to the task's horizon
    reward_limits: tuple[float | None, float | None] = (None, None)  # told; None: the task's
    seed: int = 0  # of the models that are drawn
    assumed: tuple[str, ...] = ()  # what must be so for it to hold, as ends of a sentence
    begins: Beginnings | None = None  # None: where episodes begin is certain
    told: bool | None = None  # whether the range of rewards is certain; None: if the task has one
    done: Done | None = None  # what was done of late, where that is known
    witnesses: tuple[Witness, ...] = ()  # of what `policy` earned

    def grounds(self) -> Grounds:
        """These."""
        return self

    @property
    def certifiable(self) -> bool:
        """Whether there are not too many successors."""
        S, A, belief = self.task.S, self.task.A, self.belief
        met = min(int(belief.counts.n.sum()), S * A * S)
        return bool(met + belief.prior.q.size + 16 * S * A <= LARGEST)

    @property
    def range_told(self) -> bool:
        """Whether the range of rewards is certain, and not what was seen of it."""
        if self.told is not None:
            return self.told
        return (
            self.task.reward_range is not None
            or None not in self.reward_limits
            or self.belief.rewards.given
        )


def beginnings_of(task: Task, terminal: Any) -> Beginnings | None:
    """Where the episodes of a run begin, if that was only seen."""
    if task.starts is None or not (begun := np.where(terminal, 0, task.starts)).any():
        return None
    seen = begun.astype(np.float64)
    return Beginnings(seen / seen.sum(), seen, ~terminal)
