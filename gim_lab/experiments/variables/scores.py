"""What the study of variables shows: the way from random to optimal, and who is ahead of whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gim_lab.experiments.artefact import Figure, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, by_panel, episodes_of, pick
from gim_lab.experiments.figures import shares_figure
from gim_lab.experiments.plain_learners import BONUSES
from gim_lab.experiments.statistics import INTERVAL, compare
from gim_lab.experiments.tables import NOTHING, estimate_of, runs_in, shares, signed, spoken
from gim_lab.experiments.variables.settings import (
    ANALOGIST,
    BEST,
    CHOOSING,
    LEARNERS,
    TWIN,
)

FIRST = (30, 100, 300, 1_000)  # episodes over which a score is the mean
LAST = 0.1  # share of the episodes that `last` is the mean of
WAY = "share of the way from random to optimal"


def ways(results: ResultsByCell, cell: Cell, ends: Sequence[float]) -> Floats:
    """(return - random) / (optimal - random) over the first so many episodes, [runs, ends]."""
    return shares(results, cell, ends, from_random=True)


def last(results: ResultsByCell, cell: Cell) -> Floats:
    """The same over the last tenth of the episodes, [runs]."""
    n = episodes_of(cell)
    before = max(1, round(n * (1 - LAST))) if n > 1 else 0
    if not before:
        return ways(results, cell, [n])[:, 0]
    early, whole = ways(results, cell, [before, n]).T
    return np.asarray((n * whole - before * early) / (n - before))


def best_plain(results: ResultsByCell, inside: Sequence[Cell]) -> Cell | None:
    """The plain learner that is best on the seeds for choosing; None while there are no runs."""
    means = {}
    for cell in pick(inside, setting=CHOOSING):
        found = ways(results, cell, [episodes_of(cell)])
        if np.isfinite(found).all():
            means[cell.agent] = float(found.mean())
    if not means:
        return None
    return pick(inside, setting="", agent=max(means, key=means.__getitem__))[0]


def shown(results: ResultsByCell, inside: Sequence[Cell]) -> dict[str, Cell]:
    """The cells of a world that are shown, by name: all learners, and of the plain ones two."""
    best = best_plain(results, inside)
    found = {name: pick(inside, setting="", agent=name)[0] for name in LEARNERS}
    plain = {TWIN: pick(inside, setting="", agent=BONUSES[0])[0]}
    if best is not None:
        plain[f"{BEST} ({best.agent})"] = best
    return {ANALOGIST: found.pop(ANALOGIST)} | plain | found


def score_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per world and learner, a column per number of episodes."""
    rows = []
    for panel, inside in by_panel(cells):
        for name, cell in shown(results, inside).items():
            ends = [n for n in FIRST if n <= episodes_of(cell)]
            means = [spoken(estimate_of(x)) for x in ways(results, cell, ends or [1]).T]
            means = means[: len(ends)] + [NOTHING] * (len(FIRST) - len(ends))
            rows.append([panel, name, *means, spoken(estimate_of(last(results, cell)))])
    heads = ["world", "learner", *(f"first {n:,}" for n in FIRST), "last tenth"]
    note = f"Mean {WAY} ± half of the {INTERVAL}, {runs_in(cells)}."
    return Table("Scores over the first episodes", heads, rows, note)


def gain_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per world: the Analogist less all others at 100 episodes (or at the end), paired."""
    rows = []
    for panel, inside in by_panel(cells):
        mine = pick(inside, setting="", agent=ANALOGIST)[0]
        row: dict[str, str] = {}
        for name, cell in shown(results, inside).items():
            if cell is not mine:
                ends = [min(100, episodes_of(mine)), episodes_of(mine)]
                pairs = zip(ways(results, mine, ends).T, ways(results, cell, ends).T, strict=True)
                row[name.split(" (")[0]] = "; ".join(signed(compare(*p).difference) for p in pairs)
        rows.append([panel, *(row.get(name, NOTHING) for name in others())])
    note = (
        f"Mean paired difference with its {INTERVAL} over the first 100 episodes; over all. "
        f"{runs_in(cells)} on the same seeds. The {BEST} learner is the best of UCBVI with a bonus "
        f"scaled by {', '.join(BONUSES)}, chosen on other seeds; its scale is in the other table."
    )
    return Table("Paired gain of the Analogist", ["world", *others()], rows, note)


def others() -> list[str]:
    """Whom the Analogist is compared with."""
    return [TWIN, BEST, *(name for name in LEARNERS if name != ANALOGIST)]


def score_figure(results: ResultsByCell, cells: Sequence[Cell], name: str, title: str) -> Figure:
    """The score against episodes, a panel per world and a line per learner."""
    lines = {panel: shown(results, inside) for panel, inside in by_panel(cells)}
    return shares_figure(results, lines, name, title, WAY, from_random=True)
