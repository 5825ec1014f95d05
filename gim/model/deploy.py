"""From a learned model to the plan to deploy.

What an agent plays while it learns is often not what it would recommend: bonuses and draws make it
try things out. To deploy is to plan once more on what it believes, without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import brief
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.planning import backward_induction
from gim.planning.planners import Model

RULE = 0.3  # of the standard deviation that a rule may be wrong by, taken off or added


def planned(model: LearnedModel) -> NDArray[np.int64]:
    """The policy [H, S] that is best in the model, as far as `playable`, its rules doubted.

    Every value is less by a part of what the rule behind it may be wrong by: else a plan seeks out
    where rules that were seen a few times are wrong to its advantage.
    """
    if not model.doubt.any():
        return backward_induction(playable(model)).policy
    bare = playable(model)
    rows, pays = model.rows(), np.where(bare.available, bare.rewards, -np.inf)
    policy, v = np.empty((model.horizon, model.S), np.int64), np.zeros(model.S)
    for h in reversed(range(model.horizon)):
        mean = rows @ v
        wide = np.sqrt(np.maximum(rows @ (v * v) - mean * mean, 0.0)).reshape(pays.shape)
        q = pays + mean.reshape(pays.shape) - RULE * model.doubt * wide
        policy[h] = q.argmax(axis=1)
        v = q.max(axis=1)
    return policy


def playable(model: LearnedModel) -> Model:
    """What can be played of a model: what is supported by visits or inference.

    The row of any other pair is made up, so it is not played where another pair is supported; a
    state without one is taken to hold the agent, and to pay the least that is known of any pair,
    if that is negative: else a cost could be escaped by what nobody has tried.
    """
    supported = model.supported & model.available
    lost = ~supported.any(axis=1, keepdims=True)
    rewards = np.where(lost, model.rewards[supported].min(initial=0.0), model.rewards)
    playable = model.available & (supported | lost)
    return Model(model.transitions, rewards, playable, model.horizon)


def world_of(given: Any) -> TabularMDP:
    """The world to plan in: itself, or the mean of what was learned, as far as it is supported.

    Args:
        given: a `TabularMDP`; a `LearnedModel`, or what has one as its `mean` or `model`.
    """
    for name in ("mean", "model"):
        if isinstance(found := getattr(given, name, None), TabularMDP):
            given = found
            break
    if not isinstance(given, TabularMDP):
        raise ValueError(
            f"{brief(given)} is no world: give a TabularMDP, such as gim.make(NAME), or what was "
            "learned (a run that counts, gim.learn(log), a model)"
        )
    if not isinstance(given, LearnedModel):
        return given
    bare = playable(given)
    return given.with_(available=bare.available, rewards=bare.rewards)
