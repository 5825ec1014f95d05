"""Steps until the best policy is optimal from certain states, and stays so.

The protocol of Diuk, Cohen and Littman (2008) for Taxi: a world names probe states
(`mdp.info["probes"]`), and a learner is done when the plan on what it knows is optimal from each of
them. Here `run.best_policy()` is looked at every 25 steps; what counts is the last look at which it
was not optimal, so that a plan that happens to be right does not count before it is right for good.
In such a world this is measured in place of sample complexity, where a trial asks for that.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from gim.runs.runs import Run

LOOK = 25  # steps between two looks
CLOSE = 1e-9  # relative difference of values that are equal


def has_probes(run: Run) -> bool:
    """Whether the world of a run names probe states."""
    return run.mdp is not None and bool(run.mdp.info.get("probes"))


class Probed(Run):
    """A run that keeps the last look at which its best policy was not optimal; same bits."""

    wrong_at: int = 0  # steps
    looked_at: int = 0
    _best: NDArray[np.float64] | None = None  # [probes] the largest values
    _seen: bytes = b""  # the best policy at the last look
    _right: bool = False

    @classmethod
    def of(cls, run: Run) -> Probed:
        """A probed run of the same agent, world and seed, not begun."""
        return cls(run.agent, run.world, run.mdp, run.task, run.episodes, run.seed)

    def probe_steps(self) -> float:
        """Steps until the best policy was optimal from all probes and stayed so; NaN: never."""
        self._probe()
        return math.nan if self.wrong_at == self.looked_at else float(self.wrong_at + LOOK)

    def _advance(self, budget: int, since: float) -> tuple[int, float]:
        due = self.looked_at - self.looked_at % LOOK + LOOK
        wake, now = super()._advance(min(budget, due - self.steps), since)
        if self.steps >= due:
            self._probe()
            now = time.thread_time()  # to look is no part of the run
        return wake, now

    def _probe(self) -> None:
        mdp = self.mdp
        assert mdp is not None
        probes, policy = mdp.info["probes"], np.asarray(self.best_policy())
        if self._best is None:
            self._best = mdp.plan().v[0, probes]
        if policy.tobytes() != self._seen:  # else the answer is known
            loss = self._best - np.atleast_2d(mdp.value(policy))[0, probes]
            self._seen, self._right = policy.tobytes(), not (loss > CLOSE * abs(self._best)).any()
        self.looked_at = self.steps
        if not self._right:
            self.wrong_at = self.steps
