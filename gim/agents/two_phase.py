"""TwoPhase: the paper's two phases with any inference, a budget, and learning that goes on.

Exploration ends once a share rho of the pairs is known or a budget of steps is spent. An inference
then predicts the other pairs in place of matrix completion. Learning may go on: then visits are
counted to the end, the plan is made anew once those of some pair have doubled (at 1, 2, 4, ..., as
in UCRL: Auer, Jaksch and Ortner, 2009) and the model inferred anew once all visits have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim.agents.phases import Memory, Phases
from gim.analogy.base import inferences
from gim.belief.evidence import Evidence
from gim.belief.knowledge import estimate, inferred_when_due
from gim.model.counts import Counts
from gim.model.rewards import seen_range
from gim.model.task import Mind, Task
from gim.paper.walks.base import explorations
from gim.planning.planners import Planner
from gim.runs.agent import Agent

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TwoPhase(Phases, Agent):  # type: ignore[override]
    """Explore, infer the pairs that are not known, plan; exploit and, as a rule, learn on."""

    m: Annotated[int, Within(1, None), "visits that make a pair known"] = 5
    rho: Annotated[float, Within(0, 1), "share of known pairs that ends exploration"] = 0.3
    beta: Annotated[float, Within(0, 1), "probability of a random action when exploring"] = 0.2
    exploration: Annotated[Any, explorations, "how to walk while exploring"] = "planned"
    planner: Planner = "finite"
    gamma: Annotated[float, Within(0, 0.9999), "discount, for the planners that have one"] = 0.95
    patience: Annotated[
        int | None, Within(1, None), "steps without an unknown pair that end exploration"
    ] = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"
    learn_on: Annotated[bool, "count, infer and plan on after exploration"] = True
    budget: Annotated[
        int | None, Within(1, None), "steps that end exploration, whatever is known"
    ] = None

    examples = (
        "",
        "learn_on=false,budget=101",
        "m=3,infer=none",
        "m=2,rho=0.5,exploration=balanced",
        "m=2,exploration=curious,planner=discounted",
    )

    def settle(self, memory: Memory, mind: Mind) -> Memory:
        """Infer what is not known, if it is time, then plan."""
        memory = self._inferred(memory, mind)
        with mind.timed("planning"):
            belief, known = memory.belief, memory.known
            P, seen = estimate(belief, known.available)
            playable = known.available & ~known.terminal[:, None]
            r = np.where(playable, guessed_rewards(seen), 0.0)
            if self.learn_on:
                most = rewards_of(mind.task, belief.counts)[1]
                r = np.where(playable, hoped(r, seen, most), r)
            return self.planned(memory, P, r, mind)

    def find_way(self, memory: Memory, mind: Mind) -> tuple[Memory, bool]:
        """Plan the walk, with what is inferred so far if it asks for that."""
        growth, visits = self.exploration.growth, int(memory.belief.visits[0])
        if growth:
            memory = self._inferred(memory, mind)
            memory.phase.replan[0] = visits + max(mind.task.H, int(growth * visits))
        return super().find_way(memory, mind)

    def _inferred(self, memory: Memory, mind: Mind) -> Memory:
        rewards = rewards_of(mind.task, memory.belief.counts)
        belief = inferred_when_due(memory.belief, self.infer, mind, rewards)
        return memory if belief is memory.belief else memory._replace(belief=belief)


def rewards_of(task: Task, counts: Counts) -> tuple[float, float]:
    """The least and the largest r(s,a); those seen so far in a world that does not tell."""
    return seen_range(counts) if task.reward_range is None else task.reward_range


def guessed_rewards(seen: Evidence) -> Floats:
    """r(s,a) as seen or inferred; where neither, the mean of its state, else of all."""
    some = seen.n_r > 0
    r = seen.R / np.where(some, seen.n_r, 1.0)
    of_state = r.sum(axis=1) / np.maximum(some.sum(axis=1), 1)
    mean = np.where(some.any(axis=1), of_state, r[some].mean() if some.any() else 0.0)
    return np.where(some, r, mean[:, None])


def hoped(r: Floats, seen: Evidence, most: float) -> Floats:
    """Rewards with hope: beside the visits that paid r, one is imagined that paid the most.

    It keeps learning from settling on what the first visits happened to show. A reward never seen,
    nor inferred, is all hope: the largest.
    """
    return np.where(seen.n_r > 0, (seen.n * r + most) / (seen.n + 1.0), most)
