"""Random MDPs of full rank: where there is little or nothing to infer, analogy must not harm."""

from __future__ import annotations

from gim_lab.experiments.analogy import settings
from gim_lab.experiments.analogy.gains import compared
from gim_lab.experiments.analogy.settings import SMALL, AnalogyStudy, Place
from gim_lab.experiments.analogy.verdicts import judged
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale

PLACES = (
    Place("Synthetic, rewards of states", "synthetic:rewards=state", SMALL, best="0.01"),
    Place("full rank", "mixtures:S=20,A=10,rank=10,rewards=state", SMALL, best="0.03"),
)


class Unrelated(AnalogyStudy):
    """Random MDPs of full rank, where analogy must not harm."""

    names = ("full_rank",)
    place = 102
    title = "Study: rewards of states, and full rank"
    statement = "Does analogy harm where there is little or nothing to infer?"

    def cells(self, scale: Scale) -> list[Cell]:
        """Three agents on two tasks, and the best plain learner."""
        return [*settings.cells(PLACES, scale), *settings.best_plain(PLACES, scale)]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves and their totals."""
        found = settings.cells(PLACES, results.scale)
        curves, tables = compared(
            results, found, "analogy-unrelated", "Little or nothing in common"
        )
        return self.artefact(
            figures=[curves],
            tables=[*judged(results, PLACES), *tables],
            notes=[
                "On the paper's Synthetic task the best reward at hand is nearly all there is to "
                "gain, whatever the dynamics; rewards of states make them matter. It is near "
                "rank 2.",
                "Full rank: ten actions that are mixtures of ten primitive ones, each a random "
                "matrix.",
            ],
        )
