"""What a certificate is about: a belief, the plan made on it, and who can judge it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gim.analogy.base import Frame
from gim.analogy.unseen import Beginnings
from gim.belief.belief import Belief, believed_model
from gim.belief.certificate.judges import Judges
from gim.belief.grounds import Aim
from gim.model.deploy import plan_of
from gim.model.learned import LearnedModel
from gim.model.task import Task
from gim.planning.checks import checked_policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Facts(NamedTuple):
    """All that bounds are made from."""

    belief: Belief
    frame: Frame  # available pairs, states seen to end an episode, the range of r(s,a)
    model: LearnedModel  # the belief's mean, p~
    aim: Aim
    policy: Any  # [H, S] its plan, or [S] without an end, or whatever policy is certified
    expected: float  # what it expects to earn
    V: Floats  # [H + 1, S] what the plan expects, [3, S] without an end; the last row is 0
    playable: Bools  # [S, A] available pairs of states that do not end an episode
    inferred: Bools  # [S, A] those met no more often than their prediction is worth
    judges: Judges
    ruled: bool = False  # whether states have variables, so that rules may predict
    begins: Beginnings | None = None  # None: as the model has it, for certain
    told: bool = True  # whether the range of rewards was told; else it is what was seen

    @property
    def F(self) -> Floats:
        """The values that errors matter for, by next state, [S, H - 1], or [S, 1]."""
        return np.ascontiguousarray(self.V[1:-1].T)

    @property
    def trivial(self) -> float:
        """What is expected above the least possible return: the policy may always lose that."""
        return self.expected + float(self.aim.most(-self.frame.reward_range[0])[0])

    @property
    def chances(self) -> Floats:
        """The probabilities with which the policy plays, [H, S, A], or [1, S, A]: always."""
        S, A = self.playable.shape
        policy = self.policy
        chances = np.eye(A)[policy] if policy.dtype.kind in "iu" else policy
        return np.ascontiguousarray(chances).reshape(-1, S, A)

    def chance_of(self, pairs: Bools) -> float:
        """The chance that an episode of the policy meets some of these pairs [S, A], in the model.

        If discounted, that it does before it ends, as if each step were the last with that chance.
        """
        chances, rows = self.chances, self.model.rows()
        here, found, weight = self.model.start, 0.0, 1.0
        for h in range(self.aim.steps):
            plays = here[:, None] * chances[min(h, len(chances) - 1)]
            found += weight * float(plays[pairs].sum())
            here, weight = (plays * ~pairs).ravel() @ rows, weight * self.aim.discount
        return found

    @property
    def beginnings(self) -> Beginnings:
        """Where episodes begin, and how well that is known."""
        if self.begins is not None:
            return self.begins
        start = np.asarray(self.model.start, np.float64)
        return Beginnings(start, np.zeros(0), ~self.frame.terminal)

    def with_range(self, low: float, high: float) -> Facts:
        """The same if rewards lie between these."""
        return self._replace(frame=self.frame._replace(reward_range=(low, high)))


class Bounds(NamedTuple):
    """What a kind of certificate says."""

    value: Floats  # [H - 1, S, A] on |(p - p~).V_{h+1}|
    l1: Floats  # [S, A] on ||p - p~||_1
    silent: Bools  # [S, A] pairs that are like no judge: of these it says nothing
    earns: tuple[float, float]  # what the plan earns
    best: float  # the most that any policy earns
    loss: float  # the most that the plan loses of that
    blind: float = 0.0  # chance that an episode meets a pair of which nothing is known
    loss_as_tried: float = math.nan  # the loss if pairs of which nothing is known pay as others do
    why: str = ""  # why there is no bound on returns, if there is none
    within: tuple[float, float] | None = None  # r(s,a) that bounds on returns rest on, if not told


def facts_of(
    belief: Belief,
    task: Task,
    reward_range: tuple[float, float],
    policy: Any = None,
    start: Floats | None = None,
    aim: Aim | None = None,
    *,
    begins: Beginnings | None = None,
    told: bool = True,
) -> Facts:
    """Plan on what is believed, and ask who can judge it.

    Args:
        belief: what was seen and inferred.
        task: what it is about.
        reward_range: of r(s,a).
        policy: to be certified instead of the plan, in any form that an MDP takes.
        start: [S] where episodes begin, if the task does not say.
        aim: horizon and discount; the task's own, if not given.
        begins: where episodes begin, where that was only seen.
        told: whether the range of rewards is known for certain.
    """
    aim = Aim(task.H) if aim is None else aim
    model = believed_model(belief, task)
    if start is not None:
        model = cast(LearnedModel, model.with_(start=start))
    if aim.horizon is not None and aim.horizon != model.horizon:
        model = cast(LearnedModel, model.with_(horizon=aim.horizon))
    plan = plan_of(model, aim.discount, endless=aim.horizon is None)
    v = np.stack([plan.v, plan.v]) if plan.v.ndim == 1 else plan.v
    if policy is None:
        policy, expected = plan.policy, float(model.start @ v[0])
    else:
        policy = checked_policy(model, policy, aim.horizon)
        expected = aim.returned(model, policy)
    playable = task.available & ~belief.terminal[:, None]
    n, seen = belief.counts.n, belief.evidence().n
    replaced = np.isinf(belief.prior.n0) if belief.prior.n0.size else np.zeros(n.shape, bool)
    return Facts(
        belief=belief,
        frame=Frame(task.available, belief.terminal, reward_range),
        model=model,
        aim=aim,
        policy=policy,
        expected=expected,
        V=np.vstack([v, np.zeros((1, task.S))]),
        playable=playable,
        inferred=playable & ((n <= seen - n) | replaced),
        judges=Judges(belief, playable),
        ruled=task.variables is not None,
        begins=begins,
        told=told,
    )
