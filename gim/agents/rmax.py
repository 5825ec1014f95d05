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

from gim._base.params import OneOf, Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, Limits, actions
from gim.agents.counting import Counting, note_explored, note_learned_range
from gim.agents.gim import published_m
from gim.analogy.base import inferences
from gim.belief.knowledge import (
    Knowledge,
    divided,
    due,
    inferred_when_due,
    mean_rewards,
    new_belief,
    observe,
    with_loops,
)
from gim.mdp.sampling import listed, pick
from gim.model.counts import END, PAIR, STATE, Known, new_known, review, update_known
from gim.model.rewards import LargestReward, largest_reward
from gim.model.task import Mind, Task
from gim.paper.walks.base import Choices, new_choices
from gim.planning.planners import Model, Planner, looked_ahead, planned_policy
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK, Agent


class Memory(NamedTuple):
    """What was seen, what of it is known, and the policy."""

    belief: Knowledge
    known: Known  # rho_known means here: every action of the state is known
    choices: Choices  # who wins a tie
    most: NDArray[np.int64]  # [1] samples counted of a pair
    calls_for_plan: NDArray[np.int64]  # [1] the news that call for a new plan
    stale: NDArray[np.bool_]  # [1] whether they came
    policy: NDArray[np.int64]  # [H, S] for known states
    ties: NDArray[np.int64]  # [S, A] what a lookahead finds best, first in each row
    n_ties: NDArray[np.int64]  # [S] how many they are; 0: the policy says what to do

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"calls_for_plan": SAME, "policy": actions(self.known.mask)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the policy in known states, wander in the others."""
    if not memory.known.rho_known[s]:
        return wander(memory, s)
    if memory.n_ties[s] > 0:
        return pick(memory.ties, memory.n_ties, s, rng.random())
    return memory.policy[h, s]


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
    """Count up to m visits (and the surplus); wake when something became known."""
    belief, known = memory.belief, memory.known
    full = False
    if belief.counts.n[s, a] < memory.most[0]:
        full = observe(belief, s, a, r, t, end)
    news = update_known(known, belief.counts, s, a, t, end == TERMINATED)
    if news & memory.calls_for_plan[0]:
        memory.stale[0] = True
    if memory.stale[0] or due(belief):
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class RMax(Counting, Agent, name="rmax"):
    """What was met fewer than m times counts as the best there is; a plan per state known."""

    m: Annotated[int, Within(1), "visits that make a pair known"] = 40
    r_max: LargestReward = None
    plan_per: Annotated[str, OneOf("state", "pair"), "what must become known for a plan"] = "state"
    planner: Planner = "finite"
    gamma: Annotated[float, Within(0, 0.9999), "discount, for the planners that have one"] = 0.95
    surplus: Annotated[int, Within(0), "samples of a pair counted beyond m"] = 0
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = (
        "",
        "m=2,plan_per=pair",
        "m=3,planner=discounted",
        "m=3,planner=lookahead,r_max=1",
        "m=4,infer=by_completion(m=2,rho=0.3)",
    )

    act = staticmethod(act)
    learn = staticmethod(learn)

    @classmethod
    def authors(cls, task: str) -> RMax:
        """As in the code published with the paper, on one of its tasks: R_max = 1, its planner.

        It plans discounted on Synthetic, too: .66 there, beside .67 in the run they published; the
        one-step lookahead of their GIM would give .84. On RiverSwim it looks one step ahead.
        """
        planner = "lookahead" if task == "riverswim" else "discounted"
        return cls(m=published_m(task), r_max=1.0, plan_per="pair", planner=planner, surplus=1)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Nothing known, but what a model learned elsewhere stands for."""
        belief = new_belief(task, self.infer)
        known = new_known(task.available, self.m, rho=1.0)
        review(known, belief.counts, belief.terminal)
        return Memory(
            belief=belief,
            known=known,
            choices=new_choices(task.available, 0.0, rng),
            most=np.array([self.m + self.surplus]),
            calls_for_plan=np.array([END + (STATE if self.plan_per == "state" else PAIR)]),
            stale=np.array([True]),
            policy=np.zeros((task.H, task.S), np.int64),
            ties=np.zeros((task.S, task.A), np.int64),
            n_ties=np.zeros(task.S, np.int64),
        )

    def known(self, memory: Memory) -> Known:
        """The pairs that were taken m times, or whose prediction is worth as much."""
        return memory.known

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Plan with what is known; a pair whose prediction is worth m visits counts as known."""
        note_learned_range(mind, self.r_max)
        known = memory.known
        r_max = largest_reward(mind.task, self.r_max, memory.belief.counts)
        rewards = (_least(mind.task, r_max), r_max)
        belief = inferred_when_due(memory.belief, self.infer, mind, rewards)
        if belief is not memory.belief:
            memory = memory._replace(belief=belief)
            review_inferred(known, belief)
        elif not memory.stale[0]:
            return None
        with mind.timed("planning"):
            model = optimistic_model(belief, known, r_max, mind.task.H)
            memory.policy[:] = planned_policy(model, self.planner, self.gamma)[:, :-1]
            if self.planner == "lookahead":
                self._tie(memory, looked_ahead(model, self.gamma)[:-1], mind.rng)
        memory.stale[0] = False
        mind.plans += 1
        note_explored(mind, belief, known.rho_known)
        return memory

    def _tie(self, memory: Memory, q: NDArray[np.float64], rng: np.random.Generator) -> None:
        """Of equally good actions any is taken, drawn at each step; for good once all is known."""
        ties, n_ties = listed(q == q.max(axis=1, keepdims=True))
        memory.ties[:], memory.n_ties[:] = ties, n_ties
        if memory.known.mask[memory.known.available].all():
            memory.policy[:] = ties[np.arange(len(ties)), rng.integers(n_ties)]
            memory.n_ties[:] = 0

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """The policy [H, S]; in a state that is not known, the action to be tried next."""
        return np.where(memory.known.rho_known, memory.policy, wandering(memory))


def wandering(memory: Any) -> NDArray[np.int64]:
    """What `wander` takes in each state that is not known, [S]."""
    known, n = memory.known, memory.belief.counts.n
    order = n * n.shape[1] + memory.choices.rank
    unknown = known.available & ~known.mask
    return np.where(unknown, order, np.iinfo(int).max).argmin(axis=1)


def review_inferred(known: Known, belief: Knowledge) -> None:
    """Bring up to date what is known: a pair whose prediction is worth m visits is, too."""
    seen = belief.evidence()
    enough: Any = np.where(seen.n_r > 0, seen.n, 0)
    review(known, belief.counts._replace(n=enough), belief.terminal)


def optimistic_model(belief: Knowledge, known: Known, r_max: float, H: int) -> Model:
    """The known pairs as estimated; all others lead to one more state, a heaven that pays r_max."""
    S, A = known.mask.shape
    seen = belief.evidence()
    unknown = known.available & ~known.mask
    P = divided(seen.N, np.where(known.mask, seen.n, 0.0))
    r = np.where(known.mask, mean_rewards(seen, r_max), r_max)
    ends = known.available & known.terminal[:, None]
    P, r[ends] = with_loops(P, np.flatnonzero(ends), A), 0.0
    if sparse.issparse(P):
        out = sparse.csr_array(unknown.reshape(-1, 1).astype(np.float64))
        heaven = sparse.block_array([[P, out], [None, np.ones((A, 1))]], format="csr")
    else:
        heaven = np.zeros((S + 1, A, S + 1))
        heaven[:S, :, :S] = P
        heaven[:S, :, S] = unknown
        heaven[S, :, S] = 1.0
    rows = np.vstack([known.available, np.ones((1, A), bool)])
    paid = np.full((1, A), max(r_max, 0.0))  # where all costs, the best is an end
    return Model(heaven, np.vstack([r, paid]), rows, H)


def _least(task: Task, r_max: float) -> float:
    return r_max if task.reward_range is None else min(r_max, task.reward_range[0])
