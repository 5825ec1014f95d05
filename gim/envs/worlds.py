"""Worlds by name, written the same way everywhere: on the command line, in code, in study files.

- ``riverswim:length=10``: a task of ours, with its parameters
- ``my.npz``: an MDP that was saved
- ``FrozenLake-v1:map_name=8x8,is_slippery=true``: a Gymnasium id, with what its maker takes
- ``my_module:MyEnv-v0``, ``my_file.py:MyEnv``: after a module or a file was imported that registers
  it, or has of this name a class of environments, a function that makes a world, or a `TabularMDP`

An environment that carries its table of probabilities becomes a `TabularMDP` and runs compiled;
any other is stepped through.
"""

from __future__ import annotations

import difflib
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium

from gim._base.arguments import whole
from gim._base.limits import INT
from gim._base.own import asked, import_own, split, there
from gim._base.registry import Spec, parse, write
from gim.envs import tasks
from gim.mdp.convert import NoTable, from_gymnasium
from gim.mdp.naming import Built
from gim.mdp.policy.policy import is_text
from gim.mdp.tabular import TabularMDP
from gim.model.loading import load_saved

World = Built | str | Path  # what stands for a world: see `world_of`
LOGS = (".csv", ".parquet")  # how the name of a file of transitions ends


def world_of(given: World, horizon: int | None = None, imports: bool = False) -> Built:
    """Build a world from its name or spec string; what is built already is passed on.

    Args:
        given: as above, or a `TabularMDP`, a Gymnasium environment, or the path of a saved MDP.
        horizon: H, where it is to differ from the world's own, or where that has none.
        imports: whether a name may hold a module to import, as ``my_module:MyEnv-v0`` does: right
            where a person has written it, wrong for what comes from a file.

    Returns:
        A `TabularMDP`, or a Gymnasium environment without a table.

    Example:
        >>> world_of("riverswim:length=10")
        <TabularMDP riverswim:length=10: S=10 A=2 H=20 dense>
    """
    if horizon is not None:
        horizon = whole("horizon", horizon, low=1, high=INT)
    world: Built
    if isinstance(given, Path):
        world = load_saved(given, "mdp")
    elif isinstance(given, str):
        world = _from_text(_imported(given, imports), horizon)
    else:
        world = given
    if isinstance(world, TabularMDP) and horizon not in (None, world.horizon):
        return world.with_(horizon=horizon)
    return world


def own_world(text: str) -> str:
    """The spec string of a world, once the module in front of it is imported; see `gim._base.own`.

    The module registers the world, as a task or with Gymnasium; or it is a class of environments,
    a function that makes a world, or a `TabularMDP`, which then gets an id of Gymnasium's.
    """
    parts = split(text, tasks)
    if parts is None:
        return text
    module, (name, colon, args) = import_own(parts[0]), parts[1].partition(":")
    made = getattr(module, name, None)
    known = tasks.known_as(made)
    if known is None and (callable(made) or isinstance(made, TabularMDP)):
        known = f"{module.__name__.replace('.', '-')}/{name}-v0"
        if known not in gymnasium.registry:
            gymnasium.register(known, partial(_environment, made))
        asked.setdefault(text, str(Path.cwd()))
    if known is None and name not in tasks and name not in gymnasium.registry:
        raise ValueError(
            f"{parts[0]} has no world {name!r}: name a task or an id that it registers, a class of "
            "environments, a function that makes a world, or a TabularMDP"
        )
    return parts[1] if known is None else f"{known}{colon}{args}"


def _environment(made: Any, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment that a thing of one's own is, or makes."""
    world = made(**options) if callable(made) else made
    return world.to_gymnasium() if isinstance(world, TabularMDP) else world


def _imported(text: str, allowed: bool) -> str:
    """The text without the module in front, which is imported."""
    parts = split(text, tasks)
    if parts is not None and not allowed:
        raise ValueError(f"{text!r} would import {parts[0]}, which is not done from a file")
    return own_world(text)


def _from_text(text: str, horizon: int | None) -> Built:
    if text.endswith(".npz"):
        return load_saved(text, "mdp")
    spec = parse(text)
    if spec.name in tasks:
        mdp: TabularMDP = tasks.make(spec)
        return mdp
    if spec.name in gymnasium.registry:
        return _from_gymnasium(spec, horizon)
    if there(spec.name):
        if spec.args:
            raise ValueError(f"a saved MDP takes no parameters: write {spec.name} alone")
        if spec.name.endswith(LOGS) and not is_text(spec.name):
            raise ValueError(
                f"{spec.name} is a log, not a world: gim.learn(gim.from_log(...)) or, in a shell, "
                f"gim learn {spec.name} --state ... --out FOLDER learns from it"
            )
        return load_saved(spec.name, "mdp")
    raise ValueError(f"unknown world {spec.name!r}: {_hint(spec.name)}")


def _from_gymnasium(spec: Spec, horizon: int | None) -> Built:
    limit = {} if horizon is None else {"max_episode_steps": horizon}
    try:
        env = gymnasium.make(spec.name, **(spec.args | limit))
    except Exception as problem:  # foreign code, which may raise anything
        raise ValueError(f"gymnasium cannot make {spec.name}: {problem}") from None
    ours = hasattr(env.unwrapped, "mdp")
    if env.spec is not None and env.spec.max_episode_steps is None and not ours:
        fix = f"write {spec.name}:max_episode_steps=100, or give a horizon"
        raise ValueError(f"{spec.name} has no time limit: {fix}")
    try:
        mdp = from_gymnasium(env)
    except NoTable:
        return env
    env.close()
    mdp.name = write(*spec, nested=False)
    return mdp


def _hint(name: str) -> str:
    close = difflib.get_close_matches(name, [*tasks.names(), *gymnasium.registry], n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    known = ", ".join(tasks.names())
    return f"choose from {known}, or give a saved MDP (my.npz) or a Gymnasium id (Taxi-v4)"
