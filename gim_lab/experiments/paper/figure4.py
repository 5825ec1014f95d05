"""Figure 4: AvgReward against rank, mu0 and kappa."""

from __future__ import annotations

from dataclasses import replace

from gim_lab.experiments.artefact import Artefact, Figure
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
from gim_lab.experiments.settings import SETTINGS, setting_title

NAMES = ("rank", "mu0", "kappa")


class Figure4(PaperArtefact, name="fig4"):
    """Figure 4: AvgReward against rank, mu0 and kappa."""

    names = ("figure4",)
    place = 4
    title = "Figure 4: rank, μ₀ and κ"
    statement = (
        "The average reward of GIM and RMax drops slightly as the rank grows, and is still high at "
        "full rank; GIM is ahead of RMax and does not change much with μ₀ or κ."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Three sweeps."""
        return property_cells(scale, *NAMES)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """One figure of three panels per setting."""
        figures = []
        for setting in SETTINGS:
            parts = [
                property_figure(
                    results, self.cells(results.scale), setting, name, "figure4", "", ("score",)
                )
                for name in NAMES
            ]
            panels = [
                replace(panel, title=f"AvgReward by {SYMBOLS[name]}")
                for name, part in zip(NAMES, parts, strict=True)
                for panel in part.panels
            ]
            title = f"Properties of the dynamic matrices: {setting_title(setting)}"
            figures.append(Figure(f"figure4-{setting}", title, panels, parts[0].note))
        return self.artefact(
            figures=figures, tables=[asked_table(results.scale, *NAMES)], notes=[CHOICE]
        )
