"""What a world calls its states and actions, and a policy in its names."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from gim.mdp.names import Names
from gim.mdp.policy import Policy
from gim.mdp.spaces import numbering_of, variables_of_space
from gim.mdp.tabular import TabularMDP, names_by

Built = TabularMDP | gymnasium.Env[Any, Any]  # a world that is built: a table, or an environment


def named(array: NDArray[Any], world: Built) -> Policy:
    """A policy in the names of a world."""
    return Policy(array, *names_of(world))


def names_of(world: Built) -> tuple[Names, Names]:
    """What a world calls its states and its actions."""
    if isinstance(world, TabularMDP):
        return world.names()
    return _of_space("state", world.observation_space), _of_space("action", world.action_space)


def _of_space(kind: str, space: Any) -> Names:
    """The values of a space: numbers, which need not begin at 0, or what they are made of."""
    if isinstance(space, Discrete):
        return Names(kind, int(space.n), range(int(space.start), int(space.start + space.n)))
    numbering = numbering_of(f"{kind} space", space)
    return names_by(kind, numbering.n, None, variables_of_space(kind, numbering))
