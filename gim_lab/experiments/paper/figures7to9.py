"""Figures 7 to 9: the three measures against m for ranks 2, 4, 6, 8 and 10."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import LABELS, sweep_figure
from gim_lab.experiments.paper.settings import PaperArtefact
from gim_lab.experiments.paper.thresholds import CHOICE, RANKS, threshold_cells
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

NUMBERS = dict(zip(LABELS, (7, 8, 9), strict=True))
TITLES = dict(zip(LABELS, ("AvgReward", "TotalEps", "PostAvgReward"), strict=True))


class Figures7to9(PaperArtefact, name="fig7to9"):
    """Figures 7 to 9: the three measures against m for ranks 2, 4, 6, 8 and 10."""

    names = ("fig7", "fig8", "fig9", "figure7", "figure8", "figure9", "figures7to9")
    place = 7
    title = "Figures 7 to 9: the known threshold m, ranks 2 to 10"
    statement = (
        "A larger m gives less reward within the same episodes, but GIM's falls much more slowly "
        "than RMax's and stays above 95 % of the optimum; GIM explores in far fewer episodes; its "
        "policy is less than 1 % worse than RMax's."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """All ranks; the cells of rank 2 are those of Figure 3."""
        tasks = {f"rank {r}": f"synthetic:rank={r}" for r in scale.grid(RANKS)}
        return threshold_cells(scale, tasks)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """A figure per measure and setting, a panel per rank."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                sweep_figure(
                    results,
                    found,
                    setting,
                    f"figure{NUMBERS[measure]}-{setting}",
                    f"Figure {NUMBERS[measure]}, {TITLES[measure]}",
                    "m",
                    [measure],
                )
                for measure in LABELS
                for setting in SETTINGS
            ],
            notes=[CHOICE],
        )
