"""GIM, the Greedy Inference Model: Algorithm 2 of the paper.

Explore until a share rho of all pairs is known (visited m times); complete the S+1 dynamic matrices
from them; plan once; exploit. The comments give the lines of Algorithm 2.

Beyond the paper, exploration may end after a budget of steps, an inference may predict the other
pairs in place of completion, and learning may go on: then visits are counted to the end, the plan
is made anew once those of some pair have doubled (at 1, 2, 4, ..., as in UCRL: Auer, Jaksch and
Ortner, 2009) and the model inferred anew once all visits have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent, Mind, Task
from gim.agents.estimates import completed, estimated, hoped, rewards_of
from gim.agents.two_phase import (
    EXPLORING,
    IDLE,
    LAST,
    NEVER,
    PATIENCE,
    REPLAN,
    STALE,
    Memory,
    act,
    learn,
    walking,
)
from gim.exploration.base import explorations
from gim.inference.base import inferences
from gim.inference.belief import NEXT, VISITS, Belief, due, infer_when_due, new_belief
from gim.model.completion.base import completions
from gim.model.counts import Known, grown, new_known, review
from gim.model.dynamics import learned
from gim.model.learned import LearnedModel
from gim.params import OneOf, Within
from gim.policies import Model, Planner, best_policy
from gim.registry import did_you_mean

PUBLISHED = "als(rank=10,ridge=0.03)"  # the completion of the paper's experiments


@dataclass(frozen=True)
class GIM(Agent, name="gim"):
    """Greedy Inference Model: explore, complete the dynamic matrices, plan once, exploit."""

    m: Annotated[int, Within(1, None), "visits that make a pair known"] = 40
    rho: Annotated[float, Within(0, 1), "share of known pairs that ends exploration"] = 0.8
    beta: Annotated[float, Within(0, 1), "probability of a random action when exploring"] = 0.2
    completion: Annotated[Any, completions, "how the dynamic matrices are completed"] = "als"
    exploration: Annotated[Any, explorations, "how to walk while exploring"] = "planned"
    planner: Planner = "finite"
    gamma: Annotated[float, Within(0, 0.9999), "discount, for the planners that have one"] = 0.95
    rewards: Annotated[
        str, OneOf("visited", "known", "all"), "which rewards are data for the completion"
    ] = "visited"
    rows: Annotated[str, OneOf("project", "clip"), "how completed rows become p(.|s,a)"] = "project"
    worth: Annotated[
        float | None, Within(0), "visits a completed row is worth; none: known pairs take it too"
    ] = 2.0
    strict: Annotated[bool, "also ask for rho/2 of the entries of every row and column"] = False
    patience: Annotated[
        int | None, Within(1, None), "steps without an unknown pair that end exploration"
    ] = None
    infer: Annotated[Any, inferences, "predicts the other pairs in place of completion"] = None
    learn_on: Annotated[bool, "count, infer and plan on after exploration"] = False
    budget: Annotated[
        int | None, Within(1, None), "steps that end exploration, whatever is known"
    ] = None

    examples = (
        "",
        "m=3,completion=als(rank=2),exploration=curious",
        "m=3,completion=als(rank=2),exploration=published,rewards=all,rows=clip,worth=none",
        "m=2,rho=1,exploration=balanced,planner=discounted",
        "m=2,rho=0.5,infer=analogy,learn_on=true,exploration=active",
    )

    @classmethod
    def paper(cls, m: int = 40, rho: float = 0.8, beta: float = 0.2, **more: Any) -> GIM:
        """The paper's text to the letter; completed rows are projected, so that it is an MDP.

        The text leaves the method of completion open; this is the one its experiments used.
        """
        text: Any = {"exploration": "curious", "rewards": "known", "worth": None}
        text |= {"completion": PUBLISHED}
        return cls(m, rho, beta, **(text | more))

    @classmethod
    def analogy(cls, m: int = 5, rho: float = 0.3, beta: float = 0.2, **more: Any) -> GIM:
        """The paper's two phases with inference by analogy, and learning that goes on."""
        ours: Any = {"infer": "analogy", "learn_on": True}
        return cls(m, rho, beta, **(ours | more))

    @classmethod
    def authors(cls, task: str) -> GIM:
        """What the published code does on one of the four tasks, point by point."""
        m = {"synthetic": 50, "gridworld": 20, "casinoland": 10, "riverswim": 50}
        if task not in m:
            raise ValueError(f"the published code has no task {task!r}{did_you_mean(task, m)}")
        return cls(
            m=m[task] + 1,  # "known" needs m+1 samples there
            completion=PUBLISHED,
            exploration="published",
            planner="lookahead" if task == "synthetic" else "discounted",
            rewards="all",
            rows="clip",
            worth=None,
            strict=task != "synthetic",  # with it the published figures come out, there without
        )

    @property
    def act(self) -> Any:  # type: ignore[override]
        """`act`, compiled with the walk in it."""
        return walking(act, self.exploration.choose, self.exploration.observe)

    @property
    def learn(self) -> Any:  # type: ignore[override]
        """`learn`, compiled with the walk in it."""
        return walking(learn, self.exploration.choose, self.exploration.observe)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Lines 1-3; what a prior has counted is counted."""
        S, A, H = task.S, task.A, task.H
        belief = new_belief(task, self.infer)
        counts, known = belief.counts, new_known(task.available, self.m, self.rho)
        review(known, counts, belief.terminal)
        patience = self.patience or max(10_000, 100 * S * A)
        before, walk = int(belief.schedule[VISITS]), self.exploration
        last = NEVER if self.budget is None else before + self.budget
        replan = before + H if walk.growth else NEVER
        phase = [True, 0, patience, walk.plans, last, replan, self.learn_on, False]
        return Memory(
            counts=counts,
            known=known,
            walk=walk.start(counts, known, self.beta, rng),
            phase=np.array(phase, np.int64),
            schedule=belief.schedule,
            policy=np.zeros((H, S), np.int64),
            P=np.zeros((0, 0, 0)),
            r=np.zeros((0, 0)),
            prior=belief.prior,
        )

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Lines 15-20, or the next way of a planned walk."""
        known, phase, schedule = memory.known, memory.phase, memory.schedule
        if not phase[EXPLORING]:
            return self._settle(memory, mind) if phase[STALE] else None
        enough = known.pairs[0] >= known.goal[0]
        enough &= not self.strict or self._spread(known)
        enough |= schedule[VISITS] >= phase[LAST]
        stalled = phase[IDLE] >= phase[PATIENCE]
        if not enough and not stalled and self.exploration.plans and memory.counts.n.any():
            stalled = not self._find_way(memory, mind)
        if not enough and not stalled:
            return None
        if not enough:
            left = int(known.available.sum() - known.pairs[0])
            mind.note(
                f"exploration stalled in episode {mind.episode}: {left} pairs are not known and "
                "none of them was met any more; the model is completed from what is known"
            )
        mind.explored_at = mind.episode
        phase[EXPLORING] = False
        schedule[NEXT] = schedule[VISITS]
        return self._settle(memory, mind)

    def _find_way(self, memory: Memory, mind: Mind) -> bool:
        """Plan the walk, with what is inferred so far if it asks for that."""
        growth, visits = self.exploration.growth, memory.schedule[VISITS]
        if growth:
            self._infer(memory, mind)
            memory.phase[REPLAN] = visits + max(mind.task.H, int(growth * visits))
        with mind.timed("planning the walk"):
            found = self.exploration.plan(memory.walk, memory.counts, memory.known, memory.prior)
        mind.walk_plans += 1
        return bool(found)

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples."""
        return memory._replace(counts=grown(memory.counts))

    def _settle(self, memory: Memory, mind: Mind) -> Memory:
        """Lines 16-20: complete (or infer), then plan."""
        known = memory.known
        if self.infer is not None:
            self._infer(memory, mind)
        elif due(memory):
            if self.rho < 1 and not known.mask.all():
                done = completed(self, memory.counts, known, mind)
                memory = memory._replace(P=done.P, r=done.r)
            memory.schedule[NEXT] = 2 * memory.schedule[VISITS]
        with mind.timed("planning"):
            P, r = self._dynamics(memory)
            if self.learn_on:
                r = hoped(r, memory.counts, known, memory.prior, mind.task)
            model = Model(P, r, known.available, mind.task.H)
            memory.policy[:] = best_policy(model, self.planner, self.gamma)
        memory.phase[STALE] = False
        mind.plans += 1
        return memory

    def _infer(self, memory: Memory, mind: Mind) -> None:
        belief = Belief(memory.counts, memory.known.terminal, memory.prior, memory.schedule)
        infer_when_due(belief, self.infer, mind, rewards_of(mind.task, memory.counts))

    def _dynamics(self, memory: Memory) -> tuple[Any, NDArray[np.float64]]:
        """What the model says of every pair."""
        own = self.learn_on and self.worth is not None
        done = (memory.P, memory.r)
        return estimated(memory.counts, memory.known, memory.prior, *done, own)

    def _spread(self, known: Known) -> bool:
        """Whether every row and column has rho/2 of its entries known, and one at least."""
        pairs = known.mask & known.available
        return all(
            (pairs.sum(axis=axis) >= max(1.0, self.rho * pairs.shape[axis] / 2)).all()
            for axis in (0, 1)
        )

    def policy(self, memory: Memory) -> NDArray[np.int64] | None:
        """The policy [H, S] once there is one."""
        return None if memory.phase[EXPLORING] else memory.policy

    def model(self, memory: Memory, task: Task) -> LearnedModel:
        """The completed model, or the empirical one while exploring; rows as distributions."""
        P, r = self._dynamics(memory)
        return learned(P, r, memory.counts, memory.known, task)
