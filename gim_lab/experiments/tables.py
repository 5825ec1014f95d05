"""The tables that artefacts have: means of a measure, and episodes until exploration ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gim_lab.experiments.artefact import Table
from gim_lab.experiments.cells import (
    Cell,
    Floats,
    ResultsByCell,
    by_panel,
    distinct,
    episodes_of,
    pick,
)
from gim_lab.experiments.settings import setting_title
from gim_lab.experiments.statistics import Estimate, interval_of, mean_interval

NOTHING = "-"  # a cell of a table in which there is nothing to say


def means_table(
    results: ResultsByCell,
    cells: Sequence[Cell],
    setting: str,
    measure: str,
    title: str,
    digits: int = 3,
) -> Table:
    """A row per task, a column per agent: the mean, and half the width of its interval."""
    found = pick(cells, setting)
    rows = [
        [panel, *(spoken(estimate_of(results.values(c, measure)), digits) for c in inside)]
        for panel, inside in by_panel(found)
    ]
    agents = distinct(cell.agent for cell in found)
    several = f"{title}: {setting_title(setting)}" if setting else title
    return Table(several, ["task", *agents], rows, f"{runs_of(found)}.")


def finished_table(results: ResultsByCell, cells: Sequence[Cell], setting: str) -> Table:
    """Episodes until exploration ended; runs that never finished it are counted, not dropped."""
    found = pick(cells, setting)
    rows = [
        [panel, *(_episodes(sweep_point(results, cell, "total_eps")) for cell in inside)]
        for panel, inside in by_panel(found)
    ]
    agents = distinct(cell.agent for cell in found)
    note = f"{runs_of(found)}; a run not finished counts with all of its episodes."
    return Table(f"Episodes to explore: {setting_title(setting)}", ["task", *agents], rows, note)


@dataclass(frozen=True)
class Point:
    """A mean with its interval, and how many of the runs have finished exploring."""

    estimate: Estimate
    finished: int
    runs: int

    @property
    def open(self) -> bool:
        """Whether some run did not finish."""
        return self.finished < self.runs

    @property
    def hover(self) -> str:
        """What hovering adds to the numbers."""
        return f"{self.finished} of {self.runs} runs finished exploring" if self.open else ""


def sweep_point(results: ResultsByCell, cell: Cell, measure: str) -> Point:
    """The mean of a measure over the runs of a cell; a run not finished is never dropped unsaid."""
    values = results.values(cell, measure)
    if measure not in ("total_eps", "post_score"):
        return Point(estimate_of(values), values.size, values.size)
    finished = np.isfinite(values)
    values = results.lengths(cell) if measure == "total_eps" else values[finished]
    return Point(estimate_of(values), int(finished.sum()), finished.size)


def shares(
    results: ResultsByCell, cell: Cell, ends: Sequence[float], from_random: bool = False
) -> Floats:
    """Share of the optimum over the first so many episodes, [runs, ends].

    That of `TabularMDP.score`: the mean return over the optimum or, where the optimum is not
    positive or if it is asked for, the share of the way up to it from the random policy.
    """
    episode, rewards = results.curves(cell, "cumulative")
    best, base = (results.values(cell, f"{w}_return")[:, None] for w in ("optimal", "random"))
    base = base if from_random else np.where(best > 0, 0.0, base)
    at, episode = np.asarray(ends, float), np.append(0.0, episode)
    sums = np.stack([np.interp(at, episode, np.append(0.0, run)) for run in rewards])
    return np.asarray((sums / at - base) / (best - base))


def estimate_of(values: Floats) -> Estimate:
    """Mean and interval; NaN of nothing."""
    return mean_interval(values) if len(values) else Estimate(math.nan, math.nan, math.nan, 0)


def spoken(estimate: Estimate, digits: int = 3) -> str:
    """Mean ± half of the interval."""
    if math.isnan(estimate.mean):
        return "not finished"
    return f"{estimate.mean:,.{digits}f}{_half(estimate, digits)}"


def signed(estimate: Estimate) -> str:
    """A difference with its interval, signs shown."""
    if math.isnan(estimate.mean):
        return NOTHING
    if math.isnan(estimate.low):
        return f"{estimate.mean:+.3f}"
    return f"{estimate.mean:+.3f} ({estimate.low:+.3f}..{estimate.high:+.3f})"


def most_in(cells: Sequence[Cell]) -> int:
    """The runs of the cell that has the most."""
    return max((len(cell.trials) for cell in cells), default=0)


def runs_in(cells: Sequence[Cell]) -> str:
    """How many runs means are of."""
    few, many = min((len(cell.trials) for cell in cells), default=0), most_in(cells)
    return f"{few} to {many} runs" if few < many else f"{many} runs" if many > 1 else "one run"


def runs_of(cells: Sequence[Cell]) -> str:
    """How many runs a mean is of and how long they are, for a note."""
    runs = most_in(cells)
    lengths = sorted({episodes_of(cell) for cell in cells})
    episodes = " or ".join(f"{n:,}" for n in lengths) or "0"
    if runs > 1:
        return f"Mean of {runs} runs of {episodes} episodes, {interval_of(runs)}"
    return f"One run of {episodes} episodes"


def _episodes(point: Point) -> str:
    if not point.finished:
        return "not finished"
    text = spoken(point.estimate, 0)
    return f"> {text} ({point.finished} of {point.runs} finished)" if point.open else text


def _half(estimate: Estimate, digits: int) -> str:
    if math.isnan(estimate.low):
        return ""
    return f" ± {(estimate.high - estimate.low) / 2:,.{digits}f}"
