"""Run one trial, here and now: all engines come down to `run_trial`.

What this file imports of the laboratory is part of the code that makes the numbers of a trial: see
`gim_lab.trials.code`.
"""

from __future__ import annotations

import math
import platform
import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gim.envs.worlds import world_of
from gim.mdp.tabular import TabularMDP
from gim.runs.checkpoints import Checkpoints
from gim.runs.reports import Callback, Report
from gim.runs.run import prepare
from gim.runs.runs import Interrupted, Run
from gim_lab.trials import certified, measures
from gim_lab.trials.probes import Probed, has_probes
from gim_lab.trials.result import Result, trial_columns
from gim_lab.trials.sample_complexity import Watched
from gim_lab.trials.spec import content
from gim_lab.trials.subject import Measured, Subject, subject_of

if TYPE_CHECKING:
    from gim_lab.trials.trial import Trial


NOT_ASKED = {  # unless a trial asks for it
    "sample_complexity": math.nan,
    "sample_complexity_exact": False,
    "probe_steps": math.nan,
}


class Unfinished(NamedTuple):
    """Where a trial that takes long is kept while it is played, and how often."""

    path: str
    minutes: float


def run_trial(
    trial: Trial, callback: Callback | None = None, unfinished: Unfinished | None = None
) -> Result:
    """Run one trial here and now, and measure it.

    The callback is that of `gim.run`. What is `unfinished` is gone on with, to the same bits.

    Example:
        >>> from gim_lab import Trial
        >>> run_trial(Trial("riverswim", "optimal", episodes=50, seed=0)).columns["H"]
        20
    """
    subject = subject_of(trial.agent)
    with measures.peak_memory() as peak:
        if isinstance(subject, Subject):
            found, curves, seconds = subject.measured(trial)
        else:
            found, curves, seconds = _played(subject, trial, callback, unfinished)
    columns = trial_columns(trial) | NOT_ASKED | found | measures.times(seconds)
    columns |= {"peak_memory_mb": peak[0], "host": platform.node()}
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in columns.items()}
    return Result(plain, curves)


def _played(
    agent: Any, trial: Trial, callback: Callback | None, unfinished: Unfinished | None
) -> Measured:
    run = _prepared(agent, trial)
    if unfinished is None or type(run) is not Run:  # those that watch keep more than a file holds
        run.go(callback)
    else:
        _go_on(run, callback, unfinished)
    columns = measures.measures(run)
    if run.agent.inference() is not None:
        columns |= certified.columns(run)
    curves = measures.curves(run.returns)
    if isinstance(run, Watched):
        columns |= run.complexity()
        curves["value"] = run.values(curves["episode"])
    if isinstance(run, Probed):
        columns |= {"probe_steps": run.probe_steps()}
    return columns, curves, run.seconds


def _go_on(run: Run, callback: Callback | None, unfinished: Unfinished) -> None:
    """Play from where an earlier process was, and keep checkpoints for a later one."""
    path = Path(unfinished.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        try:
            run.go_on_from(path)
        except ValueError as problem:
            warnings.warn(f"{problem}; the trial begins anew", stacklevel=2)
    kept = Checkpoints(run, path, unfinished.minutes, copies=False)

    def look(report: Report) -> bool | None:
        kept.look()
        return callback(report) if callback else None

    try:
        run.go(look)
    except Interrupted:  # in this very process
        kept.save()
        raise


def build(task: str) -> Any:
    """The world of a trial; a few tables are kept, since trials that share one come together."""
    table = _table(task, content(task))
    return world_of(task) if table is None else table  # a foreign environment: fresh for each run


def _prepared(agent: Any, trial: Trial) -> Run:
    world = build(trial.task)
    run = prepare(agent, world, trial.episodes, trial.seed, rewards=trial.rewards)
    if trial.epsilon is None:
        return run
    return Probed.of(run) if has_probes(run) else Watched.of(run, trial.epsilon)


@lru_cache(maxsize=4)
def _table(task: str, content: str) -> TabularMDP | None:
    world = world_of(task)
    if isinstance(world, TabularMDP):
        return world
    world.close()
    return None
