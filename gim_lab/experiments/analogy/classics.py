"""The tasks that people know: the paper's four, a larger grid, a longer chain, and Gymnasium's."""

from __future__ import annotations

from gim_lab.experiments.analogy import settings
from gim_lab.experiments.analogy.gains import compared
from gim_lab.experiments.analogy.settings import (
    HUGE,
    RIVALS,
    SMALL,
    AnalogyStudy,
    Place,
    longer_only,
)
from gim_lab.experiments.analogy.verdicts import judged
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.gymnasium_ids import newest
from gim_lab.experiments.scale import Scale

PAPERS = SMALL | {"paper": 10_000}  # episodes as many as the paper's
PLACES = (
    Place("Synthetic", "synthetic", longer_only(PAPERS), share=0.997, best="0.003"),
    Place("GridWorld", "gridworld", PAPERS, share=0.990, best="0.03"),
    Place("CasinoLand", "casinoland", longer_only(PAPERS), share=0.996),
    Place("RiverSwim", "riverswim", PAPERS, share=0.998, best="0.01"),
    Place("GridWorld 8x8", "gridworld:height=8,width=8,cost=0,horizon=20", longer_only(SMALL)),
    Place("RiverSwim 15", "riverswim:length=15,horizon=100", longer_only(SMALL), best="0.003"),
    Place("FrozenLake", newest("FrozenLake"), SMALL, best="0.003"),
    Place("Taxi", newest("Taxi"), HUGE, best="", runs=10),  # a run takes a minute
)


class Classics(AnalogyStudy):
    """The tasks that people know."""

    names = ("grids", "chains")
    place = 103
    title = "Study: grids, chains and others"
    statement = "Does analogy harm on tasks that have a structure of another kind?"

    def cells(self, scale: Scale) -> list[Cell]:
        """The Analogist and its twin on eight tasks, and the best plain learner."""
        return [*settings.cells(PLACES, scale, RIVALS), *settings.best_plain(PLACES, scale)]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves and their totals."""
        found = settings.cells(PLACES, results.scale, RIVALS)
        curves, tables = compared(results, found, "analogy-classics", "Grids, chains and others")
        return self.artefact(
            figures=[curves],
            tables=[*judged(results, PLACES), *tables],
            notes=[
                "The paper's four tasks as they are, a grid of 8x8 with horizon 20, a river of "
                "length 15 with horizon 100, and Gymnasium's FrozenLake and Taxi as they are.",
                "The 8x8 grid has no cost of steps: with it the optimum of some starts is near "
                "0, and shares of it say nothing. With a shorter horizon few episodes reach the "
                "far end of the river: at H=40 two equal agents differ by .008 (a standard "
                "error, 10,000 episodes, 20 runs), more than the harm that is looked for; at "
                "H=100 by .002.",
                "Taxi (S=500, A=6, H=200) has fewer episodes than the others at every scale, "
                "and ten runs, since a plan costs more; no best plain learner was looked for: that "
                "alone would take two hours of processor time. Its optimum is small beside what "
                "mistakes cost, so shares of it are far below 0 at first.",
            ],
        )
