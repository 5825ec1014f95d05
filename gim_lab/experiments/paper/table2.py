"""Table 2: running times on the four tasks of Figure 1."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.paper.settings import LEARNERS, PaperArtefact
from gim_lab.experiments.paper.times import times_tables
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

PRINTED = {  # seconds: GIM, RMax, Q-learning, Delayed-Q, Double-Q
    "Synthetic": (539.19, 694.15, 364.83, 530.47, 619.41),
    "GridWorld": (11.75, 13.94, 12.68, 11.2, 13.7),
    "CasinoLand": (7.21, 8.18, 3.61, 3.00, 3.93),
    "RiverSwim": (7.62, 6.06, 5.87, 4.88, 6.33),
}


class Table2(PaperArtefact):
    """Table 2: running times on the four tasks of Figure 1."""

    place = 1.5
    title = "Table 2: running times"
    statement = (
        "GIM is faster than RMax but on RiverSwim, where the one completion weighs, and "
        "comparable to the model-free learners."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The five learners of Figure 1."""
        return [c for c in cells_of("fig1", scale) if c.setting in SETTINGS and c.agent in LEARNERS]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Times, and where they went."""
        return self.artefact(
            tables=times_tables(results, self.cells(results.scale), PRINTED),
            notes=[
                "The published code sums a growing list of step times in every episode; most of "
                "the paper's seconds are that."
            ],
        )
