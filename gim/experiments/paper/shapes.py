"""The few shapes that the paper's artefacts have: learning curves, sweeps, tables of means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gim.experiments.artefact import Figure, Panel, Series, Table
from gim.experiments.paper.base import Evidence, Floats, distinct, pick
from gim.experiments.paper.settings import SETTING_TITLES, Cell
from gim.experiments.statistics import Estimate, curve_band, mean_interval

POINTS = 120  # of a drawn curve; the stored one has up to 1,000
MEASURES = {
    "score": "AvgReward / optimum",
    "total_eps": "TotalEps (episodes)",
    "post_score": "PostAvgReward / optimum",
}
HOLLOW = (
    " A hollow mark: not all runs finished exploring. In TotalEps those count with all of their"
    " episodes, so the mark is a lower bound; in PostAvgReward they have nothing to count, and the"
    " mark is the mean of the others."
)


def curves_figure(
    evidence: Evidence, cells: Sequence[Cell], setting: str, name: str, title: str
) -> Figure:
    """Mean cumulative reward by episode, a panel per task and a line per agent."""
    found = pick(cells, setting)
    panels = [
        Panel(panel, "episode", "cumulative reward", [_curve(evidence, c) for c in inside])
        for panel, inside in by_panel(found)
    ]
    note = f"{_of(found)}. Runs on drawn instances are scaled to the mean optimum of the instances."
    return Figure(name, f"{title}: {SETTING_TITLES[setting]}", panels, note)


def _curve(evidence: Evidence, cell: Cell) -> Series:
    """A random task pays more in one instance than in another: each is scaled to their mean."""
    episode, runs = evidence.curves(cell, "cumulative")
    best = evidence.values(cell, "optimal_return")
    if best.min() > 0:
        runs = runs * (best.mean() / best)[:, None]
    keep = np.unique(np.linspace(0, episode.size - 1, POINTS).round().astype(int))
    band = curve_band(runs[:, keep])
    return Series(
        cell.agent,
        _from_zero(episode[keep]),
        _from_zero(band.mean),
        None if band.low is None else _from_zero(band.low),
        None if band.high is None else _from_zero(band.high),
    )


def sweep_figure(
    evidence: Evidence,
    cells: Sequence[Cell],
    setting: str,
    name: str,
    title: str,
    x: str,
    measures: Sequence[str] = tuple(MEASURES),
    log_x: bool = False,
    where: dict[float, float] | None = None,
) -> Figure:
    """Measures against a parameter, a panel per measure (and per task) and a line per agent.

    Args:
        evidence: the results.
        cells: with the parameter as `x`.
        setting: which of them.
        name, title: of the figure.
        x: label of the axis.
        measures: columns, of `MEASURES`.
        log_x: whether the axis is logarithmic.
        where: the realised value to show in the place of each value asked for.
    """
    found = pick(cells, setting)
    places = by_panel(found)
    panels, hollow = [], False
    for measure in measures:
        for panel, inside in places:
            lines = []
            for agent in distinct(cell.agent for cell in inside):
                mine = pick(inside, agent=agent)
                points = [sweep_point(evidence, cell, measure) for cell in mine]
                at = [(where or {}).get(cell.x, cell.x) for cell in mine]
                hollow |= any(point.open for point in points)
                lines.append(_line(agent, at, points))
            label = MEASURES[measure].split(" ")[0]
            several = (label, panel) if len(places) > 1 else (label,)
            heading = ", ".join(several) if len(measures) > 1 else several[-1]
            panels.append(Panel(heading, x, MEASURES[measure], lines, log_x))
    note = f"{_of(found)}.{HOLLOW if hollow else ''}"
    return Figure(name, f"{title}: {SETTING_TITLES[setting]}", panels, note)


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


def sweep_point(evidence: Evidence, cell: Cell, measure: str) -> Point:
    """The mean of a measure over the runs of a cell; a run not finished is never dropped unsaid."""
    values = evidence.values(cell, measure)
    if measure not in ("total_eps", "post_score"):
        return Point(estimate_of(values), values.size, values.size)
    finished = np.isfinite(values)
    if measure == "total_eps":
        values = np.where(finished, values, [trial.episodes for trial in cell.trials])
    else:
        values = values[finished]
    return Point(estimate_of(values), int(finished.sum()), finished.size)


def _line(agent: str, at: Sequence[float], points: Sequence[Point]) -> Series:
    order = np.argsort(at, kind="stable")
    found = [points[i] for i in order]
    several = any(math.isfinite(point.estimate.low) for point in found)
    return Series(
        name=agent,
        x=[float(at[i]) for i in order],
        y=[number(point.estimate.mean) for point in found],
        low=[number(point.estimate.low) for point in found] if several else None,
        high=[number(point.estimate.high) for point in found] if several else None,
        text=[point.hover for point in found],
        marks=True,
        hollow=[point.open for point in found],
    )


def means_table(
    evidence: Evidence,
    cells: Sequence[Cell],
    setting: str,
    measure: str,
    title: str,
    digits: int = 3,
) -> Table:
    """A row per task, a column per agent: the mean, and half the width of its 95 % interval."""
    found = pick(cells, setting)
    rows = [
        [panel, *(spoken(estimate_of(evidence.values(c, measure)), digits) for c in inside)]
        for panel, inside in by_panel(found)
    ]
    agents = distinct(cell.agent for cell in found)
    return Table(f"{title}: {SETTING_TITLES[setting]}", ["task", *agents], rows, f"{_of(found)}.")


def finished_table(evidence: Evidence, cells: Sequence[Cell], setting: str) -> Table:
    """Episodes until exploration ended; runs that never finished it are counted, not dropped."""
    found = pick(cells, setting)
    rows = [
        [panel, *(_episodes(sweep_point(evidence, cell, "total_eps")) for cell in inside)]
        for panel, inside in by_panel(found)
    ]
    agents = distinct(cell.agent for cell in found)
    note = f"{_of(found)}; a run not finished counts with all of its episodes."
    return Table(f"Episodes to explore: {SETTING_TITLES[setting]}", ["task", *agents], rows, note)


def by_panel(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """The cells of each panel, in order."""
    return [(panel, pick(cells, panel=panel)) for panel in distinct(c.panel for c in cells)]


def estimate_of(values: Floats) -> Estimate:
    """Mean and interval; NaN of nothing."""
    return mean_interval(values) if len(values) else Estimate(math.nan, math.nan, math.nan, 0)


def spoken(estimate: Estimate, digits: int = 3) -> str:
    """Mean ± half of the interval."""
    if math.isnan(estimate.mean):
        return "not finished"
    return f"{estimate.mean:,.{digits}f}{_half(estimate, digits)}"


def number(value: float) -> float | None:
    """JSON has no NaN."""
    return float(value) if math.isfinite(value) else None


def _episodes(point: Point) -> str:
    if not point.finished:
        return "not finished"
    text = spoken(point.estimate, 0)
    return f"> {text} ({point.finished} of {point.runs} finished)" if point.open else text


def _half(estimate: Estimate, digits: int) -> str:
    if math.isnan(estimate.low):
        return ""
    return f" ± {(estimate.high - estimate.low) / 2:,.{digits}f}"


def _from_zero(values: Iterable[float]) -> list[float | None]:
    return [0.0, *map(float, values)]


def _of(cells: Sequence[Cell]) -> str:
    runs = max((len(cell.trials) for cell in cells), default=0)
    return f"Mean of {runs} runs, 95 % bootstrap interval" if runs > 1 else "One run"
