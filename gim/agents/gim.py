"""GIM, the Greedy Inference Model: Algorithm 2 of the paper.

Explore until a share rho of all pairs is known (visited m times); complete the S+1 dynamic matrices
from them; plan once; exploit. The comments give the lines of Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, GROW, TERMINATED, THINK, Agent, Mind, Task
from gim.exploration.base import explorations
from gim.exploration.curious import choose, observe
from gim.jit import bind, hot
from gim.model.completion.base import completions
from gim.model.counts import (
    END,
    STATE,
    Counts,
    Known,
    count,
    counts_of,
    grown,
    new_counts,
    new_known,
    review,
    update_known,
)
from gim.model.dynamics import complete, filled, learned
from gim.model.learned import LearnedModel
from gim.params import OneOf, Within
from gim.policies import Model, Planner, best_policy
from gim.registry import did_you_mean

PUBLISHED = "als(rank=10,ridge=0.03)"  # the completion of the paper's experiments
EXPLORING, IDLE, PATIENCE, WANTS_PLANS = 0, 1, 2, 3  # places in Memory.phase


class Memory(NamedTuple):
    """Counts and known-ness, the walk, and after exploration the model and its policy."""

    counts: Counts
    known: Known
    walk: Any  # the exploration's own NamedTuple
    phase: NDArray[np.int64]  # [4] exploring?, steps since an unknown pair was met, limit, plans?
    policy: NDArray[np.int64]  # [H, S]
    P: NDArray[np.float64]  # [S, A, S] once completed, else [0, 0, 0]
    r: NDArray[np.float64]  # [S, A] likewise


@hot
def lost(idle: int) -> bool:
    """After 64, 128, 256, ... steps without an unknown pair the way is planned anew."""
    return idle >= 64 and idle & (idle - 1) == 0


def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Lines 7-8 and 21-22: walk, or follow the policy."""
    if memory.phase[EXPLORING]:
        return choose(memory.walk, memory.counts, memory.known, s, rng)
    return memory.policy[h, s]


def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Lines 10-15: count, update the known-ness mask, and wake when enough is known."""
    if not memory.phase[EXPLORING]:
        return GO_ON
    counts, known, phase = memory.counts, memory.known, memory.phase
    full = count(counts, s, a, r, t)  # 10-13
    phase[IDLE] = phase[IDLE] + 1 if known.mask[s, a] else 0
    news = update_known(known, counts, s, a, t, end == TERMINATED)  # 14
    observe(memory.walk, counts, known, s, a, t, news)
    if news > 0 and known.pairs[0] >= known.goal[0]:  # 15
        return THINK
    if phase[WANTS_PLANS] and (news & (STATE + END) or lost(phase[IDLE])):
        return THINK
    if phase[IDLE] >= phase[PATIENCE]:
        return THINK
    return GROW if full else GO_ON


@cache
def walking(template: Any, choose: Any, observe: Any) -> Any:
    """`act` or `learn` with a walk's own functions in it."""
    return bind(template, "walk", inner=True, choose=choose, observe=observe)


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

    @classmethod
    def paper(cls, m: int = 40, rho: float = 0.8, beta: float = 0.2, **more: Any) -> GIM:
        """The paper's text to the letter; completed rows are projected, so that it is an MDP.

        The text leaves the method of completion open; this is the one its experiments used.
        """
        text: Any = {"exploration": "curious", "rewards": "known", "worth": None}
        text |= {"completion": PUBLISHED}
        return cls(m, rho, beta, **(text | more))

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
        counts = new_counts(S, A) if task.prior is None else counts_of(task.prior)
        known = new_known(task.available, self.m, self.rho)
        if task.prior is not None:
            review(known, counts, task.prior.terminal)
        patience = self.patience or max(10_000, 100 * S * A)
        return Memory(
            counts=counts,
            known=known,
            walk=self.exploration.start(counts, known, self.beta, rng),
            phase=np.array([True, 0, patience, self.exploration.plans], np.int64),
            policy=np.zeros((H, S), np.int64),
            P=np.zeros((0, 0, 0)),
            r=np.zeros((0, 0)),
        )

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Lines 15-20, or the next way of a planned walk."""
        counts, known, phase = memory.counts, memory.known, memory.phase
        if not phase[EXPLORING]:
            return None
        enough = known.pairs[0] >= known.goal[0]
        enough &= not self.strict or self._spread(known)
        stalled = phase[IDLE] >= phase[PATIENCE]
        if not enough and not stalled and self.exploration.plans and counts.n.any():
            with mind.timed("planning the walk"):
                stalled = not self.exploration.plan(memory.walk, counts, known)
            mind.walk_plans += 1
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
        return self._settle(memory, mind)

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples."""
        return memory._replace(counts=grown(memory.counts))

    def _settle(self, memory: Memory, mind: Mind) -> Memory:
        """Lines 16-20: complete, then plan."""
        counts, known = memory.counts, memory.known
        if self.rho < 1 and not known.mask.all():
            with mind.timed("completing"):
                done = complete(
                    counts, known, self.completion, self.rewards, self.rows, self.worth, mind.rng
                )
            if done.blind.any():
                mind.note(
                    f"{done.blind.sum()} states never had a known action: completion says nothing "
                    "of them, their dynamics are what was counted or the mean"
                )
            if not done.completed.converged:
                mind.note("the matrix completion did not converge: do not trust the inferred pairs")
            memory = memory._replace(P=done.P, r=done.r)
        with mind.timed("planning"):
            P, r = self._dynamics(memory)
            model = Model(P, r, known.available, mind.task.H)
            memory.policy[:] = best_policy(model, self.planner, self.gamma)
        mind.plans += 1
        return memory

    def _dynamics(self, memory: Memory) -> tuple[Any, NDArray[np.float64]]:
        """What the model says of every pair: completed, or as counted."""
        return (memory.P, memory.r) if memory.P.size else filled(memory.counts, memory.known)

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
