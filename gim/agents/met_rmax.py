"""Met-Rmax (Diuk, Li and Leffler, 2009): parents are learned by adaptive k meteorologists.

The world is a dynamic Bayesian network of which only the largest number of parents is known. Every
set of so many inputs is a guess at what a part of a step depends on, with tables of its own. Where
all guesses in play speak, after m visits of the context, and differ by more than epsilon, the step
is taken to compare them: after `trials` differences of two the one with the larger squared error is
dropped. What they agree on is known; all else is as good as can be (R-MAX).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

from gim._base.params import OneOf, Within
from gim.agents.factored import Factored
from gim.agents.factors import MOST, Guess, variables_of
from gim.model.rewards import LargestReward
from gim.model.task import Task
from gim.runs.agent import Agent


@dataclass(frozen=True)
class MetRMax(Factored, Agent, name="met_rmax"):
    """R-MAX that finds out on which variables each variable depends."""

    m: Annotated[int, Within(1), "visits of a context after which a guess speaks"] = 10
    parents: Annotated[int, Within(0), "the most inputs that a part depends on"] = 3
    epsilon: Annotated[float, Within(0, 1), "how far guesses may differ and still agree"] = 0.2
    trials: Annotated[int, Within(1), "differences after which the worse of two is dropped"] = 10
    r_max: LargestReward = None
    rewards: Annotated[
        str, OneOf("learn", "known"), "known: rewards and ends are given, as published"
    ] = "learn"

    examples = ("", "m=2,parents=1,epsilon=0.4,trials=2", "m=3,rewards=known")

    def limits(self) -> tuple[int, float, int]:
        """Those of the meteorologists."""
        return self.m, self.epsilon, self.trials

    def guesses(self, task: Task, parts: int) -> Sequence[Guess]:
        """All sets of `parents` inputs, or of all inputs where these are fewer."""
        k = len(variables_of(task).sizes)
        ways = [math.comb(n, min(self.parents, n)) for n in range(k, 2 * k + 1)]
        if task.A * sum(way**2 for way in ways) > MOST:
            raise ValueError(
                f"parents = {self.parents}: {task.A * sum(ways):,} sets of inputs are too many "
                "to compare with one another: give fewer parents"
            )
        found = []
        for a in range(task.A):
            for part in range(parts):
                n = k + min(part, k)
                sets = combinations(range(n), min(self.parents, n))
                found += [Guess(a, part, inputs) for inputs in sets]
        return found
