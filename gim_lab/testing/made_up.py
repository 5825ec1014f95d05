"""Results that no one ran, for checks of analyses and claims, whose answers are then known."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.reproduction import trials_of
from gim_lab.experiments.scale import Scale
from gim_lab.trials.measures import CERTIFIED, MEASURES, TIMES, points
from gim_lab.trials.result import Result, trial_columns
from gim_lab.trials.results import Results
from gim_lab.trials.trial import Trial

COLUMNS: dict[str, Any] = (
    dict.fromkeys((*MEASURES, *CERTIFIED), math.nan)
    | dict.fromkeys(TIMES, 0.01)
    | {
        "score": 0.9,
        "optimal_return": 10.0,
        "random_return": 1.0,
        "explored": True,
        "total_eps": 20.0,
        "post_mean_return": 9.5,
        "post_score": 0.95,
        "final_score": 0.97,
        "plans": 1,
        "walk_plans": 0,
        "S": 8,
        "A": 4,
        "H": 10,
        "notes": "",
        "sample_complexity": 50.0,
        "sample_complexity_exact": True,
        "probe_steps": math.nan,
        "peak_memory_mb": 100.0,
        "host": "nowhere",
    }
)
NEVER = {  # of a run that has not finished exploring
    "explored": False,
    "total_eps": math.nan,
    "post_mean_return": math.nan,
    "post_score": math.nan,
    "final_score": math.nan,
}

Columns = Callable[[Trial], dict[str, Any]]


def alike(trial: Trial) -> dict[str, Any]:
    """The same for every trial."""
    return {}


def varied(trial: Trial) -> dict[str, Any]:
    """Something else for every trial, fixed by what it is."""
    share = zlib.crc32(trial.id.encode()) / 2**32
    return dict.fromkeys(CERTIFIED, share) | {
        "score": 0.8 + 0.2 * share,
        "post_score": 0.8 + 0.19 * share,
        "final_score": 0.85 + 0.15 * share,
        "total_eps": 1 + share * trial.episodes,
        "sample_complexity": share * trial.episodes,
        "probe_steps": 25.0 + round(share * trial.episodes) * 25.0,
        "seconds_total": 0.01 + 0.05 * share,
    }


def made_up_result(trial: Trial, **columns: Any) -> Result:
    """A result with these columns; all others are those of `COLUMNS`.

    The mean return, if it is not given, is ten times the score, and every episode pays it.

    Example:
        >>> made_up_result(Trial("riverswim", "random", 50, 3), score=0.5).columns["score"]
        0.5
    """
    found = COLUMNS | columns | trial_columns(trial)
    mean = found["mean_return"] = columns.get("mean_return", 10.0 * found["score"])
    episode = points(trial.episodes)
    curves = {"episode": episode, "cumulative": mean * episode}
    curves |= {"return": np.full(episode.size, mean), "value": np.full(episode.size, mean)}
    return Result(found, curves)


def made_up_results(
    experiments: Iterable[Experiment], scale: Scale, columns: Columns = alike
) -> ResultsByCell:
    """Made-up results of all trials of these experiments; `columns` gives what is special of each.

    Example:
        >>> from gim_lab.experiments.catalogue import chosen
        >>> from gim_lab.experiments.scale import SCALES
        >>> len(made_up_results(chosen(["fig3"]), SCALES["smoke"]).table)
        24
    """
    trials = trials_of(experiments, scale)
    found = Results.of(made_up_result(trial, **columns(trial)) for trial in trials)
    return ResultsByCell(found, scale)
