"""A study, declared in a TOML file: tasks x agents x parameter grids x seeds.

    title = "How m matters"                    # for people: may be left out, as may a description
    episodes = 2000
    runs = 10                                  # from seed 0 on; or seeds = [3, 5, 8]
    tasks = ["riverswim", "my.npz", "FrozenLake-v1"]
    agents = ["psrl", "rmax:m=20"]

    [[tasks]]                                  # or as a table; a list of values is a grid
    name = "synthetic"
    rank = [2, 4, 8]
    episodes = 10_000

    [[agents]]
    name = "gim"
    m = [10, 20, 40]
    rho = [0.5, 0.8]

Agents, tasks and environments of one's own are named with the module or file that has them, as in
``my_agents.py:LeastTried``, or after ``imports = ["my_agents.py"]``: a study is a program to be
run, so it may import.

`tasks` and `agents` are either lists (of specs and of inline tables) or tables; TOML does not take
both ways for one key. Run k of a random task plays its instance k, unless `seed` is given.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gim._base.arguments import whole
from gim._base.files import check_source
from gim._base.limits import check_steps, check_trials
from gim._base.own import import_own, own
from gim._base.registry import did_you_mean, parse, write
from gim.envs.worlds import own_world
from gim.mdp.tabular import TabularMDP
from gim.runs.agent import agents
from gim_lab.trials.running import build
from gim_lab.trials.spec import agent_spec, instance, is_file
from gim_lab.trials.trial import Trial

KEYS = (
    *("title", "description", "imports", "tasks", "agents", "episodes"),
    *("runs", "seed", "seeds", "epsilon", "rewards"),
)


class StudyTask(NamedTuple):
    """A task of a study, and how long it is played."""

    task: str
    episodes: int


@dataclass(frozen=True)
class Study:
    """A declared study, checked: every agent and every task has been built once.

    Example:
        >>> study = Study.of({"tasks": ["riverswim"], "episodes": 10, "runs": 2,
        ...                   "agents": [{"name": "gim", "m": [5, 10]}, "random"]})
        >>> study.agents, len(study.trials())
        (('gim:m=5', 'gim:m=10', 'random'), 6)
    """

    tasks: tuple[StudyTask, ...]
    agents: tuple[str, ...]
    seeds: tuple[int, ...]
    epsilon: float | None = None
    description: str = ""
    title: str = ""
    rewards: str = "learn"

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a study file; what is wrong with it is said in one line that names it."""
        path = check_source(path, "a study file (.toml)")
        try:
            given = tomllib.loads(path.read_bytes().decode())
            return cls.of(given)
        except RecursionError:
            raise ValueError(f"{path} is nested too deep: no study needs more than 3") from None
        except tomllib.TOMLDecodeError as problem:
            raise ValueError(f"{path} is not valid TOML: {problem}") from None
        except (ValueError, FileNotFoundError) as problem:
            raise ValueError(f"{path}: {problem}") from None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Study:
        """A study from what a TOML file holds."""
        for key in given:
            if key not in KEYS:
                raise ValueError(f"unknown key {key!r}{did_you_mean(key, KEYS)}")
        for what in _texts(given.get("imports", []), "imports"):
            import_own(what)
        for key in ("tasks", "agents"):
            if not isinstance(given.get(key), list) or not given[key]:
                raise ValueError(f'{key} is missing or no list: write {key} = ["...", "..."]')
        episodes = _whole(given, "episodes", 5000, 1)
        seeds = _seeds(given)
        agents = tuple(
            agent_spec(spec) for entry in given["agents"] for spec in _specs(entry, own_agent)
        )
        tasks = tuple(task for entry in given["tasks"] for task in _tasks(entry, episodes))
        study = cls(
            tuple(dict.fromkeys(tasks)),
            tuple(dict.fromkeys(agents)),
            seeds,
            given.get("epsilon"),
            description=_text(given.get("description", ""), "description"),
            title=_text(given.get("title", ""), "title"),
            rewards=_text(given.get("rewards", "learn"), "rewards"),
        )
        check_trials(len(study.tasks) * len(study.agents) * len(study.seeds))
        study.trials()
        for each in study.tasks:
            world = build(instance(each.task, seeds[0]))
            if isinstance(world, TabularMDP):
                check_steps(each.episodes, world.horizon)
        return study

    def trials(self) -> list[Trial]:
        """All trials: task by task, agent by agent, seed by seed."""
        return [
            Trial(instance(each.task, seed), agent, each.episodes, seed, self.epsilon, self.rewards)
            for each in self.tasks
            for agent in self.agents
            for seed in self.seeds
        ]


def _tasks(entry: Any, episodes: int) -> Iterator[StudyTask]:
    if isinstance(entry, Mapping):
        episodes = _whole(entry, "episodes", episodes, 1)
        entry = {key: value for key, value in entry.items() if key != "episodes"}
    for spec in _specs(entry, own_world):
        yield StudyTask(spec if is_file(spec) else write(*parse(spec), nested=False), episodes)


def _specs(entry: Any, own: Callable[[str], str]) -> Iterator[str]:
    """A spec, or every spec of a table in which lists are grids."""
    if isinstance(entry, str):
        yield own(entry)
        return
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise ValueError(
            f'cannot read {entry!r}: give a name or spec such as "riverswim:length=10", or a table '
            'with name = "..."'
        )
    name, fixed = parse(own(entry["name"]))
    grid = {key: value for key, value in entry.items() if key != "name"}
    choices = [value if isinstance(value, list) else [value] for value in grid.values()]
    for key, values in zip(grid, choices, strict=True):
        if key in fixed:
            raise ValueError(f"{key!r} stands twice for {name}")
        if not values:
            raise ValueError(f"{name}: {key} is an empty list: give at least one value")
        for value in values:
            if isinstance(value, Mapping):
                raise ValueError(
                    f'{name}: {key} is a table: write it as a spec, such as "als(rank=3)"'
                )
    check_trials(math.prod(map(len, choices)))
    for chosen in itertools.product(*choices):
        yield write(name, fixed | dict(zip(grid, chosen, strict=True)), nested=False)


def _seeds(given: Mapping[str, Any]) -> tuple[int, ...]:
    if "seeds" not in given:
        first, runs = _whole(given, "seed", 0, 0), _whole(given, "runs", 10, 1)
        check_trials(runs)
        return tuple(range(first, first + runs))
    for key in ("runs", "seed"):
        if key in given:
            raise ValueError(f"seeds lists them all: leave {key} out")
    seeds = given["seeds"]
    if not isinstance(seeds, list) or not seeds or len(set(map(str, seeds))) < len(seeds):
        raise ValueError(f"seeds = {seeds!r}: give a list of different whole numbers")
    return tuple(_whole({"seeds": seed}, "seeds", 0, 0) for seed in seeds)


def _whole(given: Mapping[str, Any], key: str, default: int, low: int) -> int:
    return whole(key, given.get(key, default), low)


def _texts(value: Any, key: str) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"{key} = {value!r}: give a list of texts")
    return [_text(each, key) for each in value]


def own_agent(spec: str) -> str:
    """The spec of an agent, once the module in front of it is imported."""
    return own(spec, agents)


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} = {value!r}: give a text")
    return value
