"""What agents share that explore first and exploit then: steps, phases, and when each ends.

Such an agent names its parameters, `m`, `rho`, `beta`, `exploration`, `planner`, `gamma` and
`patience` among them, and defines ``settle(memory, mind)``, which makes the model and the policy::

    @dataclass(frozen=True)
    class MyAgent(Phases, Agent): ...

The comments give the lines of Algorithm 2 of the paper.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import bind, hot
from gim._compile.memory import LARGE, SAME, VISITS, Limits, actions
from gim.agents.counting import Counting
from gim.belief.knowledge import NEVER, Knowledge, due, new_belief, observe, with_room
from gim.model.counts import Known, crowded, new_known, review, update_known
from gim.model.task import Mind, Task
from gim.paper.walks.base import GIVE_UP, NOTHING, PLAN, ROOM
from gim.paper.walks.curious import choose
from gim.paper.walks.curious import observe as follow
from gim.planning.planners import Model, planned_policy
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK


class Phase(NamedTuple):
    """Where an agent of two phases stands; each an array of one element."""

    exploring: NDArray[np.bool_]
    learns_on: NDArray[np.bool_]  # whether visits are counted after exploration
    stale: NDArray[np.bool_]  # whether the policy is out of date
    most: NDArray[np.int64]  # samples of a pair that are kept
    idle: NDArray[np.int64]  # steps since an unknown pair was met
    patience: NDArray[np.int64]  # their limit
    wants_plans: NDArray[np.bool_]  # whether the walk plans when it is lost
    last: NDArray[np.int64]  # visits that end exploration
    replan: NDArray[np.int64]  # visits that ask for the walk's next plan

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        same = dict.fromkeys(("learns_on", "most", "patience", "wants_plans", "last"), SAME)
        return same | {"idle": VISITS, "replan": LARGE}


class Memory(NamedTuple):
    """What is believed and known-ness, the walk, and after exploration the policy."""

    belief: Knowledge
    known: Known
    walk: Any  # the exploration's own NamedTuple
    phase: Phase
    policy: NDArray[np.int64]  # [H, S]

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"policy": actions(self.known.mask)}


@hot
def lost(idle: int) -> bool:
    """After 64, 128, 256, ... steps without an unknown pair the way is planned anew."""
    return idle >= 64 and idle & (idle - 1) == 0


def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Lines 7-8 and 21-22: walk, or follow the policy."""
    if memory.phase.exploring[0]:
        return choose(memory.walk, memory.belief.counts, memory.known, s, rng)
    return memory.policy[h, s]


def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Lines 10-15: count, update the known-ness mask, and wake when enough is known."""
    belief, known, phase = memory.belief, memory.known, memory.phase
    if not phase.exploring[0] and not phase.learns_on[0]:
        return GO_ON
    counts, ends = belief.counts, end == TERMINATED
    phase.idle[0] = phase.idle[0] + 1 if known.mask[s, a] else 0
    # A sample beyond those kept is dropped, unless it shows an end.
    kept = counts.n[s, a] < phase.most[0] or (ends and not known.terminal[t])
    full = kept and observe(belief, s, a, r, t, end)  # 10-13
    news = update_known(known, counts, s, a, t, ends)  # 14
    if not phase.exploring[0]:
        if counts.n[s, a] & (counts.n[s, a] - 1) == 0 or due(belief):
            phase.stale[0] = True
        return THINK if phase.stale[0] and end != GO_ON else GROW if full else GO_ON
    wish = follow(memory.walk, counts, known, s, a, t, news) if kept else NOTHING
    if wish & GIVE_UP:
        phase.idle[0] = phase.patience[0]
    wake = news > 0 and known.pairs[0] >= known.goal[0]  # 15
    wake |= wish & PLAN > 0 or belief.visits[0] >= min(phase.last[0], phase.replan[0])
    if phase.idle[0] > 0:
        wake |= phase.idle[0] >= phase.patience[0] or (phase.wants_plans[0] and lost(phase.idle[0]))
    return (THINK if wake else GO_ON) + (GROW if full or wish & ROOM else GO_ON)


@cache
def walking(template: Any, choose: Any, follow: Any) -> Any:
    """`act` or `learn` with a walk's own functions in it."""
    return bind(template, "walk", inner=True, choose=choose, follow=follow)


