"""Figure 1: cumulative reward of seven agents on four tasks; and of today's strong learners."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import curves_figure, regret_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import AUTHORS, FAIR, STRONG
from gim_lab.experiments.tables import means_table

AGENTS = {
    AUTHORS: settings.SEVEN,
    FAIR: settings.SEVEN,
    STRONG: (*settings.MODEL_BASED, *settings.TODAY, settings.OPTIMAL, settings.RANDOM),
}


class Figure1(PaperArtefact, name="fig1"):
    """Figure 1: cumulative reward of seven agents on four tasks; and of today's strong learners."""

    place = 1
    title = "Figure 1: cumulative reward on four tasks"
    statement = (
        "GIM gains the most on all four tasks. Q-learning, Delayed-Q and Double-Q find a good "
        "policy quickly but are sometimes trapped in local optima; RMax finds a near-optimal "
        "policy, but late."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Every agent on every task under every setting."""
        return [
            cell
            for setting, agents in AGENTS.items()
            for cell in settings.on_tasks(scale, setting, agents)
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves and their totals, setting by setting."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                draw(results, found, setting, f"figure1{more}-{setting}", title)
                for setting in AGENTS
                for draw, more, title in (
                    (curves_figure, "", "Cumulative reward"),
                    (regret_figure, "-regret", "Regret, of the same runs"),
                )
            ],
            tables=[
                means_table(results, found, setting, "score", "Mean return over the optimum")
                for setting in AGENTS
            ],
            notes=[
                "Authors' settings: m 50 / 20 / 10 / 50 on the four tasks, R_max = 1, discounted "
                "planning (for GIM on Synthetic a one-step lookahead), completed rows clipped "
                "only. Fair settings: m 40, rho 0.8, beta 0.2, R_max of the task, planning over "
                "the horizon.",
                "CasinoLand has four rooms and four lever rooms, as in the published code; the "
                "paper's text speaks of six rooms and three levers.",
                "Run k plays instance k of the random tasks, so that all agents meet the same "
                "MDPs.",
            ],
        )
