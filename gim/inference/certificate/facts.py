"""What a certificate is about: a belief, the plan made on it, and who can judge it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import Task
from gim.inference.base import Frame
from gim.inference.belief import Belief, believed_model
from gim.inference.certificate.judges import Judges
from gim.model.learned import LearnedModel
from gim.planning import backward_induction
from gim.policies import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Facts(NamedTuple):
    """All that bounds are made from."""

    belief: Belief
    frame: Frame  # available pairs, states seen to end an episode, the range of r(s,a)
    model: LearnedModel  # the belief's mean, p~
    policy: Ints  # [H, S] its plan
    V: Floats  # [H + 1, S] what the plan expects; the last row is 0
    playable: Bools  # [S, A] available pairs of states that do not end an episode
    inferred: Bools  # [S, A] those met no more often than their prediction is worth
    judges: Judges

    @property
    def F(self) -> Floats:
        """The values that errors matter for, by next state, [S, H - 1]."""
        return np.ascontiguousarray(self.V[1:-1].T)


class Bounds(NamedTuple):
    """What a kind of certificate says."""

    value: Floats  # [H - 1, S, A] on |(p - p~).V_{h+1}|
    l1: Floats  # [S, A] on ||p - p~||_1
    silent: Bools  # [S, A] pairs that are like no judge: of these it says nothing
    earns: tuple[float, float]  # what the plan earns
    best: float  # the most that any policy earns
    loss: float  # the most that the plan loses of that


def facts_of(belief: Belief, task: Task, reward_range: tuple[float, float]) -> Facts:
    """Plan on what is believed, and ask who can judge it.

    The row of a pair that neither visits nor an inference support is made up: it is not played
    where another pair is supported. A state without one is taken to hold the agent, and to pay the
    least of what is known of any pair if that is negative: else a cost could be escaped by what
    nobody has tried.
    """
    seen, model = belief.evidence(), believed_model(belief, task)
    supported = task.available & ((seen.n > 0) | belief.terminal[:, None])
    lost = ~supported.any(axis=1, keepdims=True)
    least = model.rewards[supported].min(initial=0.0)
    rewards = np.where(lost, least, model.rewards)
    can = task.available & (supported | lost)
    plan = backward_induction(Model(model.transitions, rewards, can, task.H))
    playable = task.available & ~belief.terminal[:, None]
    n = belief.counts.n
    return Facts(
        belief=belief,
        frame=Frame(task.available, belief.terminal, reward_range),
        model=model,
        policy=plan.policy,
        V=np.vstack([plan.v, np.zeros((1, task.S))]),
        playable=playable,
        inferred=playable & (n <= seen.n - n),
        judges=Judges(belief, playable),
    )
