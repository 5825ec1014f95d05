"""What a Gymnasium environment tells of itself: its transition table and how episodes end."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray


class NoTable(ValueError):
    """A Gymnasium environment that does not show its true transition table."""


def check_wrappers(env: Any) -> None:
    """Refuse wrappers that change what an agent sees, does or is paid: the table lacks that."""
    changing = (gymnasium.RewardWrapper, gymnasium.ObservationWrapper, gymnasium.ActionWrapper)
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"{env!r} is not a Gymnasium environment, nor the id of one")
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, changing):
            raise NoTable(
                f"{type(env).__name__} changes the environment, but its table P stays as it was: "
                "convert env.unwrapped and change the MDP instead"
            )
        env = env.env


def read_table(name: str, env: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """All outcomes [n, 5] of `env.P`, and which of them end an episode [n]."""
    for kind in ("observation_space", "action_space"):
        space = getattr(env, kind)
        if not isinstance(space, Discrete) or space.start != 0:
            raise NoTable(f"the {kind} of {name} is {space}: it must be Discrete, from 0 on")
    for part in ("P", "initial_state_distrib"):
        if not hasattr(env, part):
            raise NoTable(
                f"{name} has no {part}: only environments that show their transitions, such as "
                "FrozenLake, Taxi and CliffWalking, can be read; gim.run can still play it"
            )
    if getattr(env, "fickle_passenger", False):
        raise NoTable(
            f"the fickle passenger of {name} is not in its table P: make it with "
            "fickle_passenger=False; gim.run can still play it"
        )
    S, A = int(env.observation_space.n), int(env.action_space.n)
    rows = [
        (s, a, t, p, r, ends) for s in range(S) for a in range(A) for p, t, r, ends in env.P[s][a]
    ]
    table = np.array(rows, np.float64)
    far = (table[:, 2] < 0) | (table[:, 2] >= S)
    if far.any():
        s, a, t = table[np.flatnonzero(far)[0], :3].astype(int)
        raise ValueError(f"P[{s}][{a}] of {name} leads to {t}: states are 0 to {S - 1}")
    return table[:, :5], table[:, 5].astype(bool)


def endings(
    outcomes: NDArray, ended: NDArray[np.bool_], start: NDArray
) -> tuple[NDArray[np.bool_], bool]:
    """Which states are terminal [S], and whether an extra one is needed for the end."""
    s, t = outcomes[:, 0].astype(int), outcomes[:, 2].astype(int)
    may = outcomes[:, 3] > 0
    alive = start > 0  # states in which an episode can go on
    while True:
        grown = alive.copy()
        grown[t[alive[s] & may & ~ended]] = True
        if (grown == alive).all():
            break
        alive = grown
    entered, met = np.zeros_like(alive), np.zeros_like(alive)
    entered[t[may & ended]] = True
    met[t[may & ended & alive[s]]] = True
    return entered & ~alive, bool((met & alive).any())


def layout_of(env: Any) -> dict[str, Any]:
    """Where the states of a grid stand (see `gim.rendering.picture`), if the environment is one."""
    symbols = np.asarray(getattr(env, "desc", np.full(getattr(env, "shape", ()), ".")))
    if symbols.ndim != 2 or symbols.size != env.observation_space.n:
        return {}
    cells = [list(cell) for cell in np.ndindex(*symbols.shape)]
    return {"layout": {"cells": cells, "symbols": symbols.astype(str).ravel().tolist()}}
