"""Worlds where structure is absent, misleads, or is broken by exceptions: what is lost there."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.variables import scores, settings
from gim_lab.experiments.variables.settings import BROKEN, VariablesStudy


class Broken(VariablesStudy):
    """Structure that is absent, misleading or broken."""

    place = 113
    title = "Study: structure absent, misleading or broken"
    statement = (
        "What does it cost to look for structure where there is none, where variables mislead, or "
        "where the rule has exceptions that matter?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """All learners on seven worlds."""
        return settings.cells(BROKEN, scale)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves, scores and gains."""
        found = self.cells(results.scale)
        title = "Structure absent, misleading or broken"
        return self.artefact(
            figures=[scores.score_figure(results, found, "variables-broken", title)],
            tables=[scores.gain_table(results, found), scores.score_table(results, found)],
            notes=[
                "Absent: Garnet and full rank. Misleading: the 8x8 grid, each cell told the row "
                "and column of another. Broken: a button that pays in one cell, walls, teleports, "
                "and the cliff.",
                "Factored and relocatable R-MAX are told the truth here, too: where walls, "
                "teleports and the button are is part of their types and parents.",
            ],
        )
