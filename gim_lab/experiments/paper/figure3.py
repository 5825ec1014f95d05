"""Figure 3: the known threshold m on the synthetic task of rank 2."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import sweep_figure
from gim_lab.experiments.paper.settings import PaperArtefact
from gim_lab.experiments.paper.thresholds import CHOICE, threshold_cells
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS


class Figure3(PaperArtefact, name="fig3"):
    """Figure 3: the known threshold m on the synthetic task of rank 2."""

    names = ("figure3",)
    place = 3
    title = "Figure 3: the known threshold m, rank 2"
    statement = (
        "For the same m GIM gains more than RMax and ends its exploration sooner, with a slightly "
        "worse policy; as m grows, RMax needs many more episodes to explore, GIM is robust."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Rank 2 only."""
        return threshold_cells(scale, {"rank 2": "synthetic"})

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The three measures against m."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                sweep_figure(results, found, setting, f"figure3-{setting}", "Known threshold", "m")
                for setting in SETTINGS
            ],
            notes=[CHOICE],
        )
