"""What agents share that plan anew between episodes: all but the plan itself.

Such an agent names its parameters, `r_min`, `r_max` and `infer` among them, and defines
``plan(memory, seen, rewards, mind)``, which turns the evidence into a policy::

    @dataclass(frozen=True)
    class MyAgent(Episodic, Agent): ...
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot
from gim._compile.memory import Limits, actions
from gim.agents.counting import Counting, note_learned_range
from gim.belief.evidence import Evidence
from gim.belief.knowledge import Knowledge, due, inferred_when_due, new_belief, observe
from gim.model.counts import seen
from gim.model.rewards import reward_range
from gim.model.task import Mind, Task
from gim.runs.agent import GO_ON, GROW, THINK

WORK = 1 << 17  # backups of pairs, of plans inside an episode, that one step may cost


class Memory(NamedTuple):
    """What was seen and inferred, and the plan in force."""

    belief: Knowledge
    q: NDArray[np.float64]  # [H, S, A] values; -inf where not available
    v: NDArray[np.float64]  # [H + 1, S] their maxima; the last row is 0
    policy: NDArray[np.int64]  # [H, S]
    later: NDArray[np.float64]  # [S, A] visits that ask for a new plan after the episode
    now: NDArray[np.float64]  # [S, A] visits that ask for it at once
    stale: NDArray[np.bool_]  # [1] whether a pair has come to ask for one later
    urgent: NDArray[np.bool_]  # [1] whether one has come to ask for it at once
    pause: NDArray[np.int64]  # [1] steps before it gets one; 0: none
    waited: NDArray[np.int64]  # [1] steps since the last plan
    surprise: NDArray[np.float64]  # [1] weighted sum over visits to pairs met before
    surprise_weight: NDArray[np.float64]  # [1] sum of those weights

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"policy": actions(self.q)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the plan."""
    return memory.policy[h, s]


@hot
def note_surprise(memory: Any, counts: Any, s: int, a: int, r: float, t: int) -> None:
    """How far a visit differs from those before it: 1 less the share that ended in t, without bias.

    A reward unlike the others is a surprise, too. The k-th visit weighs 1/k: pairs met often must
    not speak for all.
    """
    n = counts.n[s, a]
    if n > 0:
        mean = counts.R[s, a] / n
        same = abs(r - mean) <= 1e-9 * (1.0 + abs(mean))
        memory.surprise[0] += (1.0 - seen(counts, s, a, t) / n if same else 1.0) / n
        memory.surprise_weight[0] += 1.0 / n


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; ask for a plan when the visits of some pair have grown enough."""
    note_surprise(memory, memory.belief.counts, s, a, r, t)
    full = observe(memory.belief, s, a, r, t, end)
    n = memory.belief.counts.n[s, a]
    if n >= memory.later[s, a]:
        memory.stale[0] = True
    if n >= memory.now[s, a]:
        memory.urgent[0] = True
    memory.waited[0] += 1
    if memory.urgent[0] and memory.waited[0] >= memory.pause[0]:
        return THINK
    if end != GO_ON and (memory.stale[0] or due(memory.belief)):
        return THINK
    return GROW if full else GO_ON


class Episodic(Counting):
    """Counts every step; plans before every episode, or with `growth` when there is news.

    Then the visits of some pair have grown by that share since the last plan, at the end of an
    episode; or they have doubled, at once. In a long episode an agent would else go on for an
    action that was promising when it was planned, and no more. In a large world such plans keep a
    pause, so that a step costs no more than 2^17 backups of pairs on average; an episode may then
    follow a plan that is out of date, for as many steps (30 at S = 10,000, A = 4, H = 100).
    """

    growth: float = 0.0
    at_once: ClassVar[int] = 2  # first visits of a pair that, with a growth, ask for a plan at once
    r_min: float | None
    r_max: float | None
    infer: Any

    act = staticmethod(act)
    learn = staticmethod(learn)

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Fill q, v and policy of the memory; `rewards` are the least and the largest r(s,a)."""
        raise TypeError(f"{type(self).__name__} must define plan(memory, seen, rewards, mind)")

    def evidence(self, belief: Knowledge, mind: Mind) -> Evidence:
        """What a plan goes by: counts and prior together."""
        return belief.evidence(kept=mind.kept)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Nothing seen, but what a model learned elsewhere stands for."""
        S, A, H = task.S, task.A, task.H
        belief = new_belief(task, self.infer)
        reward_range(task, self.r_min, self.r_max, belief.counts)  # complain now, not later
        return Memory(
            belief=belief,
            q=np.zeros((H, S, A)),
            v=np.zeros((H + 1, S)),
            policy=np.zeros((H, S), np.int64),
            later=np.zeros((S, A)),
            now=np.full((S, A), np.inf),
            stale=np.zeros(1, bool),
            urgent=np.zeros(1, bool),
            pause=np.array([pause(S, A, H)]),
            waited=np.zeros(1, np.int64),
            surprise=np.ones(1),  # as if one visit had surprised: all may be random
            surprise_weight=np.ones(1),
        )

    def think(self, memory: Memory, mind: Mind) -> Memory:
        """Infer if it is time, then plan."""
        note_learned_range(mind, self.r_min, self.r_max)
        rewards = reward_range(mind.task, self.r_min, self.r_max, memory.belief.counts)
        belief = inferred_when_due(memory.belief, self.infer, mind, rewards)
        if belief is not memory.belief:  # a new memory costs the loop a new start
            memory = memory._replace(belief=belief)
        with mind.timed("planning"):
            self.plan(memory, self.evidence(belief, mind), rewards, mind)
        n = memory.belief.counts.n
        np.multiply(n, 1.0 + self.growth, out=memory.later)
        if self.growth > 0:  # else there is no such number, as at the start
            memory.now[:] = n + np.maximum(n, self.at_once)
        memory.stale[0] = memory.urgent[0] = False
        memory.waited[0] = 0
        mind.plans += 1
        return memory


def pause(S: int, A: int, H: int) -> int:
    """Steps that a plan inside an episode must wait for after the last, by what it costs."""
    return S * A * H // WORK
