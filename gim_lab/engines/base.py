"""What all engines share: how one is chosen, and how a failed trial is told."""

from __future__ import annotations

import importlib
import inspect
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from gim._base.arguments import whole
from gim._base.registry import did_you_mean
from gim_lab.trials.result import Result
from gim_lab.trials.running import Unfinished
from gim_lab.trials.trial import Trial

Answers = Generator[tuple[int, Result], None, None]
Engine = Callable[[list[Trial]], Answers]
Keeping = Callable[[Trial], Unfinished]  # where a trial is kept while it is played

ENGINES = ("serial", "processes", "ray")


class TrialFailed(ValueError):
    """A trial raised an error, or ended its worker again and again."""


def engine_of(engine: str, workers: int | None = None, **options: Any) -> Engine:
    """An engine by name, ready to be given trials."""
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}{did_you_mean(engine, ENGINES)}")
    workers = None if workers is None else whole("workers", workers, low=1)
    run = importlib.import_module(f"gim_lab.engines.{engine}").run
    known = list(inspect.signature(run).parameters)[2:]
    for key in options:
        if key not in known:
            hint = did_you_mean(key, known) if known else "; it takes none"
            raise ValueError(f"the engine {engine} has no option {key!r}{hint}")
    return partial(run, workers=workers, **options)


def by_task(trials: list[Trial]) -> dict[str, deque[int]]:
    """Indices of the trials by task: those that share a world, which is built once."""
    groups: dict[str, deque[int]] = {}
    for i, trial in enumerate(trials):
        groups.setdefault(trial.task, deque()).append(i)
    return groups
