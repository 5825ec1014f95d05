"""`gim.run`: bring an agent and a world together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from gim.agent import Agent, Task, agents
from gim.convert import NoTable, from_gymnasium
from gim.loading import load
from gim.mdp import TabularMDP
from gim.model.learned import LearnedModel
from gim.runs import Callback, Run, Runs
from gim.worlds import world_of


def run(
    agent: Agent | str | None = None,
    world: Any = None,
    episodes: int = 5000,
    seed: int = 0,
    callback: Callback | None = None,
    resume: Run | str | Path | None = None,
    *,
    seeds: Iterable[int] | None = None,
    horizon: int | None = None,
    prior: LearnedModel | None = None,
) -> Any:
    """Let an agent learn in a world.

    Args:
        agent: such as `gim.QLearning(alpha=0.1)`, or the word ``"q_learning:alpha=0.1"``.
        world: a `TabularMDP` (compiled), a Gymnasium environment (step by step), or a word.
        episodes: how many to play.
        seed: fixes every bit of the run.
        callback: called about ten times a second with a `Report`; returning True pauses the run.
        resume: a paused run, or the file it was saved to; agent, world and seed are its own.
        seeds: several seeds instead of one; the result is then a list of runs (`Runs`).
        horizon: H for an environment that has no time limit of its own.
        prior: a model learned in another run, from which a model-based agent starts; with
            `infer=gim.Analogy()` it is first judged by what is met here.

    Returns:
        A `Run`; with `seeds`, a `Runs`.

    Example:
        >>> import gim
        >>> run = gim.run(gim.QLearning(), "riverswim", episodes=100)
        >>> run.returns.shape
        (100,)
    """
    if resume is not None:
        if agent is not None or world is not None or seeds is not None:
            raise ValueError("resume= goes on with its own agent, world and seed: give it alone")
        paused = resume if isinstance(resume, Run) else load(resume, "run")
        return _warned(paused.go(callback))
    if agent is None or world is None:
        raise ValueError('gim.run needs an agent and a world: gim.run("q_learning", "riverswim")')
    agent, world = agents.make(agent), world_of(world, horizon)
    if not isinstance(agent, Agent):
        raise ValueError(f"{agent!r} is not an agent: give gim.QLearning() or its word q_learning")
    if seeds is None:
        return _warned(prepare(agent, world, episodes, seed, horizon, prior).go(callback))
    made = (prepare(agent, world, episodes, s, horizon, prior).go(callback) for s in seeds)
    return Runs(_warned(run) for run in made)


def prepare(
    agent: Agent,
    world: Any,
    episodes: int,
    seed: int = 0,
    horizon: int | None = None,
    prior: LearnedModel | None = None,
) -> Run:
    """Make a run that has not begun: checks, tells the agent what it may know, seeds all."""
    episodes, seed = _whole("episodes", episodes, 1), _whole("seed", seed, 0)
    if isinstance(world, TabularMDP):
        if horizon not in (None, world.horizon):
            world = world.with_(horizon=horizon)
        mdp, task = world, task_of(world)
    else:
        _check_spaces(world)
        mdp = _table_of(world, horizon)
        task = _task_of_env(world, mdp, horizon)
    if prior is not None:
        if (prior.S, prior.A) != (task.S, task.A):
            raise ValueError(
                f"the prior has {prior.S} states and {prior.A} actions, the world {task.S} and "
                f"{task.A}: they must agree"
            )
        task = replace(task, prior=prior)
    return Run(agent, world, mdp, task, episodes, seed)


def unpack_run(arrays: dict[str, NDArray], meta: dict[str, Any]) -> Run:
    """Rebuild a run from what `Run.pack` gave."""
    agent = agents.make(meta["agent"])  # first: this loads plugins, which may bring the world
    if "world" in meta:
        world: Any = TabularMDP.unpack(_part(arrays, "world."), meta["world"])
    else:
        name = meta["env"]["id"]
        if name not in gymnasium.registry:  # such as "module:Name-v0", which would import a module
            raise ValueError(f"the run's environment {name!r} is not registered: import it first")
        world = gymnasium.make(name, **meta["env"]["kwargs"])
    prior = LearnedModel.unpack(_part(arrays, "prior."), meta["prior"]) if "prior" in meta else None
    run = prepare(agent, world, meta["episodes"], meta["seed"], meta["horizon"], prior)
    return run.unpack(arrays, meta)


def _part(arrays: dict[str, NDArray], prefix: str) -> dict[str, NDArray]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def task_of(mdp: TabularMDP) -> Task:
    """What an agent is told of an MDP."""
    return Task(mdp.S, mdp.A, mdp.horizon, mdp.available, mdp.reward_range, mdp.discount, truth=mdp)


def _task_of_env(env: Any, mdp: TabularMDP | None, horizon: int | None) -> Task:
    if mdp is not None:
        return task_of(mdp)
    limit = getattr(env.spec, "max_episode_steps", None)
    if (horizon or limit) is None:
        raise ValueError("this environment has no time limit: give one with horizon=")
    S, A = int(env.observation_space.n), int(env.action_space.n)
    return Task(S, A, _whole("horizon", horizon or limit, 1), np.ones((S, A), bool), None)


def _table_of(env: Any, horizon: int | None) -> TabularMDP | None:
    """The exact model of an environment, if it has a table over the very same states."""
    try:
        mdp = from_gymnasium(env, horizon)
    except NoTable:
        return None
    return mdp if env.observation_space.n == mdp.S else None


def _check_spaces(env: Any) -> None:
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"{env!r} is not a world: give a TabularMDP, a Gymnasium env, or a word")
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        if not isinstance(space, Discrete):
            raise ValueError(
                f"the {name} is {space}: gim needs Discrete spaces; number its values with a "
                "gymnasium wrapper"
            )


def _whole(name: str, value: Any, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name} = {value!r}: give a whole number, {low} or more")
    return int(value)


def _warned(run: Run) -> Run:
    for text in dict.fromkeys(run.notes):
        warnings.warn(text, stacklevel=3)
    return run
