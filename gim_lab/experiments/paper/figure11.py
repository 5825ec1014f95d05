"""Figure 11: the three measures against rank."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper.properties import CHOICE, property_cells, property_figure
from gim_lab.experiments.paper.settings import PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS


class Figure11(PaperArtefact, name="fig11"):
    """Figure 11: the three measures against rank."""

    names = ("figure11",)
    place = 11
    title = "Figure 11: rank"
    statement = (
        "As the rank grows GIM's TotalEps stays, while its PostAvgReward drops, because completion "
        "works worse."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The sweep over ranks."""
        return property_cells(scale, "rank")

    def analyse(self, results: ResultsByCell) -> Artefact:
        """A figure per setting."""
        found = self.cells(results.scale)
        figures = [
            property_figure(results, found, setting, "rank", "figure11", "Rank")
            for setting in SETTINGS
        ]
        return self.artefact(figures=figures, notes=[CHOICE])
