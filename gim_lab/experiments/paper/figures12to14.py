"""Figures 12 to 14: the three measures against mu0, mu1 and kappa."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper.properties import (
    CHOICE,
    SYMBOLS,
    asked_table,
    property_cells,
    property_figure,
)
from gim_lab.experiments.paper.settings import PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

NUMBERS = {"mu0": 12, "mu1": 13, "kappa": 14}


class Figures12to14(PaperArtefact, name="fig12to14"):
    """Figures 12 to 14: the three measures against mu0, mu1 and kappa."""

    names = ("fig12", "fig13", "fig14", "figure12", "figure13", "figure14", "figures12to14")
    place = 12
    title = "Figures 12 to 14: μ₀, μ₁ and κ"
    statement = "Neither GIM's speed nor its accuracy changes much with μ₀, μ₁ or κ."

    def cells(self, scale: Scale) -> list[Cell]:
        """Three sweeps; those of mu0 and kappa are Figure 4's."""
        return property_cells(scale, *NUMBERS)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """A figure per property and setting."""
        found = self.cells(results.scale)
        figures = [
            property_figure(
                results,
                found,
                setting,
                name,
                f"figure{number}",
                f"Figure {number}, {SYMBOLS[name]}",
            )
            for name, number in NUMBERS.items()
            for setting in SETTINGS
        ]
        return self.artefact(
            figures=figures, tables=[asked_table(results.scale, *NUMBERS)], notes=[CHOICE]
        )
