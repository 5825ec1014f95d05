"""Sample complexity as Definition 2 says it, and the value of the policy in force.

At episode t the learner is near-optimal if V* - V(pi_t) <= epsilon, by exact evaluation; its sample
complexity is the number of episodes in which it is not. Epsilon is given as a share of |V*|, and
pi_t is the policy in force when the episode begins. While an agent has none (GIM exploring) it is
not near-optimal.

Policies are evaluated whenever the agent has thought, and at up to 1,000 checkpoints besides. For
an agent whose policy changes only when it thinks that is exact; if a checkpoint finds another
policy than the last thought has left (Q-learning, the wandering of RMax), the count is exact at the
checkpoints only, and `sample_complexity_exact` is false.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.runs.runs import Run
from gim_lab.trials.measures import POINTS, policy_value


class Watched(Run):
    """A run that keeps the value of its policy over the episodes; the bits are the same."""

    epsilon: float  # share of |V*|
    since: list[int]  # the episode from which on ...
    value: list[float]  # ... the policy had this value; NaN without a policy
    exact: bool
    _seen: bytes | None
    _every: int  # steps between two checkpoints
    _next: int

    @classmethod
    def of(cls, run: Run, epsilon: float) -> Watched:
        """A watched run of the same agent, world and seed, not begun."""
        if run.mdp is None:
            raise ValueError("sample complexity needs the exact MDP, and this world has no table")
        watched = cls(run.agent, run.world, run.mdp, run.task, run.episodes, run.seed)
        watched.epsilon, watched.exact, watched._seen = epsilon, True, None
        watched.since, watched.value = [], []
        watched._every = -(-run.episodes * run.task.H // POINTS)
        watched._next = watched._every
        return watched

    def complexity(self) -> dict[str, Any]:
        """The columns `sample_complexity` and `sample_complexity_exact`."""
        assert self.mdp is not None
        best = self.mdp.optimal_return()
        bad = ~(np.array(self.value) >= best - self.epsilon * abs(best))
        lengths = np.diff(np.append(self.since, self.episodes))
        return {
            "sample_complexity": float(lengths[bad].sum()),
            "sample_complexity_exact": self.exact,
        }

    def values(self, episodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Value of the policy in force in these episodes, counted from 1."""
        return np.array(self.value)[np.searchsorted(self.since, episodes - 1, side="right") - 1]

    def _advance(self, budget: int, since: float) -> tuple[int, float]:
        wake, now = super()._advance(min(budget, self._next - self.steps), since)
        if self.steps >= self._next:
            self._next += self._every * -(-(self.steps + 1 - self._next) // self._every)
            self._look(thought=False)
            now = time.thread_time()
        return wake, now

    def _think(self, since: float) -> float:
        super()._think(since)
        self._look(thought=True)
        return time.thread_time()  # to look is no part of the run

    def _look(self, thought: bool) -> None:
        policy = self.policy
        seen = None if policy is None else policy.tobytes()
        if self.since and seen == self._seen:
            return
        self.exact &= thought
        self._seen = seen
        since = int(self.clock.episode[0]) + (self.clock.h[0] > 0)
        if self.since and self.since[-1] == since:  # two changes before the episode began
            self.value.pop()
        else:
            self.since.append(since)
        self.value.append(math.nan if policy is None else policy_value(self))
