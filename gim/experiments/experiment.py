"""What an experiment is: cells of trials, and a pure function of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gim.experiments.artefact import Artefact
from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.scale import Scale
from gim.experiments.trial import Trial


@dataclass(frozen=True)
class Experiment:
    """One artefact (or a few that share one analysis) of the paper."""

    key: str  # fig1, table3, fig7to9, walks
    names: tuple[str, ...]  # further names for it: fig7, fig8, ...
    title: str
    statement: str  # what the paper says of it, in our words
    cells: Callable[[Scale], list[Cell]]
    analyse: Callable[[ResultsByCell], Artefact]
    paper: bool = True  # an artefact of the paper itself, not a study of a claim without a figure
    heading: str = "The paper"  # over the statement: who says it, or what it is

    def trials(self, scale: Scale) -> list[Trial]:
        """What must be run for it, each trial once."""
        return list(dict.fromkeys(t for cell in self.cells(scale) for t in cell.trials))

    def artefact(self, **parts: list) -> Artefact:
        """The frame of an analysis: key, title and statement."""
        return Artefact(self.key, self.title, self.statement, heading=self.heading, **parts)
