"""A log's policy in a world that is known: states and actions matched by label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.deploy import named
from gim.logs.log import Log
from gim.mdp import TabularMDP
from gim.names import Names


def placed(policy: NDArray[Any], log: Log, mdp: TabularMDP) -> NDArray[Any]:
    """A policy by the log's numbers as one by the world's."""
    world = named(mdp.uniform_policy(), mdp)
    states, actions = found_in(log, world.states, world.actions)
    first = mdp.available.argmax(axis=1)
    if policy.dtype.kind != "f":
        found = np.broadcast_to(first, (*policy.shape[:-1], mdp.S)).copy()
        found[..., states] = actions[policy[..., : len(states)]]
        return found
    shape = (*policy.shape[:-2], mdp.S, mdp.A)
    chances = np.broadcast_to(np.eye(mdp.A)[first], shape).copy()
    chances[..., states, :] = 0.0
    for j, a in enumerate(actions):
        chances[..., states, a] = policy[..., : len(states), j]
    return chances


def found_in(log: Log, states: Names, actions: Names) -> tuple[Any, Any]:
    """The numbers that a world gives to the log's states (without a recorded end) and actions."""
    labels = log.states[:-1] if log.over else log.states
    return (
        np.array([_find(states, label) for label in labels]),
        np.array([_find(actions, label) for label in log.actions]),
    )


def _find(names: Names, label: Any) -> int:
    single = names.variables is not None and len(names.variables[0]) == 1
    one = single and not isinstance(label, tuple)
    return names.find((label,) if one else label, "the world, but of the log")
