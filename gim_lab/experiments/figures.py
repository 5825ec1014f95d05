"""The figures that artefacts have: learning curves, and sweeps over a parameter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gim_lab.experiments.artefact import Figure, Panel, Series
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
from gim_lab.experiments.statistics import Estimate, curve_band, interval_of
from gim_lab.experiments.tables import Point, most_in, runs_in, runs_of, shares, sweep_point

POINTS = 120  # of a drawn curve; the stored one has up to 1,000
LOG_POINTS = 60  # of one that is evenly spaced on a logarithmic axis
START = 5  # episodes at the beginning of that: fewer are noise, and would stretch the axis
LABELS = {  # of the axes, by measure
    "score": "AvgReward / optimum",
    "total_eps": "TotalEps (episodes)",
    "post_score": "PostAvgReward / optimum",
}
HOLLOW = (
    " Hollow marks: not all runs finished exploring. In TotalEps those count with all of their"
    " episodes, a lower bound; in PostAvgReward the mark is the mean of the others."
)


def curves_figure(
    results: ResultsByCell, cells: Sequence[Cell], setting: str, name: str, title: str
) -> Figure:
    """Mean cumulative reward by episode, a panel per task and a line per agent."""
    note = "Runs on drawn instances are scaled to the mean optimum of the instances."
    return _by_episode(results, cells, setting, name, title, "cumulative reward", note)


def regret_figure(
    results: ResultsByCell, cells: Sequence[Cell], setting: str, name: str, title: str
) -> Figure:
    """What was lost so far against the optimum: tells apart whose rewards lie on each other."""
    note = "Episodes times the exact optimum, less what was earned."
    return _by_episode(results, cells, setting, name, title, "regret", note)


def _by_episode(
    results: ResultsByCell,
    cells: Sequence[Cell],
    setting: str,
    name: str,
    title: str,
    what: str,
    note: str,
) -> Figure:
    found = pick(cells, setting)
    panels = [
        Panel(panel, "episode", what, [_curve(results, c, what == "regret") for c in inside])
        for panel, inside in by_panel(found)
    ]
    several = f"{title}: {setting_title(setting)}" if setting else title
    return Figure(name, several, panels, f"{runs_of(found)}. {note}")


def _curve(results: ResultsByCell, cell: Cell, regret: bool) -> Series:
    """A random task pays more in one instance than in another: each is scaled to their mean."""
    episode, runs = results.curves(cell, "cumulative")
    best = results.values(cell, "optimal_return")
    if regret:
        runs = episode * best[:, None] - runs
    if best.min() > 0:
        runs = runs * (best.mean() / best)[:, None]
    keep = np.unique(np.linspace(0, episode.size - 1, POINTS).round().astype(int))
    from_zero = np.pad(runs[:, keep], ((0, 0), (1, 0)))
    return band_line(cell.agent, [0.0, *episode[keep]], from_zero)


def shares_figure(
    results: ResultsByCell,
    lines: Mapping[str, Mapping[str, Cell]],
    name: str,
    title: str,
    what: str,
    from_random: bool = False,
) -> Figure:
    """Share of the optimum over all episodes so far, a panel per task and a line per learner.

    Args:
        results: what was run.
        lines: the cells of each panel, by what the legend calls them.
        name, title: of the figure.
        what: label of the axis.
        from_random: see `gim_lab.experiments.tables.shares`.
    """
    panels = []
    for panel, inside in lines.items():
        drawn = []
        for each, cell in inside.items():
            first = max(float(results.curves(cell, "cumulative")[0][0]), START)
            n = episodes_of(cell)
            at = np.unique(np.geomspace(min(first, n), n, LOG_POINTS).round())
            drawn.append(band_line(each, at, shares(results, cell, at.tolist(), from_random)))
        panels.append(Panel(panel, "episodes", what, drawn, log_x=True))
    cells = [cell for inside in lines.values() for cell in inside.values()]
    note = f"Mean over all episodes so far, {runs_in(cells)}, {interval_of(most_in(cells))}."
    return Figure(name, title, panels, note)


def sweep_figure(
    results: ResultsByCell,
    cells: Sequence[Cell],
    setting: str,
    name: str,
    title: str,
    x: str,
    measures: Sequence[str] = tuple(LABELS),
    log_x: bool = False,
    where: dict[float, float] | None = None,
) -> Figure:
    """Measures against a parameter, a panel per measure (and per task) and a line per agent.

    Args:
        results: what was run.
        cells: with the parameter as `x`.
        setting: which of them.
        name, title: of the figure.
        x: label of the axis.
        measures: columns, of `LABELS`.
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
                points = [sweep_point(results, cell, measure) for cell in mine]
                at = [(where or {}).get(cell.x, cell.x) for cell in mine]
                hollow |= any(point.open for point in points)
                lines.append(_line(agent, at, points))
            label = LABELS[measure].split(" ")[0]
            several = (label, panel) if len(places) > 1 else (label,)
            heading = ", ".join(several) if len(measures) > 1 else several[-1]
            panels.append(Panel(heading, x, LABELS[measure], lines, log_x))
    note = f"{runs_of(found)}.{HOLLOW if hollow else ''}"
    return Figure(name, f"{title}: {setting_title(setting)}", panels, note)


def _line(agent: str, at: Sequence[float], points: Sequence[Point]) -> Series:
    order = np.argsort(at, kind="stable")
    found = [points[i] for i in order]
    line = line_through(agent, [at[i] for i in order], [point.estimate for point in found])
    return replace(
        line, text=[point.hover for point in found], hollow=[point.open for point in found]
    )


def line_through(
    name: str, x: Sequence[float], found: Sequence[Estimate], marks: bool = True
) -> Series:
    """A line through means, with their intervals; NaN leaves a gap."""
    several = any(math.isfinite(each.low) for each in found)
    return Series(
        name,
        [float(value) for value in x],
        [number(each.mean) for each in found],
        [number(each.low) for each in found] if several else None,
        [number(each.high) for each in found] if several else None,
        marks=marks,
    )


def band_line(name: str, x: Iterable[float], runs: Floats) -> Series:
    """The mean of curves [runs, points] at these x, with its band where there are runs enough."""
    mean, *ends = curve_band(runs)
    low, high = (None if each is None else [number(v) for v in each] for each in ends)
    return Series(name, [number(v) for v in x], [number(v) for v in mean], low, high)


def number(value: float) -> float | None:
    """JSON has no NaN."""
    return float(value) if math.isfinite(value) else None
