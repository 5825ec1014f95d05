"""`gim.run`: bring an agent and a world together."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, overload

import gymnasium
from numpy.typing import NDArray

from gim._base.arguments import amount, whole
from gim._base.limits import (
    INT,
    SEED,
    bounded_memory,
    check_returns,
    check_steps,
    too_large,
)
from gim._base.own import own
from gim._base.params import brief
from gim._compile.agent_functions import check_functions
from gim._compile.memory import part
from gim.belief.belief import Belief
from gim.belief.family.family import Family
from gim.envs.worlds import World, world_of
from gim.mdp.gymnasium_table import shows_all
from gim.mdp.naming import Built, names_of
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.model.loading import KINDS, load_saved
from gim.model.rewards import LEARNED_RANGE, KnownRewards
from gim.model.task import Task
from gim.runs.agent import Agent, agents
from gim.runs.gymnasium_task import told_by
from gim.runs.loop import Clock
from gim.runs.priors_given import (
    Priors,
    Rewards,
    by_family,
    family_in,
    models_given,
    rewards_given,
)
from gim.runs.reports import Callback
from gim.runs.run_files import check_meta
from gim.runs.runs import WAITED, Run, Runs
from gim.runs.several import play_all

FROM_TABLE = (
    "the environment shows its table of transitions: it is played from the table, compiled, and is "
    "not stepped itself (put it in a gymnasium.Wrapper to have it stepped)"
)
LARGE = 1 << 22  # episodes and states by step from which on memory is looked at beforehand
REMARKS = (
    FROM_TABLE,
    LEARNED_RANGE,
    WAITED,
)  # notes that call for nothing: said, but not as warnings


@overload
def run(
    agent: Agent | str,
    world: World,
    episodes: int = ...,
    seed: int = ...,
    callback: Callback | None = ...,
    resume: None = ...,
    *,
    seeds: None = ...,
    horizon: int | None = ...,
    prior: Priors | None = ...,
    rewards: Rewards = ...,
    seconds: float | None = ...,
) -> Run: ...
@overload
def run(
    agent: Agent | str,
    world: World,
    episodes: int = ...,
    seed: int = ...,
    callback: Callback | None = ...,
    resume: None = ...,
    *,
    seeds: Iterable[int],
    horizon: int | None = ...,
    prior: Priors | None = ...,
    rewards: Rewards = ...,
    seconds: float | None = ...,
) -> Runs: ...
@overload
def run(*, resume: Run | str | Path, callback: Callback | None = ...) -> Run: ...


def run(
    agent: Agent | str | None = None,
    world: World | None = None,
    episodes: int = 5000,
    seed: int = 0,
    callback: Callback | None = None,
    resume: Run | str | Path | None = None,
    *,
    seeds: Iterable[int] | None = None,
    horizon: int | None = None,
    prior: Priors | None = None,
    rewards: Rewards = "learn",
    seconds: float | None = None,
) -> Run | Runs:
    """Let an agent learn in a world.

    Args:
        agent: such as `gim.QLearning(alpha=0.1)`, or its spec string ``"q_learning:alpha=0.1"``.
        world: a `TabularMDP` (compiled), a Gymnasium environment (step by step, unless it shows
            its table of transitions), or a name or spec string such as ``"riverswim:length=10"``;
            see `gim.envs.worlds`.
        episodes: how many to play.
        seed: fixes every bit of the run.
        callback: called about ten times a second with a `Report`; returning True pauses the run.
        resume: a paused run, or the file it was saved to; agent, world and seed are its own.
        seeds: several seeds instead of one; the result is then a list of runs (`Runs`). They are
            played at once, by threads on all cores, each bit for bit as it would be by itself; the
            callback is called for all of them, here. A stepped environment is one for all: there
            one run follows the other.
        horizon: H for an environment that has no time limit of its own, or a longer one.
        prior: what was learned elsewhere, for a model-based agent to start from: a model, a run,
            a file of either, a `gim.Log` of this world, or a list of them; or a `gim.Family` of
            worlds like this one. With
            `infer=gim.Analogy()`, as the default learner has, it is first judged by what is met
            here, and may come from a world of another size with the same variables. States and
            actions are matched by name.
        rewards: "learn" them, or know them beforehand, so that only the dynamics are left to learn:
            "known" (the world's own table), an array [S, A] or [S, A, S], or a function of
            (s, a, s'), by label where there are labels. For every agent that learns a model.
        seconds: of processor time that thinking (inferences, plans) may take in each run; it may
            have taken sqrt(e / episodes) of it after e episodes, and waits where that is spent,
            with a note. Where it never waits the bits are those of a run without a budget.

    Returns:
        A `Run`; with `seeds`, a `Runs`.

    Example:
        >>> import gim
        >>> run = gim.run(gim.QLearning(), "riverswim", episodes=100)
        >>> run.returns.shape
        (100,)
    """
    if callback is not None and not callable(callback):
        raise ValueError(f"callback = {brief(callback)}: give a function of a report")
    if resume is not None:
        if any(given is not None for given in (agent, world, seeds, seconds)):
            raise ValueError("resume= goes on with its own agent, world and seed: give it alone")
        paused = resume if isinstance(resume, Run) else load_saved(resume, "run")
        return _warned(paused.go(callback))
    if agent is None or world is None:
        raise ValueError('gim.run needs an agent and a world: gim.run("q_learning", "riverswim")')
    if isinstance(agent, str) and ":" in agent:
        agent = own(agent, agents)
    agent = agents.make(agent)
    world = world_of(world, horizon, imports=True)
    if not isinstance(agent, Agent):
        raise ValueError(f'{agent!r} is not an agent: give gim.QLearning(), or "q_learning"')
    if seeds is None:
        run = prepare(agent, world, episodes, seed, horizon, prior, rewards, seconds=seconds)
        return _warned(run.go(callback))
    if not isinstance(seeds, Iterable):
        raise ValueError(f"seeds = {brief(seeds)}: give several, such as range(5)")
    given = (horizon, prior, rewards)
    made = (prepare(agent, world, episodes, s, *given, seconds=seconds) for s in seeds)
    runs = Runs(play_all(made, callback))
    for each in runs:
        _warned(each)
    return runs


def prepare(
    agent: Agent,
    world: Built,
    episodes: int,
    seed: int = 0,
    horizon: int | None = None,
    prior: Any = None,
    rewards: Any = "learn",
    *,
    stepwise: bool = False,
    seconds: float | None = None,
) -> Run:
    """Make a run that has not begun: checks, tells the agent what it may know, seeds all.

    With `stepwise` an environment is stepped through even if it shows its table.
    """
    episodes, seed = whole("episodes", episodes, 1), whole("seed", seed, 0, SEED)
    seconds = None if seconds is None else amount("seconds", seconds)
    horizon = None if horizon is None else whole("horizon", horizon, 1, INT)
    if isinstance(world, TabularMDP) and horizon not in (None, world.horizon):
        world = world.with_(horizon=horizon)
    told = world if isinstance(world, TabularMDP) else told_by(world, horizon)
    mdp = told if isinstance(told, TabularMDP) else None
    task = task_of(told) if isinstance(told, TabularMDP) else told
    check_steps(episodes, task.H)
    foreign = not isinstance(world, TabularMDP)
    from_table = foreign and mdp is not None and not stepwise and shows_all(world)
    env = world
    if from_table and mdp is not None:
        world = mdp
    if type(agent).belief is Agent.belief and prior not in (None, [], ()):
        raise ValueError(f"{agent} learns no model, so prior= would change nothing: leave it out")
    if isinstance(prior, (Family, str, Path)) and (family := family_in(prior)) is not None:
        agent, prior = by_family(agent, family, task), None
    if prior is not None:
        said = names_of(env)
        names = said if mdp is None else mdp.names()
        task = replace(task, priors=models_given(prior, agent.judges_priors(), task, said, names))
    known = rewards_given(rewards, agent, env, mdp, task)
    if known is not None:
        task = replace(task, rewards=known, reward_range=known.range)
    check_returns(task.H, *(task.reward_range or (0.0,)))
    with bounded_memory() if episodes + task.H * task.S > LARGE else nullcontext():
        try:
            made = Run(agent, world, mdp, task, episodes, seed, seconds)
        except MemoryError as problem:
            raise ValueError(too_large(problem)) from None
    if not agents.owns(type(agent)):
        with made.mind.timed("compiling"):
            check_functions(agent, made.memory, made.random.agent, made.to_compile)
    if from_table:
        made.mind.note(FROM_TABLE)
        made.named_by = env  # its users know the environment's own numbers
    return made


def unpack_run(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Run:
    """Rebuild a run from what `Run.pack` gave."""
    if "clock" in arrays:
        raise ValueError("the run was saved by gim 0.1.0, whose memories were others: run it again")
    check_meta(meta)
    strange = arrays.keys() - {
        "returns",
        "trail",
        "trail.next",
        "trail.r",
        "starts",
        *(f"clock.{name}" for name in Clock._fields),
    }
    parts = ("memory.", "rewards.", "world.", *(f"prior{k}." for k in range(len(meta["priors"]))))
    if strange := {name for name in strange if not name.startswith(parts)}:
        raise ValueError(f"the run holds {min(strange)!r}, which no run has")
    agent = agents.make(meta["agent"])  # first: this loads plugins, which may bring the world
    if "world" in meta:
        world: Built = TabularMDP.unpack(part(arrays, "world."), meta["world"])
    else:
        name = meta["env"]["id"]
        if name not in gymnasium.registry:  # such as "module:Name-v0", which would import a module
            raise ValueError(f"the run's environment {name!r} is not registered: import it first")
        limit = {"max_episode_steps": meta["horizon"]}
        try:
            world = gymnasium.make(name, **(meta["env"]["kwargs"] | limit))
        except Exception as problem:  # foreign code, which may raise anything
            raise ValueError(f"gymnasium cannot make {name}: {problem}") from None
    prior = [
        LearnedModel.unpack(part(arrays, f"prior{k}."), each)
        for k, each in enumerate(meta["priors"])
    ]
    known = KnownRewards(**part(arrays, "rewards.")) if "rewards.r" in arrays else "learn"
    given = (meta["episodes"], meta["seed"], meta["horizon"], prior, known)
    # As it was when it was saved:
    run = prepare(agent, world, *given, stepwise=True, seconds=meta["budget"])
    return run.unpack(arrays, meta)


KINDS["run"] = unpack_run
KINDS["belief"] = Belief.unpack


def task_of(mdp: TabularMDP) -> Task:
    """What an agent is told of an MDP."""
    return Task(
        mdp.S,
        mdp.A,
        mdp.horizon,
        mdp.available,
        mdp.reward_range,
        mdp.discount,
        truth=mdp,
        variables=mdp.variables,
        action_variables=mdp.action_variables,
    )


def _warned(run: Run) -> Run:
    for text in dict.fromkeys(run.notes):
        if text in REMARKS:
            _say(text)
        else:
            warnings.warn(text, stacklevel=3)
    return run


@cache
def _say(text: str) -> None:
    """Say it once, where the user's logging wants it: on the terminal unless told otherwise."""
    logging.getLogger("gim").warning(text)
