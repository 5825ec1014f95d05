"""Table 3: running times on synthetic tasks of growing size."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.paper.settings import LEARNERS, PaperArtefact
from gim_lab.experiments.paper.times import times_tables
from gim_lab.experiments.scale import Scale

PRINTED = {  # seconds: GIM, RMax, Q-learning, Delayed-Q, Double-Q
    "S=20, A=10": (2165, 2410, 1386, 2244, 2465),
    "S=30, A=20": (2296, 4581, 1635, 2541, 3107),
    "S=40, A=30": (2304, 9778, 2007, 2477, 3413),
    "S=50, A=40": (2423, 19870, 2287, 2399, 3424),
}


class Table3(PaperArtefact):
    """Table 3: running times on synthetic tasks of growing size."""

    place = 2.5
    title = "Table 3: running times in larger environments"
    statement = (
        "From S=20 to S=50 RMax takes eight times as long, GIM about the same; GIM is much faster "
        "than RMax and Double-Q."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The five learners of Figure 2."""
        return [c for c in cells_of("fig2", scale) if c.agent in LEARNERS]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Times, and where they went."""
        return self.artefact(tables=times_tables(results, self.cells(results.scale), PRINTED))
