"""What a certificate is about: a belief, the plan made on it, and who can judge it."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gim.agent import Task
from gim.deploy import plan_of
from gim.inference.base import Frame
from gim.inference.belief import Belief, believed_model
from gim.inference.certificate.judges import Judges
from gim.model.learned import LearnedModel
from gim.planning.checks import checked_policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Facts(NamedTuple):
    """All that bounds are made from."""

    belief: Belief
    frame: Frame  # available pairs, states seen to end an episode, the range of r(s,a)
    model: LearnedModel  # the belief's mean, p~
    policy: Any  # [H, S] its plan, or whatever policy is certified
    expected: float  # what it expects to earn
    V: Floats  # [H + 1, S] what the plan expects; the last row is 0
    playable: Bools  # [S, A] available pairs of states that do not end an episode
    inferred: Bools  # [S, A] those met no more often than their prediction is worth
    judges: Judges

    @property
    def F(self) -> Floats:
        """The values that errors matter for, by next state, [S, H - 1]."""
        return np.ascontiguousarray(self.V[1:-1].T)

    @property
    def chances(self) -> Floats:
        """The probabilities with which the policy plays, [H, S, A]."""
        S, A = self.playable.shape
        policy = self.policy
        chances = np.eye(A)[policy] if policy.dtype.kind in "iu" else policy
        return np.ascontiguousarray(np.broadcast_to(chances, (len(self.V) - 1, S, A)))


class Bounds(NamedTuple):
    """What a kind of certificate says."""

    value: Floats  # [H - 1, S, A] on |(p - p~).V_{h+1}|
    l1: Floats  # [S, A] on ||p - p~||_1
    silent: Bools  # [S, A] pairs that are like no judge: of these it says nothing
    earns: tuple[float, float]  # what the plan earns
    best: float  # the most that any policy earns
    loss: float  # the most that the plan loses of that


def facts_of(
    belief: Belief,
    task: Task,
    reward_range: tuple[float, float],
    policy: Any = None,
    start: Floats | None = None,
) -> Facts:
    """Plan on what is believed, and ask who can judge it.

    Args:
        belief: what was seen and inferred.
        task: what it is about.
        reward_range: of r(s,a).
        policy: to be certified instead of the plan, in any form that an MDP takes.
        start: [S] where episodes begin, if the task does not say.
    """
    model = believed_model(belief, task)
    if start is not None:
        model = cast(LearnedModel, model.with_(start=start))
    plan = plan_of(model)
    if policy is None:
        policy, expected = plan.policy, float(model.start @ plan.v[0])
    else:
        policy = checked_policy(model, policy, task.H)
        expected = model.policy_return(policy)
    playable = task.available & ~belief.terminal[:, None]
    n, seen = belief.counts.n, belief.evidence().n
    return Facts(
        belief=belief,
        frame=Frame(task.available, belief.terminal, reward_range),
        model=model,
        policy=policy,
        expected=expected,
        V=np.vstack([plan.v, np.zeros((1, task.S))]),
        playable=playable,
        inferred=playable & (n <= seen - n),
        judges=Judges(belief, playable),
    )
