"""Grids whose cells are bare numbers: what is left of the gain if no one names variables."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.variables import scores, settings
from gim_lab.experiments.variables.settings import WITHHELD, VariablesStudy


class Withheld(VariablesStudy):
    """The same grids with their variables withheld."""

    place = 112
    title = "Study: variables withheld"
    statement = "How much of the gain is left where a state is a number and nothing else?"

    def cells(self, scale: Scale) -> list[Cell]:
        """All learners on three grids."""
        return settings.cells(WITHHELD, scale)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves, scores and gains."""
        found = self.cells(results.scale)
        figure = scores.score_figure(results, found, "variables-withheld", "Variables withheld")
        return self.artefact(
            figures=[figure],
            tables=[scores.gain_table(results, found), scores.score_table(results, found)],
            notes=[
                "Without variables factored and relocatable R-MAX and Met-Rmax are R-MAX on the "
                "bare states."
            ],
        )
