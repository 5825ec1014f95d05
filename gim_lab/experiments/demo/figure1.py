"""The paper's Figure 1, in short."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.demo.settings import RUNS, Demo
from gim_lab.experiments.figures import curves_figure, regret_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import AUTHORS, FAIR
from gim_lab.experiments.tables import means_table

EPISODES = 2000
AGENTS = {  # what the legend says: the setting, and the agent under it
    "GIM (paper)": (FAIR, settings.GREEDY),
    "GIM (authors)": (AUTHORS, settings.GREEDY),
    "RMax": (FAIR, settings.RMAX),
    "Q-learning": (FAIR, settings.Q),
}


class DemoFigure1(Demo, name="demo_fig1"):
    """The paper's Figure 1, in short."""

    place = 90.4
    title = "Where it began: the paper's Figure 1, in short"
    heading = "The paper, and what we find"
    statement = (
        "Sun and Huang (2020) explore greedily, complete what is missing by low rank, and report "
        "that GIM (Greedy Inference Model) gains the most on all four tasks. GIM (paper) is the "
        "algorithm of the text with m 40, GIM (authors) that of the published code with its own m "
        "for each task. Neither outperforms RMax with fair settings."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Four agents on the paper's four tasks."""
        n, seeds = scale.episodes(EPISODES), scale.seeds(RUNS)
        return [
            Cell.of("", title, name, task, settings.spec_under(setting, agent, task), n, seeds)
            for task, title in settings.TITLES.items()
            for name, (setting, agent) in AGENTS.items()
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves, regret and scores."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                curves_figure(results, found, "", "demo-figure1", "Cumulative reward"),
                regret_figure(
                    results, found, "", "demo-figure1-regret", "Regret, of the same runs"
                ),
            ],
            tables=[means_table(results, found, "", "score", "Mean return over the optimum")],
            notes=[
                f"The first {EPISODES:,} of 5,000 or 10,000 episodes, {RUNS} of 20 runs; the whole "
                "figure with seven agents and three settings: gim reproduce fig1 --scale paper.",
                "RiverSwim: GIM (paper) stays near 0 because it is a reading of the text in which "
                "rewards of pairs that are not known count as completed; other readings reach .6 "
                "to .9, and with inference that is tested (gim train riverswim) it is .98.",
            ],
        )
