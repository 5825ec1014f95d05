"""GIM, the Greedy Inference Model: Algorithm 2 of the paper.

Explore until a share rho of all pairs is known (visited m times); complete the S+1 dynamic matrices
from them; plan once; exploit. The comments give the lines of Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import OneOf, Within
from gim._base.registry import did_you_mean
from gim.agents.phases import Memory, Phases
from gim.agents.two_phase import TwoPhase
from gim.analogy.base import Inference
from gim.analogy.prior import prior_of
from gim.belief.knowledge import estimate, mean_rewards
from gim.model.completion.base import completions
from gim.model.counts import Known
from gim.model.dynamics import check_completion, complete
from gim.model.task import Mind, Task
from gim.paper.walks.base import explorations
from gim.planning.planners import Planner
from gim.runs.agent import Agent

PUBLISHED = "als(rank=10,ridge=0.03)"  # the completion of the paper's experiments
PUBLISHED_M = {"synthetic": 50, "gridworld": 20, "casinoland": 10, "riverswim": 50}


@dataclass(frozen=True)
class GIM(Phases, Agent, name="gim"):  # type: ignore[override]
    """Greedy Inference Model: explore, complete the dynamic matrices, plan once, exploit."""

    m: Annotated[int, Within(1, None), "visits that make a pair known"] = 40
    rho: Annotated[float, Within(0, 1), "share of known pairs that ends exploration"] = 0.8
    beta: Annotated[float, Within(0, 1), "probability of a random action when exploring"] = 0.2
    completion: Annotated[Any, completions, "how the dynamic matrices are completed"] = "als"
    exploration: Annotated[Any, explorations, "how to walk while exploring"] = "planned"
    planner: Planner = "finite"
    gamma: Annotated[float, Within(0, 0.9999), "discount, for the planners that have one"] = 0.95
    reward_data: Annotated[
        str, OneOf("visited", "known", "all"), "which rewards are data for the completion"
    ] = "visited"
    rows: Annotated[str, OneOf("project", "clip"), "how completed rows become p(.|s,a)"] = "project"
    worth: Annotated[
        float | None, Within(0), "visits a completed row is worth; none: known pairs take it too"
    ] = 2.0
    surplus: Annotated[
        int | None, Within(0, None), "samples of a pair counted beyond m; none: all"
    ] = None
    strict: Annotated[bool, "also ask for rho/2 of the entries of every row and column"] = False
    patience: Annotated[
        int | None, Within(1, None), "steps without an unknown pair that end exploration"
    ] = None

    examples = (
        "",
        "m=3,completion=als(rank=2),exploration=curious",
        "m=3,completion=als(rank=2),exploration=published,reward_data=all,rows=clip,worth=none,"
        "surplus=1",
        "m=2,rho=1,exploration=balanced,planner=discounted",
    )

    @classmethod
    def paper(cls, m: int = 40, rho: float = 0.8, beta: float = 0.2, **more: Any) -> GIM:
        """The paper's text to the letter; completed rows are projected, so that it is an MDP.

        The text leaves the method of completion open; this is the one its experiments used.
        """
        text: Any = {"exploration": "curious", "reward_data": "known", "worth": None}
        text |= {"completion": PUBLISHED}
        return cls(m, rho, beta, **(text | more))

    @classmethod
    def authors(cls, task: str) -> GIM:
        """What the published code does on one of the four tasks, point by point."""
        return cls(
            m=published_m(task),  # known at m samples; one more is kept
            surplus=1,
            completion=PUBLISHED,
            exploration="published",
            planner="lookahead" if task == "synthetic" else "discounted",
            reward_data="all",
            rows="clip",
            worth=None,
            strict=task != "synthetic",  # with it the published figures come out, there without
        )

    def inferring(self, inference: Inference) -> Agent:
        """What is inferred stands for pairs that are known: there is nothing to explore first."""
        shared: Any = {"m": self.m, "rho": self.rho, "beta": self.beta, "gamma": self.gamma}
        planner = "discounted" if self.planner == "lookahead" else self.planner
        return TwoPhase(**shared, planner=planner, infer=inference, budget=1)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Memory before the first step; a world too large to complete is refused before it."""
        if self.rho < 1:
            check_completion(self.completion, task.S, task.A, self.m)
        return super().start(task, rng)

    def knows_enough(self, known: Known) -> bool:
        """Line 15; `strict`: every row and column has rho/2 of its entries known, one at least."""
        pairs = known.mask & known.available
        spread = not self.strict or all(
            (pairs.sum(axis=axis) >= max(1.0, self.rho * pairs.shape[axis] / 2)).all()
            for axis in (0, 1)
        )
        return spread and super().knows_enough(known)

    def settle(self, memory: Memory, mind: Mind) -> Memory:
        """Lines 16-20: complete the dynamic matrices, then plan."""
        if self.rho < 1 and not memory.known.mask.all():
            memory = self._completed(memory, mind)  # 16-18
        with mind.timed("planning"):
            P, seen = estimate(memory.belief, memory.known.available)
            return self.planned(memory, P, mean_rewards(seen, 0.0), mind)  # 20

    def _completed(self, memory: Memory, mind: Mind) -> Memory:
        """Lines 16-18: completion, as a prior that replaces data or stands beside them."""
        counts, known = memory.belief.counts, memory.known
        with mind.timed("completing"):
            done = complete(counts, known, self.completion, self.reward_data, self.rows, mind.rng)
        if done.blind.any():
            blind = int(done.blind.sum())
            tried = np.count_nonzero(done.blind & counts.n.any(axis=1))
            mind.note(
                f"{blind} {'state' if blind == 1 else 'states'} never had a known action, {tried} "
                f"of {blind} a tried one: completion says nothing there, and what was counted or a "
                "mean stands for it; more episodes, or a smaller m, would help"
            )
        if done.doubtful:
            mind.note(
                f"the completion of {done.doubtful} matrices of {known.terminal.size} did not "
                "converge: do not trust the pairs inferred from them"
            )
        playable = known.available & ~known.terminal[:, None]
        if self.worth is None:  # it stands for all pairs, the known ones, too
            n0, r_n0 = np.where(playable, np.inf, 0.0), np.where(playable, np.inf, 0.0)
        else:
            n0 = np.where(playable & ~known.mask, max(self.worth, 1e-300), 0.0)
            r_n0 = np.where(playable & ~done.paid, np.where(counts.n > 0, n0, np.inf), 0.0)
        prior = prior_of(done.P, n0, r=done.r, r_n0=r_n0)
        return memory._replace(belief=memory.belief._replace(prior=prior))


def published_m(task: str) -> int:
    """The m of the published code on one of its four tasks."""
    if task not in PUBLISHED_M:
        raise ValueError(
            f"the published code has no task {task!r}{did_you_mean(task, PUBLISHED_M)}"
        )
    return PUBLISHED_M[task]
