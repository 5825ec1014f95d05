"""Every figure as PNG and PDF, in a style fit for a paper; drawings as SVG."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from gim import plot
from gim._base.terminal import count
from gim_lab.experiments.artefact import Artefact, Figure, Panel
from gim_lab.report.style import Look, looks, names_in, names_of

EMPTY = "no run finished exploring"
DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.4))}
FORMATS = ("png", "pdf")
MANY = 10_000  # from here on axes say 10k
FINE, DECADES = (1, 2, 3, 5, 10, 20, 30, 50, 100), tuple(10**k for k in range(7))  # logarithmic
WIDTH = 7.0  # inches: the text of a page
LETTERS, LINE = 130, 0.13  # of a line of the note below, and its height in inches
ACROSS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 5, 6: 2}  # panels in a row, by their number


def save_figures(artefacts: list[Artefact], folder: Path) -> list[Path]:
    """Write all figures of all artefacts; the files made."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    given = looks(names_of(artefacts))
    for artefact in artefacts:
        for picture in artefact.pictures:
            for i, each in enumerate(picture.drawings, start=1):
                made.append(folder / f"{picture.name}-{i}.svg")
                made[-1].write_text(each.svg, "utf-8")
        for figure in artefact.figures:
            drawn = plot.looks(_drawn, plot.PAPER)(figure, given)
            for ending in FORMATS:
                path = folder / f"{figure.name}.{ending}"
                # No date, so that equal results give equal files.
                metadata = {"CreationDate": None} if ending == "pdf" else None
                drawn.savefig(path, metadata=metadata, dpi=200)
                drawn.set_layout_engine("none")  # the layout found for the first file serves both
                made.append(path)
    return made


@plot.looks
def draw(figure: Figure, given: dict[str, Look] | None = None) -> Any:
    """A matplotlib figure of all panels, with one legend; names have the looks given."""
    return _drawn(figure, given)


def _drawn(figure: Figure, given: dict[str, Look] | None = None) -> Any:
    across = ACROSS.get(len(figure.panels), 3)
    rows = -(-len(figure.panels) // across)
    height = rows * (1.8 if across > 3 else 2.1) + 0.7
    note = textwrap.fill(figure.note, LETTERS)
    height += LINE * (note.count("\n") + 1) if note else 0.0
    made, axes = plot.figure(WIDTH, height, rows, across)
    names = names_in(figure)
    given = given or looks(names)
    for axis, panel in zip(axes.flat, figure.panels, strict=False):
        _draw_lines(axis, panel, given, small=across > 3)
    for axis in axes.flat[len(figure.panels) :]:
        axis.set_visible(False)
    for i, axis in enumerate(axes.flat):
        if i % across and _same_label(figure.panels, i):
            axis.set_ylabel("")
    for name in names:
        style = {"color": given[name].light, "linestyle": DASHES[given[name].dash]}
        made.axes[0].plot([], [], label=name, lw=1.6, **style)
    handles, labels = made.axes[0].get_legend_handles_labels()
    below = made.legend(
        handles,
        labels,
        title=note,
        title_fontsize=6.5,
        loc="outside lower center",
        ncols=min(len(names), 7),
        frameon=False,
        fontsize=8,
        handlelength=1.8,
        columnspacing=1.2,
    )
    below.get_title().set(color="#555555", ha="center", multialignment="center")
    made.suptitle(figure.title, fontsize=10, fontweight="bold")
    return made


def _draw_lines(axis: Any, panel: Panel, given: dict[str, Look], small: bool) -> None:
    for series in panel.series:
        look = given[series.name]
        x, y = _floats(series.x), _floats(series.y)
        style: dict[str, Any] = {"color": look.light, "linestyle": DASHES[look.dash], "lw": 1.3}
        axis.plot(x, y, drawstyle="steps-mid" if series.kind == "step" else "default", **style)
        if series.marks:
            hollow = np.array(series.hollow or [False] * len(x), bool)
            dot = {"color": look.light, "linestyle": "none", "marker": "o", "ms": 3.2}
            axis.plot(x[~hollow], y[~hollow], **dot)
            axis.plot(x[hollow], y[hollow], **dot, mfc="white")
        if series.low is not None and series.high is not None:
            band = {"color": look.light, "alpha": 0.18, "lw": 0}
            axis.fill_between(x, _floats(series.low), _floats(series.high), **band)
    if empty(panel):
        middle = {"ha": "center", "va": "center", "color": "#666666", "fontsize": 8}
        axis.text(0.5, 0.5, EMPTY, transform=axis.transAxes, **middle)
        axis.set_xticks([])
        axis.set_yticks([])
    else:
        _x_axis(axis, panel)
    axis.set_title(panel.title, fontsize=8 if small else 9)
    axis.set_xlabel(panel.x, fontsize=8)
    axis.set_ylabel(panel.y, fontsize=8)
    axis.tick_params(labelsize=6 if small else 7)
    axis.grid(True, color="#E5E5E5", lw=0.5)
    axis.set_axisbelow(True)
    for each, values in ((axis.xaxis, "x"), (axis.yaxis, "y")):
        if not panel.log_x and _largest(panel, values) >= MANY:
            each.set_major_formatter(lambda value, _: count(value))


def _x_axis(axis: Any, panel: Panel) -> None:
    """All panels of a sweep show all of its values, also those at which nothing was measured."""
    x = [v for series in panel.series for v in series.x if v is not None]
    low, high = min(x), max(x)
    if panel.log_x:
        axis.set_xscale("log")
        axis.set_xlim(low / 1.15, high * 1.15)
        shown = FINE if high < 200 else DECADES
        ticks = [t for t in shown if low / 1.15 <= t <= high * 1.15]
        axis.set_xticks(ticks, [count(t) if t >= MANY else f"{t:,}" for t in ticks])
        axis.minorticks_off()
    elif high > low and any(series.marks for series in panel.series):
        axis.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))


def _floats(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)


def empty(panel: Panel) -> bool:
    """Whether there is nothing to draw."""
    return all(y is None for series in panel.series for y in series.y)


def _largest(panel: Panel, values: str) -> float:
    found = (value for series in panel.series for value in getattr(series, values))
    return max((abs(value) for value in found if value is not None), default=0.0)


def _same_label(panels: list[Panel], i: int) -> bool:
    return i < len(panels) and panels[i].y == panels[i - 1].y
