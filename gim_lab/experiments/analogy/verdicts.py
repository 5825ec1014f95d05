"""Whether bounds are kept: against the plain twin at every mark, and the best plain learner.

The best plain learner is UCBVI with the best of five bonuses, chosen for each task on seeds of
their own (`gim_lab.experiments.analogy.best_plain`). A bound on a mean paired difference is kept if
mean plus two standard errors reach it. Where the standard error is above .01 more is asked: that
mean less two of them reaches it, which is clear; else it is left open, and more runs are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gim_lab.experiments.analogy import settings
from gim_lab.experiments.analogy.gains import MARKS
from gim_lab.experiments.analogy.settings import ANALOGIST, PLAIN, Place
from gim_lab.experiments.artefact import Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, episodes_of, pick
from gim_lab.experiments.tables import NOTHING, shares

NO_HARM = -0.01  # to the plain twin, at every mark
SURE = 0.01  # the largest standard error with which a bound is judged
KEPT, CLEAR, MISSED, OPEN = "kept", "clear", "missed", "open"


class Line(NamedTuple):
    """A mean over runs beside its bound."""

    mean: float
    error: float  # standard error
    bound: float
    runs: int

    @property
    def verdict(self) -> str:
        """Kept, with room to spare or not; missed; or open: too few runs to tell."""
        if not self.runs:
            return NOTHING
        if not self.error <= SURE:
            return CLEAR if self.mean - 2 * self.error >= self.bound else OPEN
        return KEPT if self.mean + 2 * self.error >= self.bound else MISSED

    def __str__(self) -> str:
        if not self.runs:
            return NOTHING
        error = "" if math.isnan(self.error) else f" ({self.error:.3f})"
        return f"{self.mean:+.3f}{error} {self.verdict}"


def line_of(values: Floats, bound: float) -> Line:
    """Mean and standard error of one value a run; runs that are missing are left out."""
    found = values[np.isfinite(values)]
    if not found.size:
        return Line(math.nan, math.nan, bound, 0)
    error = found.std(ddof=1) / math.sqrt(found.size) if found.size > 1 else math.nan
    return Line(float(found.mean()), float(error), bound, found.size)


def judged(results: ResultsByCell, places: Sequence[Place]) -> list[Table]:
    """The tables of bounds of some places."""
    found = settings.cells(places, results.scale, settings.RIVALS)
    best = settings.best_plain(places, results.scale)
    of_shares = share_bounds(results, found, places)
    return [verdict_table(results, found, best, places), *([of_shares] if of_shares else [])]


def marks_of(cell: Cell) -> list[int]:
    """The episodes at which it is compared: all marks that it reaches, and its end."""
    return [*(n for n in MARKS if n < episodes_of(cell)), episodes_of(cell)]


def verdict_table(
    results: ResultsByCell, cells: Sequence[Cell], plain: Sequence[Cell], places: Sequence[Place]
) -> Table:
    """A row per task: differences to the plain twin at every mark, and to the best plain."""
    rows, told = [], []
    for place, mine in _of_analogist(cells, places):
        marks = marks_of(mine)
        twin = pick(cells, panel=place.title, agent=PLAIN)[0]
        gaps = shares(results, mine, marks) - shares(results, twin, marks)
        lines = [line_of(gap, NO_HARM) for gap in gaps.T]
        early = [str(line) for line in lines[:-1]]
        early += [NOTHING] * (len(MARKS) - len(early))
        best = pick(plain, panel=place.title)
        if not best:
            rows.append([place.title, f"{marks[-1]:,}", *early, str(lines[-1]), *3 * [NOTHING]])
        else:
            gap = (shares(results, mine, marks[-1:]) - shares(results, best[0], marks[-1:]))[:, 0]
            lines.append(line_of(gap, place.bound))
            against = [best[0].agent, str(lines[-1]), f"{place.bound:+g}"]
            rows.append([place.title, f"{marks[-1]:,}", *early, str(lines[-2]), *against])
        told += [line.verdict for line in lines]
    heads = ["task", "episodes", *(f"twin, first {n:,}" for n in MARKS), "twin, all"]
    return Table(
        "Bounds on the paired difference",
        [*heads, "best plain", "best plain, all", "bound"],
        rows,
        f"Analogist less rival in the share of the optimum, mean (standard error). To the twin at "
        f"least {NO_HARM:g} at every mark; to the best plain learner over all episodes the bound "
        f"of the row. {KEPT.capitalize()} if mean plus two standard errors reach the bound; where "
        f"the standard error is above {SURE:g}, {CLEAR} if mean less two of them does, else "
        f"{OPEN}. {counted(told)}.",
    )


def share_bounds(
    results: ResultsByCell, cells: Sequence[Cell], places: Sequence[Place]
) -> Table | None:
    """Shares of the optimum that are asked for; None where none is."""
    rows, told = [], []
    for place, mine in _of_analogist(cells, places):
        if place.share is not None:
            line = line_of(shares(results, mine, [episodes_of(mine)])[:, 0], place.share)
            rows.append([place.title, f"{episodes_of(mine):,}", str(line), f"{place.share:g}"])
            told.append(line.verdict)
    note = f"Share of the optimum over all episodes, mean (standard error). {counted(told)}."
    heads = ["task", "episodes", ANALOGIST, "bound"]
    return Table("Bounds on the share of the optimum", heads, rows, note) if rows else None


def counted(told: Sequence[str]) -> str:
    """How many lines are kept, clear, missed and open."""
    lines = [each for each in told if each != NOTHING]
    parts = [f"{lines.count(each)} {each}" for each in (CLEAR, MISSED, OPEN)]
    return f"{lines.count(KEPT)} of {len(lines)} lines kept, {', '.join(parts)}"


def _of_analogist(cells: Sequence[Cell], places: Sequence[Place]) -> list[tuple[Place, Cell]]:
    """The Analogist's cell in every place that is played at this scale."""
    found = ((place, pick(cells, panel=place.title, agent=ANALOGIST)) for place in places)
    return [(place, mine[0]) for place, mine in found if mine]
