"""E3, explicit explore or exploit (Kearns and Singh, 2002).

A state is known when each of its actions was taken m times. In a state that is not, the action
tried least is taken (balanced wandering). Who enters the known states settles there on one of two
plans for the rest of the episode, or until it leaves them again:

    explore:  the best way out, by the probability to act in an unknown state in the steps left,
    exploit:  the best policy that counts on nothing outside: there the least possible is paid.

By the explore-or-exploit lemma the second is near-optimal wherever the first is hopeless. So it
explores if the way out has a probability of more than epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot
from gim._compile.memory import SAME, Limit, Limits, actions
from gim.agents.counting import Counting, note_explored, note_learned_range
from gim.agents.rmax import review_inferred, wander, wandering
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
from gim.model.counts import END, STATE, Known, new_known, review, update_known
from gim.model.rewards import LargestReward, LeastReward, reward_range
from gim.model.task import Mind, Task
from gim.paper.walks.base import Choices, new_choices
from gim.planning import backward_induction
from gim.planning.planners import Model
from gim.runs.agent import GO_ON, GROW, TERMINATED, THINK, Agent

UNDECIDED, EXPLORE, EXPLOIT = 0, 1, 2  # what is done in known states


class Memory(NamedTuple):
    """What was seen, what of it is known, and the two plans."""

    belief: Knowledge
    known: Known  # rho_known means here: every action of the state is known
    choices: Choices  # who wins a tie
    epsilon: NDArray[np.float64]  # [1] the least probability to get out that is worth a try
    mode: NDArray[np.int64]  # [1] UNDECIDED outside of the known states
    stale: NDArray[np.bool_]  # [1] whether a state became known since the plans
    explore: NDArray[np.int64]  # [H, S] the best way out of them; in the last step as `exploit`
    escape: NDArray[np.float64]  # [H, S] its probability in the steps left
    exploit: NDArray[np.int64]  # [H, S] the best policy within the known states

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        plans = dict.fromkeys(("explore", "exploit"), actions(self.known.mask))
        return plans | {"epsilon": SAME, "mode": Limit(UNDECIDED, EXPLOIT)}


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Wander in a state that is not known; elsewhere follow one of the plans."""
    if not memory.known.rho_known[s]:
        memory.mode[0] = UNDECIDED
        return wander(memory, s)
    if memory.mode[0] == UNDECIDED:
        out = memory.escape[h, s] > memory.epsilon[0]
        memory.mode[0] = EXPLORE if out else EXPLOIT
    return memory.explore[h, s] if memory.mode[0] == EXPLORE else memory.exploit[h, s]


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Count; wake when a state became known."""
    full = observe(memory.belief, s, a, r, t, end)
    news = update_known(memory.known, memory.belief.counts, s, a, t, end == TERMINATED)
    if news & (STATE + END):
        memory.stale[0] = True
    if end != GO_ON or memory.stale[0]:
        memory.mode[0] = UNDECIDED
    if memory.stale[0] or due(memory.belief):
        return THINK
    return GROW if full else GO_ON


@dataclass(frozen=True)
class E3(Counting, Agent, name="e3"):
    """Explore while there is a way to unknown states, else exploit what is known."""

    m: Annotated[int, Within(1), "visits of each action that make a state known"] = 20
    epsilon: Annotated[
        float,
        Within(0, 1),
        "explore if an unknown state can be met with more than this probability",
    ] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "m=2,epsilon=0.2", "m=4,infer=by_completion(m=2,rho=0.3)")

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """Nothing known, but what a model learned elsewhere stands for."""
        H, S = task.H, task.S
        belief = new_belief(task, self.infer)
        reward_range(task, self.r_min, self.r_max, belief.counts)  # complain now, not later
        known = new_known(task.available, self.m, rho=1.0)
        review(known, belief.counts, belief.terminal)
        return Memory(
            belief=belief,
            known=known,
            choices=new_choices(task.available, 0.0, rng),
            epsilon=np.array([self.epsilon]),
            mode=np.array([UNDECIDED]),
            stale=np.array([True]),
            explore=np.zeros((H, S), np.int64),
            escape=np.zeros((H, S)),
            exploit=np.zeros((H, S), np.int64),
        )

    def known(self, memory: Memory) -> Known:
        """The pairs that were taken m times, or whose prediction is worth as much."""
        return memory.known

    def think(self, memory: Memory, mind: Mind) -> Memory | None:
        """Make both plans; a pair whose prediction is worth m visits counts as known."""
        note_learned_range(mind, self.r_min, self.r_max)
        rewards = reward_range(mind.task, self.r_min, self.r_max, memory.belief.counts)
        belief = inferred_when_due(memory.belief, self.infer, mind, rewards)
        if belief is not memory.belief:
            memory = memory._replace(belief=belief)
            review_inferred(memory.known, belief)
        elif not memory.stale[0]:
            return None
        with mind.timed("planning"):
            out, within = known_worlds(belief, memory.known, min(rewards[0], 0.0), mind.task.H)
            memory.explore[:] = memory.exploit[:] = backward_induction(within).policy
            if mind.task.H > 1:  # who gets out with the last step learns nothing there
                way_out = backward_induction(out, horizon=mind.task.H - 1)
                memory.explore[:-1], memory.escape[:-1] = way_out.policy, way_out.v
        memory.stale[0], memory.mode[0] = False, UNDECIDED
        mind.plans += 1
        mind.walk_plans += 1
        note_explored(mind, belief, memory.known.rho_known)
        return memory

    def policy(self, memory: Memory) -> NDArray[np.int64]:
        """What would be done by someone who comes there, [H, S]."""
        inside = np.where(memory.escape > self.epsilon, memory.explore, memory.exploit)
        return np.where(memory.known.rho_known, inside, wandering(memory))


def known_worlds(belief: Knowledge, known: Known, least: float, H: int) -> tuple[Model, Model]:
    """The known states as estimated; one of the others is never left again.

    In the first MDP the step into an unknown state pays 1 and no other anything: a value is the
    probability to get there. In the second rewards are as estimated, and `least` outside.
    """
    S, A = known.mask.shape
    seen, inside = belief.evidence(), known.rho_known[:, None]
    goes_on = inside & ~known.terminal[:, None]
    P = divided(seen.N, np.where(goes_on, seen.n, 0.0))
    P = with_loops(P, np.flatnonzero(known.available & ~goes_on), A)
    leaves = (P @ (~known.rho_known).astype(np.float64)).reshape(S, A)
    paid = np.where(goes_on, mean_rewards(seen, least), np.where(inside, 0.0, least))
    return (
        Model(P, np.where(goes_on, leaves, 0.0), known.available, H),
        Model(P, paid, known.available, H),
    )
