"""What the study of analogy shows of its runs: curves, shares of the optimum, paired gains."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gim_lab.experiments.analogy.settings import ANALOGIST, PLAIN, POOLED
from gim_lab.experiments.artefact import Figure, Panel, Table
from gim_lab.experiments.cells import (
    Cell,
    ResultsByCell,
    by_panel,
    distinct,
    episodes_of,
    pick,
)
from gim_lab.experiments.figures import line_through, shares_figure
from gim_lab.experiments.statistics import INTERVAL, Estimate, compare, interval_of
from gim_lab.experiments.tables import (
    NOTHING,
    estimate_of,
    most_in,
    runs_in,
    shares,
    signed,
    spoken,
)

MARKS = (100, 300, 1_000)  # episodes at which a learner is compared before its end
HORIZONS = (*MARKS, 10_000, 100_000)
HARM = 0.005  # a mean loss that counts, as a share of the optimum
PAYS, NEUTRAL, HARMS = "pays", "neutral", "harms"
CONTROLS = (PLAIN, POOLED)
SHARE = "share of the optimum"


def horizons_of(cell: Cell) -> list[int]:
    """The horizons that it reaches, its own end included."""
    return sorted({*(h for h in HORIZONS if h < episodes_of(cell)), episodes_of(cell)})


def share_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per task and agent, a column per horizon."""
    columns = sorted({h for cell in cells for h in horizons_of(cell)})
    rows = []
    for cell in cells:
        mine = horizons_of(cell)
        found = dict(zip(mine, shares(results, cell, mine).T, strict=True))
        means = [spoken(estimate_of(found[h])) if h in found else NOTHING for h in columns]
        rows.append([cell.panel, cell.agent, *means])
    return Table(
        "Share of the optimum over the first episodes",
        ["task", "agent", *(f"{h:,}" for h in columns)],
        rows,
        f"Mean ± half of the {INTERVAL}, {runs_in(cells)}.",
    )


def gain(results: ResultsByCell, cells: Sequence[Cell], panel: str, control: str) -> Estimate:
    """Analogist less a control at the end of the run, mean of the paired differences."""
    a, b = (pick(cells, panel=panel, agent=agent)[0] for agent in (ANALOGIST, control))
    last = [episodes_of(a)]
    return compare(shares(results, a, last)[:, 0], shares(results, b, last)[:, 0]).difference


def gain_verdict(difference: Estimate) -> str:
    """Analogy pays if the interval is above 0; it harms if the mean is below -.005.

    No run that both have finished tells nothing.
    """
    if math.isnan(difference.mean):
        return NOTHING
    if difference.low > 0:
        return PAYS
    return HARMS if difference.mean < -HARM else NEUTRAL


def gain_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per task: what analogy brings over its plain twin and over the pooled marginal."""
    rows: list[list[object]] = []
    for panel, inside in by_panel(cells):
        rows.append([panel, f"{episodes_of(inside[0]):,}"])
        for control in CONTROLS:
            if pick(inside, agent=control):
                difference = gain(results, inside, panel, control)
                rows[-1] += [signed(difference), gain_verdict(difference)]
            else:  # not played there
                rows[-1] += [NOTHING, NOTHING]
    return Table(
        "Paired gain of the Analogist",
        ["task", "episodes", f"over the {PLAIN}", "verdict", f"over the {POOLED}", "verdict "],
        rows,
        f"Mean difference in the share of the optimum over all episodes, {runs_in(cells)} on the "
        f"same seeds, with its {INTERVAL}. It pays if the interval lies above 0; it harms if the "
        f"mean is below -{HARM:g}, whatever the interval; else it is neutral.",
    )


def share_figure(results: ResultsByCell, cells: Sequence[Cell], name: str, title: str) -> Figure:
    """Share of the optimum against episodes, a panel per task and a line per agent."""
    lines = {panel: {cell.agent: cell for cell in inside} for panel, inside in by_panel(cells)}
    return shares_figure(results, lines, name, title, SHARE)


def compared(
    results: ResultsByCell, cells: Sequence[Cell], name: str, title: str
) -> tuple[Figure, list[Table]]:
    """What every comparison of the three agents shows: curves, paired gains, and totals."""
    tables = [gain_table(results, cells), share_table(results, cells)]
    return share_figure(results, cells, name, title), tables


def gain_figure(results: ResultsByCell, cells: Sequence[Cell], name: str, title: str) -> Figure:
    """Paired gain against rank, a panel per control and a line per way of sharing."""
    panels = []
    for control in CONTROLS:
        lines = []
        for line in distinct(cell.setting for cell in cells):
            mine = [
                cell
                for cell in pick(cells, setting=line, agent=ANALOGIST)
                if pick(cells, panel=cell.panel, agent=control)  # else it is not played there
            ]
            found = [gain(results, cells, cell.panel, control) for cell in mine]
            if mine:
                lines.append(line_through(line, [cell.x for cell in mine], found))
        panels.append(Panel(f"over the {control}", "rank J", f"gain, {SHARE}", lines))
    interval = interval_of(most_in(cells))
    note = f"Mean of paired differences at the end of the run, {runs_in(cells)}, {interval}."
    return Figure(name, title, panels, note)
