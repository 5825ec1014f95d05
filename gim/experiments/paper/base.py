"""What an artefact of the paper is: cells of trials, and a pure function of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.experiments.artefact import Artefact
from gim.experiments.paper.settings import Cell, Scale
from gim.experiments.table import Results
from gim.experiments.trial import Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Experiment:
    """One artefact (or a few that share one analysis) of the paper."""

    key: str  # fig1, table3, fig7to9, walks
    names: tuple[str, ...]  # further words for it: fig7, fig8, ...
    title: str
    statement: str  # what the paper says of it, in our words
    cells: Callable[[Scale], list[Cell]]
    analyse: Callable[[Evidence], Artefact]
    paper: bool = True  # an artefact of the paper itself, not a study of a claim without a figure
    heading: str = "The paper"  # over the statement: who says it, or what it is

    def trials(self, scale: Scale) -> list[Trial]:
        """What must be run for it, each trial once."""
        return list(dict.fromkeys(t for cell in self.cells(scale) for t in cell.trials))

    def artefact(self, **parts: list[Any]) -> Artefact:
        """The frame of an analysis: key, title and statement."""
        return Artefact(self.key, self.title, self.statement, heading=self.heading, **parts)


class Evidence:
    """Results, found again by cell.

    Args:
        results: what was run; trials that were not are NaN.
        scale: the scale at which it was run.
    """

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.scale = results, scale
        names = ("task", "agent", "episodes", "seed", "epsilon")
        columns = [results.column(name) for name in names] if len(results) else []
        self._row = {self._key(*row): i for i, row in enumerate(zip(*columns, strict=True))}
        self._column: dict[str, NDArray[Any]] = {}

    @staticmethod
    def _key(
        task: str, agent: str, episodes: int, seed: int, epsilon: float | None
    ) -> tuple[Any, ...]:
        known = None if epsilon is None or math.isnan(epsilon) else float(epsilon)
        return str(task), str(agent), int(episodes), int(seed), known

    def row(self, trial: Trial) -> int | None:
        """Where a trial stands in the results."""
        key = self._key(trial.task, trial.agent, trial.episodes, trial.seed, trial.epsilon)
        return self._row.get(key)

    def values(self, cell: Cell, measure: str) -> Floats:
        """A column of the results for the runs of a cell, [runs]; NaN where a run is missing."""
        if measure not in self._column:
            self._column[measure] = np.asarray(self.results.column(measure))
        column = self._column[measure]
        rows = [self.row(trial) for trial in cell.trials]
        return np.array([math.nan if i is None else float(column[i]) for i in rows])

    def curves(self, cell: Cell, name: str) -> tuple[Floats, Floats]:
        """Episodes [points] and a curve of each run [runs, points]."""
        rows = [row for trial in cell.trials if (row := self.row(trial)) is not None]
        runs = np.stack([self.results.curves[name][row] for row in rows])
        return self.results.curves["episode"][rows[0]].astype(float), runs


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


def distinct(values: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(values))
