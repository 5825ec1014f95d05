"""Cells: the runs that make one point, one line or one entry of an artefact, and their results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim_lab.experiments.scale import Scale
from gim_lab.trials.measures import points
from gim_lab.trials.results import Results
from gim_lab.trials.spec import instance
from gim_lab.trials.trial import Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """The runs of one agent under one setting in one place of an artefact."""

    setting: str  # such as "fair"; "" where there is but one
    panel: str  # the axes or the row in which it is shown
    agent: str  # what the legend calls it
    x: float  # where a sweep has it; 0 elsewhere
    trials: tuple[Trial, ...]

    @classmethod
    def of(
        cls,
        setting: str,
        panel: str,
        agent: str,
        task: str,
        spec: str,
        episodes: int,
        seeds: Iterable[int],
        x: float = 0.0,
        epsilon: float | None = None,
        rewards: str = "learn",
    ) -> Cell:
        """The cell in which run k plays instance k of the task, from seed k.

        Args:
            setting, panel, agent, x: of the cell.
            task: the spec of a world, such as ``synthetic:rank=4``, without a seed.
            spec: that of the agent, such as ``rmax:m=20``.
            episodes, seeds, epsilon, rewards: of its trials.

        Example:
            >>> cell = Cell.of("", "rank 2", "RMax", "synthetic", "rmax:m=20", 50, seeds=[4])
            >>> [trial.id for trial in cell.trials]
            ['synthetic-seed=4/rmax-m=20/50/4']
        """
        trials = tuple(Trial(instance(task, k), spec, episodes, k, epsilon, rewards) for k in seeds)
        return cls(setting, panel, agent, x, trials)


class ResultsByCell:
    """Results, found again by cell: what an analysis and the check of a claim are given.

    Args:
        table: what was run; trials that were not are NaN.
        scale: the scale at which it was run.
    """

    def __init__(self, table: Results, scale: Scale) -> None:
        self.table, self.scale = table, scale
        self._row = {str(id): i for i, id in enumerate(table.column("id") if len(table) else [])}
        self._column: dict[str, NDArray[Any]] = {}

    def row(self, trial: Trial) -> int | None:
        """Where a trial stands in the table."""
        return self._row.get(trial.id)

    def values(self, cell: Cell, measure: str) -> Floats:
        """A column of the results for the runs of a cell, [runs]; NaN where a run is missing."""
        rows = [self.row(trial) for trial in cell.trials]
        if all(row is None for row in rows):
            return np.full(len(rows), math.nan)
        if measure not in self._column:
            self._column[measure] = np.asarray(self.table.column(measure))
        column = self._column[measure]
        return np.array([math.nan if i is None else float(column[i]) for i in rows])

    def lengths(self, cell: Cell) -> Floats:
        """TotalEps of the runs of a cell, [runs]; one that never ended counts with all episodes."""
        ended, played = self.values(cell, "total_eps"), self.values(cell, "episodes")
        return np.where(np.isnan(ended), played, ended)

    def curves(self, cell: Cell, name: str) -> tuple[Floats, Floats]:
        """Episodes [points] and a curve of each run [runs, points]; NaN where a run is missing."""
        rows = [self.row(trial) for trial in cell.trials]
        found = [row for row in rows if row is not None]
        episode = self.table.curves["episode"][found[0]] if found else points(episodes_of(cell))
        gap = np.full(episode.size, math.nan)
        runs = [gap if row is None else self.table.curves[name][row] for row in rows]
        return episode.astype(float), np.stack(runs)

    def each(self, cell: Cell, name: str) -> Floats:
        """A curve with a number for each episode, [runs, episodes]; NaN where a run is missing."""
        kept, gap = self.table.curves.get(name, ()), np.full(episodes_of(cell), math.nan)
        rows = [self.row(trial) for trial in cell.trials]
        runs = [gap if row is None or not len(kept) else np.asarray(kept[row]) for row in rows]
        return np.stack([run if run.size == gap.size else gap for run in runs])


def pick(
    cells: Sequence[Cell],
    setting: str | None = None,
    panel: str | None = None,
    agent: str | None = None,
) -> list[Cell]:
    """The cells that match, in their order."""
    wanted = (setting, panel, agent)
    return [
        cell
        for cell in cells
        if all(
            want is None or want == has
            for want, has in zip(wanted, (cell.setting, cell.panel, cell.agent), strict=True)
        )
    ]


def by_panel(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """The cells of each panel, in order."""
    return [(panel, pick(cells, panel=panel)) for panel in distinct(c.panel for c in cells)]


def episodes_of(cell: Cell) -> int:
    """Episodes of its runs."""
    return cell.trials[0].episodes


def distinct(values: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(values))
