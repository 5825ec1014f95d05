"""A log's policy in a world that is known: states and actions matched by label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.logs.log import Log, found_in
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
