"""R-MAX on a model in parts: what factored R-MAX and Met-Rmax do with their guesses.

The model is the product of what is predicted of each part of a step (`gim.agents.factors`); what
cannot be predicted is as good as can be (`gim.agents.predicted_rmax`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import hot
from gim._compile.memory import Limits, actions
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
from gim.agents.predicted_rmax import PredictedRMax, Prediction, estimated, known_payments
from gim.belief.knowledge import Knowledge, new_belief, observe
from gim.model.learned import LearnedModel
from gim.model.rewards import reward_range
from gim.model.task import Task
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK


class Memory(NamedTuple):
    """What was seen, the tables made of it, and the plan in force."""

    belief: Knowledge
    factors: Factors
    known: NDArray[np.bool_]  # [S, A] whether all of a pair was predicted at the last plan
    stale: NDArray[np.bool_]  # [1] whether more can be predicted since
    policy: NDArray[np.int64]  # [H, S]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
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


class Factored(PredictedRMax):
    """R-MAX on a model in parts; an agent adds its parameters and `guesses`."""

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
        self.check(task)
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

    def predicted(self, memory: Memory, task: Task, any_guess: bool = False) -> Prediction:
        """The product of the parts, where one guess speaks for each, or (`any_guess`) any does."""
        terminal, truth = memory.belief.terminal, task.truth
        r, unknown, ends = np.zeros((task.S, task.A)), np.zeros((task.S, task.A)), terminal.copy()
        if truth is not None and self.rewards == "known":
            r, ends = truth.rewards.copy(), truth.terminal.copy()
        into = (r, unknown, ends)
        data, column, first = predicted(memory.factors, task.available, terminal, into, any_guess)
        rows = sparse.csr_array((data, column, first), shape=(task.S * task.A, task.S))
        rows.sort_indices()
        return Prediction(rows, known_payments(memory.belief, rows, r), unknown, ends)

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """The best guess at every pair of which something was seen; what is left out is scaled."""
        rows, r, unknown, ends = self.predicted(memory, task, any_guess=True)
        mass = 1.0 - unknown if self.rewards == "learn" else np.ones_like(unknown)
        return estimated(rows, r / np.where(mass > 0, mass, 1.0), ends, memory, task)
