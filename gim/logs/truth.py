"""A log's policy in a world that is known: states and actions matched by label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.logs.log import Log
from gim.mdp.names import Names
from gim.mdp.policy.alignment import NONE, matched, some_of, unmatched
from gim.mdp.tabular import TabularMDP


def placed(policy: NDArray[Any], log: Log, mdp: TabularMDP) -> NDArray[Any]:
    """A policy by the log's numbers as one by the world's."""
    states, actions = found_in(log, *mdp.names())
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
    found = []
    for own, theirs, n in zip(log.names(), (states, actions), (-log.over, 0), strict=True):
        number = matched(own, theirs)[: n or None]
        if (lost := np.flatnonzero(number == NONE)).size:
            raise ValueError(
                f"{lost.size:,} of the {number.size:,} {own.kind}s of the log are no {own.kind} of "
                f"the world: {unmatched(own, lost)}; those of the world are {some_of(theirs)}"
            )
        found.append(number)
    return found[0], found[1]
