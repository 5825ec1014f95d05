"""What a Gymnasium environment tells an agent before the first step."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np

from gim._base.params import brief
from gim.mdp.convert import NoTable, from_gymnasium
from gim.mdp.gymnasium_table import actions_of_env, layers, limit_of, variables_of_env
from gim.mdp.spaces import PAIRS, Numbering, numbering_of, variables_of_space
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables
from gim.model.task import Task


def told_by(env: Any, horizon: int | None) -> TabularMDP | Task:
    """The exact model of an environment, if it shows one; else what its spaces and limits tell.

    An episode ends after `horizon` steps or at the environment's own limit, whichever comes first.
    """
    if not isinstance(env, gymnasium.Env):
        raise ValueError(
            f"{brief(env)} is not a world: give a TabularMDP, a Gymnasium env, or a name or spec "
            'string such as "riverswim"'
        )
    states = numbering_of("observation_space", env.observation_space)
    actions = numbering_of("action_space", env.action_space)
    H = min((h for h in (horizon, limit_of(env)) if h is not None), default=None)
    if (mdp := _table_of(env, H)) is not None:
        return mdp
    if H is None:
        raise ValueError("this environment has no time limit: give one with horizon=")
    S, A = states.n, actions.n
    if S * A > PAIRS:
        raise ValueError(
            f"{S:,} states and {A:,} actions are more than {PAIRS:,} pairs: merge or leave out "
            "some of their variables with a gymnasium wrapper"
        )
    variables, action_variables = _made_of(env, states, actions)
    return Task(
        S,
        A,
        H,
        np.ones((S, A), bool),
        reward_range=reward_range_of(env),
        variables=variables,
        action_variables=action_variables,
    )


def reward_range_of(env: Any) -> tuple[float, float] | None:
    """What a step pays at the least and the most, if the environment says so, wrapped or not.

    Its attribute `reward_range` does, two finite numbers; one around which rewards are changed by a
    wrapper says nothing of what comes out, and (-inf, inf), as older versions of Gymnasium have it,
    says nothing at all.
    """
    for layer in layers(env):
        if "reward_range" in vars(layer) or hasattr(type(layer), "reward_range"):
            return None if layer.reward_range is None else _range(layer.reward_range)
        if isinstance(layer, gymnasium.RewardWrapper):
            return None
    return None


def _range(told: Any) -> tuple[float, float] | None:
    try:
        low, high = (float(each) for each in told)
    except (TypeError, ValueError):
        text = f"reward_range = {brief(told)} of the environment: give the least and the largest"
        raise ValueError(f"{text} reward of a step, such as (-1, 0)") from None
    if math.isnan(low) or math.isnan(high) or low > high:
        raise ValueError(
            f"reward_range = ({low:g}, {high:g}) of the environment: the first is not the lesser"
        )
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _table_of(env: Any, horizon: int | None) -> TabularMDP | None:
    """The exact model of an environment, if it has a table over the very same states."""
    inner = env.unwrapped
    if (env.observation_space, env.action_space) != (inner.observation_space, inner.action_space):
        return None
    try:
        mdp = from_gymnasium(env, horizon)
    except NoTable:
        return None
    return mdp if env.observation_space.n == mdp.S else None


def _made_of(
    env: Any, states: Numbering, actions: Numbering
) -> tuple[Variables | None, Variables | None]:
    """What states and actions are made of, as far as the environment or its spaces tell."""
    inner = env.unwrapped
    made_of, called = variables_of_env(inner), actions_of_env(inner)
    around = list(layers(env))
    seen_else = any(isinstance(each, gymnasium.ObservationWrapper) for each in around)
    done_else = any(isinstance(each, gymnasium.ActionWrapper) for each in around)
    if made_of is None or len(made_of) != states.n or seen_else:
        made_of = variables_of_space("state", states)
    if called is None or len(called) != actions.n or done_else:
        return made_of, variables_of_space("action", actions)
    return made_of, Variables(called, names=["action"])
