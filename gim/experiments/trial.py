"""The unit of work: one agent in one world from one seed, and what came of it.

A trial is data. Its `digest` names everything that fixes the bits of its result, so results can be
stored, found again and made on any machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gim
from gim.agent import agents
from gim.experiments import measures
from gim.experiments.sample_complexity import Watched
from gim.experiments.spec import (
    agent_in_full,
    agent_spec,
    content,
    task_in_full,
    task_spec,
    world_spec,
)
from gim.mdp import TabularMDP
from gim.run import prepare
from gim.runs import Callback, Run
from gim.worlds import world_of

FORMAT = 2  # of a result: part of the digest, so that older results are not taken for new ones

IDENTITY = ("task", "agent", "episodes", "seed", "epsilon")
MACHINE = (*measures.TIMES, "peak_memory_mb", "host")  # what may differ between equal results


@dataclass(frozen=True)
class Trial:
    """One agent in one world from one seed.

    Specs are brought to normal form (`gim:m=40` is `gim`), and an agent's spec is checked at once.

    Args:
        task: the spec of a world, such as ``synthetic:rank=2,seed=3``; see `gim.worlds`.
        agent: the spec of an agent, such as ``rmax:m=20``.
        episodes: how many to play.
        seed: fixes every bit of the run (the seed of a random task is part of its spec).
        epsilon: with a share of |V*|, sample complexity is measured as well; that costs time.

    Example:
        >>> Trial("riverswim:length=6", "gim:m=40,rho=0.5", episodes=100, seed=3).id
        'riverswim/gim-rho=0.5/100/3'
    """

    task: str
    agent: str
    episodes: int
    seed: int
    epsilon: float | None = None

    def __post_init__(self) -> None:
        for name, low in (("episodes", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
                raise ValueError(f"{name} = {value!r}: give a whole number, {low} or more")
            object.__setattr__(self, name, int(value))
        if self.epsilon is not None:
            if not isinstance(self.epsilon, int | float) or not 0 < self.epsilon < 1:
                raise ValueError(f"epsilon = {self.epsilon!r}: give a share of V* between 0 and 1")
            object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "task", task_spec(self.task))
        object.__setattr__(self, "agent", agent_spec(self.agent))

    @property
    def id(self) -> str:
        """Readable and unique: task, agent, episodes and seed, and what else is measured."""
        parts = [self.task, self.agent, self.episodes, self.seed]
        if self.epsilon is not None:
            parts.append(f"epsilon={self.epsilon:g}")
        return "/".join(str(part).replace("/", "-").replace(":", "-") for part in parts)

    @property
    def digest(self) -> str:
        """32 hex digits of all that fixes the bits.

        Agent and task count with all their parameters, so that another default is another trial, a
        saved MDP counts by its content, and each version of gim has its own.
        """
        facts = asdict(self) | {"format": FORMAT, "version": gim.__version__}
        facts |= {"agent": agent_in_full(self.agent), "task": task_in_full(self.task)}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Result:
    """What came of a trial.

    `columns` holds exact numbers by name: the trial's own, those of `gim.experiments.measures`, and
    those of the machine (`MACHINE`). `curves` holds arrays of at most 1,000 points: `episode`,
    `cumulative`, `return`, and `value` where sample complexity was measured.
    """

    columns: dict[str, Any]
    curves: dict[str, NDArray]

    def of(self, trial: Trial) -> Result:
        """The same under the specs of this trial, whose digest must be equal."""
        return Result(self.columns | identity(trial), self.curves)

    def bits(self) -> dict[str, Any]:
        """All but the columns of time, memory and host, floats and curves as their exact text."""
        kept = {k: repr(v) for k, v in self.columns.items() if k not in MACHINE}
        return kept | {f"curve {k}": v.tobytes() for k, v in self.curves.items()}

    def pack(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Arrays and JSON that `unpack` turns into the same result."""
        return dict(self.curves), dict(self.columns)

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray], meta: Mapping[str, Any]) -> Result:
        """The inverse of `pack`."""
        return cls(dict(meta), dict(arrays))


def run_trial(trial: Trial, callback: Callback | None = None) -> Result:
    """Run one trial here and now, and measure it.

    The callback is that of `gim.run`. All engines come down to this function.

    Example:
        >>> run_trial(Trial("riverswim", "optimal", episodes=50, seed=0)).columns["H"]
        20
    """
    with measures.peak_memory() as peak:
        run = _prepared(trial)
        run.go(callback)
        columns = identity(trial) | measures.measures(run)
        curves = measures.curves(run.returns)
        columns |= {"sample_complexity": math.nan, "sample_complexity_exact": False}
        if isinstance(run, Watched):
            columns |= run.complexity()
            curves["value"] = run.values(curves["episode"])
    columns |= measures.times(run)
    columns |= {"peak_memory_mb": peak[0], "host": platform.node()}
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in columns.items()}
    return Result(plain, curves)


def build(task: str) -> Any:
    """The world of a trial; a few tables are kept, since trials that share one come together."""
    table = _table(task, content(task))
    return world_of(task) if table is None else table  # a foreign environment: fresh for each run


def _prepared(trial: Trial) -> Run:
    agent, world = agents.make(trial.agent), build(trial.task)
    run = prepare(agent, world, trial.episodes, trial.seed)
    return run if trial.epsilon is None else Watched.of(run, trial.epsilon)


@lru_cache(maxsize=4)
def _table(task: str, content: str) -> TabularMDP | None:
    world = world_of(task)
    if isinstance(world, TabularMDP):
        return world
    world.close()
    return None


def identity(trial: Trial) -> dict[str, Any]:
    """The columns that name a trial."""
    epsilon = math.nan if trial.epsilon is None else trial.epsilon
    own = {name: getattr(trial, name) for name in IDENTITY} | {"epsilon": epsilon}
    return own | {"world": world_spec(trial.task), "id": trial.id}
