"""A long run in slices: memory and speed must stay flat."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import NamedTuple

from gim.envs import tasks
from gim.runs.agent import agents
from gim.runs.run import prepare

AGENTS = ("q_learning", "ucbvi", "gim:m=20", "analogist")


class Slice(NamedTuple):
    """What one slice of a run took."""

    agent: str
    steps: int  # in all
    rate: float  # steps a second of processor time
    memory: int  # the most that was ever resident, in KiB


def soak(spec: str, slices: int, steps: int) -> Iterator[Slice]:
    """So many slices of so many steps of one agent."""
    world = tasks.make("gridworld")
    run = prepare(agents.make(spec), world, slices * steps // world.horizon + 1, 0)
    run.pause_at(steps // 10)  # compiles
    for _ in range(slices):
        before, began = run.steps, time.process_time()
        run.pause_at(before + steps)
        if run.steps == before:
            return
        rate = (run.steps - before) / max(time.process_time() - began, 1e-9)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        yield Slice(spec, run.steps, rate, most)


def grown(slices: list[Slice], kib: int = 8192) -> bool:
    """Whether memory has grown after the first slice by more than noise."""
    return slices[-1].memory > slices[0].memory + kib
