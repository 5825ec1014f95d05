"""RMax (Brafman and Tennenholtz, 2003): what is not known is taken to be as good as can be.

A pair is known after m visits; its estimates then stand. In the model every other pair leads to a
heaven that pays r_max at each step, so the best policy of the model either is near-optimal in the
world or finds something out. In a state with an unknown pair the action tried least is taken
(balanced wandering); elsewhere the policy, planned anew whenever a pair (or a whole state) becomes
known: at most S*A + 1 (or S + 1) plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.agent import GO_ON, GROW, TERMINATED, THINK, Agent, Mind, Task
from gim.exploration.base import Choices, new_choices
from gim.inference.base import inferences
from gim.inference.belief import (
    Belief,
    believed_model,
    divided,
    due,
    evidence,
    infer_when_due,
    mean_rewards,
    new_belief,
    observe,
    with_room,
)
from gim.jit import hot
from gim.model.counts import END, PAIR, STATE, Known, new_known, review, update_known
from gim.model.learned import LearnedModel
from gim.model.rewards import RMax as LargestReward
from gim.model.rewards import largest_reward
from gim.params import OneOf, Within
from gim.policies import Model, Planner, best_policy
from gim.registry import did_you_mean


class Memory(NamedTuple):
    """What was seen, what of it is known, and the policy."""

    belief: Belief
    known: Known  # rho_known means here: every action of the state is known
    choices: Choices  # who wins a tie
    wakes: NDArray[np.int64]  # [1] the news that call for a new plan
    policy: NDArray[np.int64]  # [H, S] for known states


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the policy in known states, wander in the others."""
    return memory.policy[h, s] if memory.known.rho_known[s] else wander(memory, s)


@hot
def wander(memory: Any, s: int) -> int:
    """Balanced wandering: argmin n(s,a) over the unknown actions of a state."""
    choices, known, n = memory.choices, memory.known, memory.belief.counts.n
    best = -1
    for i in range(choices.n_actions[s]):
        a = choices.actions[s, i]
        if not known.mask[s, a]:
            less = n[s, best] - n[s, a] if best >= 0 else 1
            if less > 0 or (less == 0 and choices.rank[s, a] < choices.rank[s, best]):
                best = a
    return best


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count up to m visits; wake when something became known."""
    belief, known = memory.belief, memory.known
    full = False
    if belief.counts.n[s, a] < known.m[0]:
        full = observe(belief, s, a, r, t, end)
    news = update_known(known, belief.counts, s, a, t, end == TERMINATED)
    if news & memory.wakes[0] or due(belief):
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class RMax(Agent, name="rmax"):
    """Unknown pairs (fewer than m visits) count as the best there is; a plan per pair known."""

    m: Annotated[int, Within(1), "visits that make a pair known"] = 40
    r_max: LargestReward = None
    plan_per: Annotated[str, OneOf("pair", "state"), "what must become known for a new plan"] = (
        "pair"
    )
    planner: Planner = "finite"
    gamma: Annotated[float, Within(0, 0.9999), "discount, for the planners that have one"] = 0.95
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    act = staticmethod(act)
    learn = staticmethod(learn)

    @classmethod
    def authors(cls, task: str) -> RMax:
        """As in the published code of GIM on one of the paper's tasks: R_max = 1, its planner."""
        m = {"synthetic": 50, "gridworld": 20, "casinoland": 10, "riverswim": 50}
        if task not in m:
            raise ValueError(f"the published code has no task {task!r}{did_you_mean(task, m)}")
        planner = "lookahead" if task == "synthetic" else "discounted"
        return cls(m=m[task], r_max=1.0, planner=planner)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Nothing known."""
        largest_reward(task, self.r_max)  # complain now rather than later
        belief = new_belief(task, self.infer)
        known = new_known(task.available, self.m, rho=1.0)
        review(known, belief.counts, belief.terminal)
        return Memory(
            belief=belief,
            known=known,
            choices=new_choices(task.available, 0.0, rng),
            wakes=np.array([END + (PAIR if self.plan_per == "pair" else STATE)]),
            policy=np.zeros((task.H, task.S), np.int64),
        )

    def think(self, memory: Memory, mind: Mind) -> None:
        """Plan with what is known; what is inferred well enough counts as known."""
        belief, known = memory.belief, memory.known
        r_max = largest_reward(mind.task, self.r_max)
        before = known.mask.copy()
        least = r_max if mind.task.reward_range is None else mind.task.reward_range[0]
        changed = infer_when_due(belief, self.infer, mind, (min(least, r_max), r_max))
        if self.infer is not None:
            n = belief.counts.n + belief.prior.n0
            review(known, belief.counts._replace(n=n), belief.terminal)
        with mind.timed("planning"):
            model = self._optimistic_model(memory, r_max, mind.task.H)
            memory.policy[:] = best_policy(model, self.planner, self.gamma)[:, :-1]
        mind.plans += 1
        met = belief.counts.n.any(axis=1)
        if met.any() and known.rho_known[met].all():
            mind.explored_at = mind.episode

    def _optimistic_model(self, memory: Memory, r_max: float, H: int) -> Model:
        """The known pairs as estimated; the others lead to a last state, the heaven."""
        belief, known = memory.belief, memory.known
        S, A = known.mask.shape
        seen = evidence(belief)
        P, r = divided(seen.N, seen.n), mean_rewards(seen, r_max)
