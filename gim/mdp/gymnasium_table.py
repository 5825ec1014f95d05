"""What a Gymnasium environment tells of itself: its table, its ends, its limits and its names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables

UNSEEN = (TimeLimit, OrderEnforcing, PassiveEnvChecker)  # wrappers that change no step within it

# What Gymnasium's own environments call their actions, and what their states are made of.
ACTIONS = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
    "BlackjackEnv": ("stick", "hit"),
}
STOPS = ("R", "G", "Y", "B")
MADE_OF: dict[str, dict[str, Sequence[Any]]] = {
    "TaxiEnv": {
        "row": range(5),
        "col": range(5),
        "passenger": (*STOPS, "taxi"),
        "destination": STOPS,
    },
    "BlackjackEnv": {"player": range(32), "dealer": range(11), "ace": (False, True)},
}


class NoTable(ValueError):
    """A Gymnasium environment that does not show its true transition table."""


def layers(env: Any) -> Iterator[Any]:
    """An environment with what is around it, from the outermost wrapper on."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env
    yield env


def check_wrappers(env: Any) -> None:
    """Refuse wrappers that change what an agent sees, does or is paid: the table lacks that."""
    changing = (gymnasium.RewardWrapper, gymnasium.ObservationWrapper, gymnasium.ActionWrapper)
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"{env!r} is not a Gymnasium environment, nor the id of one")
    for layer in layers(env):
        if isinstance(layer, changing):
            raise NoTable(
                f"{type(layer).__name__} changes the environment, but its table P stays as it was: "
                "convert env.unwrapped and change the MDP instead"
            )


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
    pairs = [(s, a) for s in range(S) for a in range(A)]
    try:
        rows = [(s, a, t, p, r, ends) for s, a in pairs for p, t, r, ends in env.P[s][a]]
        table = np.array(rows, np.float64).reshape(-1, 6)
    except (LookupError, TypeError, ValueError):
        raise NoTable(
            f"P of {name} is not a table of lists P[s][a] of (probability, next state, reward, "
            "terminated); gim.run can still play it"
        ) from None
    far = (table[:, 2] < 0) | (table[:, 2] >= S)
    if far.any():
        s, a, t = table[np.flatnonzero(far)[0], :3].astype(int)
        raise ValueError(f"P[{s}][{a}] of {name} leads to {t}: states are 0 to {S - 1}")
    odd = (table[:, 5] != 0) & (table[:, 5] != 1)
    if odd.any():
        s, a, flag = table[np.flatnonzero(odd)[0], [0, 1, 5]]
        raise ValueError(
            f"P[{s:.0f}][{a:.0f}] of {name} has an outcome with terminated = {flag:g}: a flag is "
            "True, False, 0 or 1"
        )
    return table[:, :5], table[:, 5].astype(bool)


def endings(
    outcomes: NDArray[Any], ended: NDArray[np.bool_], start: NDArray[Any]
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
    """Where the states of a grid stand, if the environment is one: see `gim.mdp.picture`."""
    symbols = np.asarray(getattr(env, "desc", np.full(getattr(env, "shape", ()), ".")))
    if symbols.ndim != 2 or symbols.size != getattr(env.observation_space, "n", 0):
        return {}
    cells = [list(cell) for cell in np.ndindex(*symbols.shape)]
    return {"layout": {"cells": cells, "symbols": symbols.astype(str).ravel().tolist()}}


def limit_of(env: Any) -> int | None:
    """The steps after which an episode is cut: the least limit in or around it, or its spec's."""
    ours = getattr(env.unwrapped, "mdp", None)
    limits = [ours.horizon] if isinstance(ours, TabularMDP) else []
    limits += [layer._max_episode_steps for layer in layers(env) if isinstance(layer, TimeLimit)]
    if not limits and env.spec is not None and env.spec.max_episode_steps is not None:
        limits.append(env.spec.max_episode_steps)
    return min(limits, default=None)


def shows_all(env: Any) -> bool:
    """Whether playing from the table misses nothing that stepping through `env` would show.

    Not if it draws, if a wrapper may look on or change something, or if `step` or `reset` replace
    those of the class that the table may come from.
    """
    if env.render_mode is not None or unlike_made(env) is not None:
        return False
    inner = env.unwrapped
    kinds = [vars(kind) for kind in type(inner).__mro__ if kind is not gymnasium.Env]
    places = [vars(inner), *kinds]
    return all(sum(name in place for place in places) == 1 for name in ("step", "reset"))


def unlike_made(env: Any) -> str | None:
    """The name of a wrapper that `gymnasium.make` does not put around an environment by itself."""
    around = (type(layer) for layer in layers(env) if isinstance(layer, gymnasium.Wrapper))
    return next((kind.__name__ for kind in around if kind not in UNSEEN), None)


def variables_of_env(env: Any) -> Variables | None:
    """What the states of a grid or of one of Gymnasium's own environments are made of."""
    if layout := layout_of(env):
        rows, cols = zip(*layout["layout"]["cells"], strict=True)
        return Variables({"row": rows, "col": cols})
    for kind in type(env).__mro__:
        if made_of := MADE_OF.get(kind.__name__):
            sizes = tuple(map(len, made_of.values()))
            codes = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
            ordinal = [isinstance(levels, range) for levels in made_of.values()]
            return Variables.coded(codes, list(made_of.values()), list(made_of), ordinal)
    return None


def actions_of_env(env: Any) -> tuple[str, ...] | None:
    """What one of Gymnasium's own environments calls its actions."""
    names = (ACTIONS.get(kind.__name__) for kind in type(env).__mro__)
    return next((name for name in names if name is not None), None)


def spec_of(env: Any) -> dict[str, Any]:
    """How `gymnasium.make` makes this environment again."""
    if env.spec is None:
        raise ValueError("only an environment made by gymnasium.make can be saved with a run")
    if (strange := unlike_made(env)) is not None:
        raise ValueError(
            f"a run cannot be saved with a {strange} around its environment, which would be lost"
        )
    return {"id": env.spec.id, "kwargs": dict(env.spec.kwargs)}
