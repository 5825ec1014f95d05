"""Worlds whose variables say all: who uses them, and how soon."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.variables import scores, settings
from gim_lab.experiments.variables.settings import STRUCTURED, VariablesStudy


class Structured(VariablesStudy):
    """Grids, a lake, queues and an inventory, with their variables given."""

    place = 111
    title = "Study: worlds made of variables"
    statement = (
        "Does a learner that finds out by itself what variables do keep up with learners that are "
        "told, and how far ahead is it of those that look at no variables?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """All learners on six worlds."""
        return settings.cells(STRUCTURED, scale)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves, scores and gains."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                scores.score_figure(results, found, "variables-given", "Worlds made of variables")
            ],
            tables=[scores.gain_table(results, found), scores.score_table(results, found)],
            notes=[
                "Factored R-MAX is told the true parents of each variable, relocatable R-MAX which "
                "states behave alike, Met-Rmax that a variable has at most three parents; the "
                "Analogist is told nothing but the variables.",
            ],
        )
