"""From what was learned to the policy to deploy: `run.best_policy()`.

What an agent plays while it learns is often not what it would recommend: bonuses and draws make it
try things out. To deploy is to plan once more on what it believes, without them.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent, Task
from gim.mdp import TabularMDP
from gim.model.learned import LearnedModel
from gim.names import Names
from gim.planners import Model
from gim.planning import backward_induction
from gim.policy import Policy

Built = TabularMDP | gymnasium.Env[Any, Any]  # a world that is built: a table, or an environment


def best_policy(agent: Agent, memory: Any, task: Task, world: Built) -> Policy:
    """The policy to deploy of an agent with this memory, in the names of the world."""
    model = agent.model(memory, task)
    found = agent.greedy(memory, task) if model is None else planned(model)
    if found is None:
        kind = type(agent).__name__
        raise ValueError(f"{kind} has neither a model nor a policy: define greedy(memory, task)")
    return named(found, world)


def planned(model: LearnedModel) -> NDArray[np.int64]:
    """The policy [H, S] that is best as far as the model is supported by visits or inference.

    The row of any other pair is made up, so it is not played where another pair is supported; a
    state without one is taken to hold the agent, and to pay the least that is known of any pair,
    if that is negative: else a cost could be escaped by what nobody has tried.
    """
    supported = model.supported & model.available
    lost = ~supported.any(axis=1, keepdims=True)
    rewards = np.where(lost, model.rewards[supported].min(initial=0.0), model.rewards)
    playable = model.available & (supported | lost)
    return backward_induction(Model(model.transitions, rewards, playable, model.horizon)).policy


def named(array: NDArray[Any], world: Built) -> Policy:
    """A policy in the names of a world."""
    if isinstance(world, TabularMDP):
        states = Names("state", world.S, world.state_labels)
        return Policy(array, states, Names("action", world.A, world.action_labels))
    states = _numbered("state", world.observation_space)
    return Policy(array, states, _numbered("action", world.action_space))


def _numbered(kind: str, space: Any) -> Names:
    """The numbers of a discrete space, which need not begin at 0."""
    first, n = int(space.start), int(space.n)
    return Names(kind, n, range(first, first + n))