class Phases(Counting):
    """Explores until enough is known, or a budget is spent; then plans and exploits."""

    m: int
    rho: float
    beta: float
    exploration: Any
    planner: str
    gamma: float
    patience: int | None
    surplus: int | None = None
    infer: Any = None
    learn_on: bool = False
    budget: int | None = None

    @property
    def act(self) -> Any:
        """`act`, compiled with the walk in it."""
        return walking(act, self.exploration.choose, self.exploration.observe)

    @property
    def learn(self) -> Any:
        """`learn`, compiled with the walk in it."""
        return walking(learn, self.exploration.choose, self.exploration.observe)

    def settle(self, memory: Memory, mind: Mind) -> Memory:
        """Lines 16-20: complete or infer, then plan."""
        raise TypeError(f"{type(self).__name__} must define settle(memory, mind)")

    def find_way(self, memory: Memory, mind: Mind) -> tuple[Memory, bool]:
        """Plan the walk; False: nothing unknown can be reached."""
        with mind.timed("planning the walk"):
            found = self.exploration.plan(memory.walk, memory.belief, memory.known)
        mind.walk_plans += 1
        return memory, bool(found)

    def knows_enough(self, known: Known) -> bool:
        """Line 15: whether a share rho of the pairs is known."""
        return bool(known.pairs[0] >= known.goal[0])

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Lines 1-3; what a prior has counted is counted."""
        S, A, H = task.S, task.A, task.H
        belief = new_belief(task, self.infer)
        known = new_known(task.available, self.m, self.rho)
        review(known, belief.counts, belief.terminal)
        before, walk = int(belief.visits[0]), self.exploration
        phase = Phase(
            exploring=np.array([True]),
            learns_on=np.array([self.learn_on]),
            stale=np.array([False]),
            most=np.array([NEVER if self.surplus is None else self.m + self.surplus]),
            idle=np.array([0]),
            patience=np.array([self.patience or max(10_000, 100 * S * A)]),
            wants_plans=np.array([walk.plans]),
            last=np.array([NEVER if self.budget is None else before + self.budget]),
            replan=np.array([before + H if walk.growth else NEVER]),
        )
        return Memory(
            belief=belief,
            known=known,
            walk=walk.start(belief.counts, known, self.beta, rng),
            phase=phase,
            policy=np.zeros((H, S), np.int64),
        )

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Lines 15-20, or the next way of a planned walk."""
        belief, known, phase = memory.belief, memory.known, memory.phase
        if not phase.exploring[0]:
            return self.settle(memory, mind) if phase.stale[0] else None
        enough = self.knows_enough(known) or belief.visits[0] >= phase.last[0]
        stalled = phase.idle[0] >= phase.patience[0]
        if not enough and not stalled and self.exploration.plans and belief.counts.n.any():
            memory, found = self.find_way(memory, mind)
            stalled = not found
        if not enough and not stalled:
            return memory
        if not enough:
            left = int(known.available.sum() - known.pairs[0])
            mind.note(
                f"exploration stalled in episode {mind.episode}: {left} pairs are not known and "
                "none of them was met any more; the model is made from what is known"
            )
        mind.explored_at = mind.episode
        phase.exploring[0] = False
        if self.infer is not None:
            belief.infer_at[0] = belief.visits[0]
        return self.settle(memory, mind)

    def planned(self, memory: Memory, P: Any, r: NDArray[np.float64], mind: Mind) -> Memory:
        """Line 20: the best policy of this model."""
        model = Model(P, r, memory.known.available, mind.task.H)
        memory.policy[:] = planned_policy(model, self.planner, self.gamma)
        memory.phase.stale[0] = False
        mind.plans += 1
        return memory

    def known(self, memory: Memory) -> Known:
        """The known-ness mask of Algorithm 2."""
        return memory.known

    def grow(self, memory: Memory) -> Memory:
        """Make room for more triples, and for what the walk notes of them."""
        belief, walk = memory.belief, memory.walk
        if crowded(belief.counts):
            belief = with_room(belief)
        if memory.phase.exploring[0]:
            walk = self.exploration.grow(walk)
        return memory._replace(belief=belief, walk=walk)

    def policy(self, memory: Memory) -> NDArray[np.int64] | None:
        """The policy [H, S] once there is one."""
        return None if memory.phase.exploring[0] else memory.policy
