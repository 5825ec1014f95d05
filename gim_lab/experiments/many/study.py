"""Many tasks of one family: learned alone, as a family, by one plan for all, and by rivals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gim_lab.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, by_panel
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.many.series import (
    ALONE,
    CARRIED,
    FIRST,
    METHODS,
    POOLED,
    SHARED,
    TEMPLATES,
    Many,
)
from gim_lab.experiments.many.worlds import FAMILIES, Family
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.statistics import mean_interval
from gim_lab.trials.subject import subject_of
from gim_lab.trials.trial import Trial

SEEDS = 9000
REHEARSAL = 4000  # seeds before these, where work is not whole
RUNS = {"smoke": 1, "quick": 1, "paper": 5, "full": 10}
LONG = 3000  # episodes of a series, from which on there are as many runs as FEW
FEW = 2
MOST = {"smoke": (3, 2), "quick": (6, 10)}  # worlds of a series and episodes in each
REHEARSED = ("shops", "online", "low_rank")  # all that is played at scale smoke
CURVE = "first_5"  # what is drawn by the number of the task


class ManyTasks(Experiment, name="many"):
    """Forty shops, mazes or queues of one kind: what others have shown, and where it harms."""

    place = 310
    title = "Study: many tasks, one family"
    statement = (
        "How much of what can be gained is reached in the first 1, 5, 20 and 100 episodes of a new "
        "task, or from its log, if what other tasks of its family have shown is used, beside "
        "learning alone, one plan for all, templates of transitions (TempLe) and factors carried "
        "over? And what is lost where there is no family?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Each family with each way to learn."""
        return [
            cell_of(key, method, rows, scale)
            for key, family in FAMILIES.items()
            if scale.name != "smoke" or key in REHEARSED
            for rows in (family.rows if scale.whole or not family.rows else family.rows[-1:])
            or (0,)
            for method in methods_of(key, family)
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Shares of what can be gained: tables, and by the number of the task."""
        cells = self.cells(results.scale)
        logs = [cell for cell in cells if not episodes_of(cell)]
        online = [cell for cell in cells if episodes_of(cell)]
        several = [cell for cell in online if cell.trials[0].episodes > 1]
        panels = [panel_of(results, title, inside) for title, inside in by_panel(several)]
        notes = [
            "Shares of the way from whoever acted before (logs: exact returns of what was learned, "
            "planned on the mean) or from random play to the optimum, which is 1: ratios of sums "
            "over the tasks of a series, means over series with their interval where there are "
            "five or more. The first tasks of a series, of which nothing could be known, are left "
            "out of tables; of series that could do harm only the last is scored.",
            f"alone and family: the default learner; {POOLED}: the visits of all tasks count as "
            f"those of one; {TEMPLATES}: R-MAX with templates of transitions (Sun, Yin and Huang, "
            f"2021); {CARRIED}: the default learner with earlier models, whose factors of states "
            "and actions complete the dynamic matrices.",
        ]
        return self.artefact(
            figures=[Figure("by_task", "The first five episodes by task", panels)],
            tables=[log_table(results, logs), online_table(results, online), times(results, cells)],
            notes=notes,
        )


def methods_of(key: str, family: Family) -> Sequence[str]:
    """Ways to learn that say something of a family."""
    if not family.episodes:
        return METHODS[:3]
    if family.tasks == 1:
        return ALONE, SHARED
    return METHODS if key == "low_rank" else METHODS[:4]


def cell_of(key: str, method: str, rows: int, scale: Scale) -> Cell:
    """A way to learn, on as many series as the scale asks for."""
    family = FAMILIES[key]
    tasks, episodes = MOST.get(scale.name, (family.tasks, family.episodes))
    tasks, episodes = min(tasks, family.tasks), min(episodes, family.episodes)
    runs = RUNS[scale.name]
    runs = min(runs, FEW) if tasks * episodes * (1 + (key == "dark")) >= LONG // 2 else runs
    first = SEEDS - (0 if scale.whole else REHEARSAL)
    subject = str(Many(key, method, episodes, rows))
    seeds = range(first, first + runs)
    title = f"{family.title}, {rows} rows" if rows else family.title
    trials = tuple(Trial(family.task, subject, tasks, seed) for seed in seeds)
    return Cell("", title, method, float(rows), trials)


def many_of(cell: Cell) -> Many:
    """What its trials try."""
    found: Many = subject_of(cell.trials[0].agent)
    return found


def episodes_of(cell: Cell) -> int:
    """Episodes in each world; 0: logs."""
    return many_of(cell).episodes


def shares(results: ResultsByCell, cell: Cell, measure: str) -> Floats:
    """Of each series the share of what can be gained."""
    first = FAMILIES[many_of(cell).family].left_out(cell.trials[0].episodes)
    got, best, base = (
        results.each(cell, name)[:, first:].sum(axis=1) for name in (measure, "optimum", "base")
    )
    return np.asarray((got - base) / np.where(best > base, best - base, math.nan))


def told(values: Floats) -> str:
    """The mean, with half of its interval where there are series enough."""
    if np.isnan(values).any():
        return "-"
    found = mean_interval(values)
    half = (found.high - found.low) / 2
    return f"{found.mean:.3f}" if math.isnan(half) else f"{found.mean:.3f} ± {half:.3f}"


def log_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row for each family and size, a column for each way to learn."""
    rows = [
        [title, *(told(shares(results, cell, "first_1")) for cell in inside)]
        for title, inside in by_panel(cells)
    ]
    return Table("Learned from logs", ["family", *METHODS[:3]], rows)


def online_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row for each family and way to learn, a column for each number of episodes."""
    rows = []
    for title, inside in by_panel(cells):
        for cell in inside:
            most = episodes_of(cell)
            counted = [n for k, n in enumerate(FIRST) if k == 0 or n <= most]
            each = [told(shares(results, cell, f"first_{n}")) for n in counted]
            rows.append([title, cell.agent, *each, *["-"] * (len(FIRST) - len(each))])
    heads = ["family", "learner", *(f"first {n}" for n in FIRST)]
    return Table("Learned online, by episodes of a new task", heads, rows)


def panel_of(results: ResultsByCell, title: str, cells: Sequence[Cell]) -> Panel:
    """The share over the first five episodes by the number of the task."""
    lines = []
    for cell in cells:
        got, best, base = (
            results.each(cell, name).sum(axis=0) for name in (CURVE, "optimum", "base")
        )
        y = (got - base) / np.where(best > base, best - base, math.nan)
        shown = [None if math.isnan(each) else float(each) for each in y]
        lines.append(Series(cell.agent, [float(k + 1) for k in range(len(y))], shown, marks=True))
    return Panel(title, "task", "share, first 5 episodes", lines)


def times(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """Processor seconds that a series takes."""
    rows = []
    for title, inside in by_panel(cells):
        found = {cell.agent: results.values(cell, "seconds_total").mean() for cell in inside}
        each = (found.get(method, math.nan) for method in METHODS)
        rows.append([title, *("-" if math.isnan(x) else f"{x:.1f}" for x in each)])
    return Table("Processor seconds a series", ["family", *METHODS], rows)
