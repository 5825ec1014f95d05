"""Figure 10: the known threshold m on grids of 3 x 3 and 4 x 4."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import sweep_figure
from gim_lab.experiments.paper.settings import PaperArtefact
from gim_lab.experiments.paper.thresholds import CHOICE, SHORT, threshold_cells
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

GRIDS = {"4 × 4": "gridworld", "3 × 3": "gridworld:height=3,width=3"}


class Figure10(PaperArtefact, name="fig10"):
    """Figure 10: the known threshold m on grids of 3 x 3 and 4 x 4."""

    names = ("figure10",)
    place = 10
    title = "Figure 10: the known threshold m, grid worlds"
    statement = (
        "On grid worlds it is as on the synthetic tasks: GIM explores sooner and gains more."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Both grids, 10 runs."""
        return threshold_cells(scale, GRIDS, runs=10, episodes=SHORT)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The three measures against m, on both grids."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                sweep_figure(results, found, setting, f"figure10-{setting}", "Known threshold", "m")
                for setting in SETTINGS
            ],
            notes=[CHOICE, "The 3 × 3 grid has its goals at (2,2) and (3,3) as well."],
        )
