"""Figure 2: cumulative reward on synthetic tasks of growing size."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import curves_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import SEVEN, PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS
from gim_lab.experiments.tables import means_table

SIZES = ((20, 10), (30, 20), (40, 30), (50, 40))
M, EPISODES = 100, 200_000


class Figure2(PaperArtefact, name="fig2"):
    """Figure 2: cumulative reward on synthetic tasks of growing size."""

    names = ("figure2",)
    place = 2
    title = "Figure 2: larger environments"
    statement = (
        "With m 100, GIM does well beside the others at every size, slightly behind Q-learning "
        "since m 100 is too low there; RMax does not converge within 200,000 episodes."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Seven agents on four sizes under both settings; m is 100 in both."""
        return [
            Cell.of(
                setting,
                f"S={S}, A={A}",
                agent,
                f"synthetic:S={S},A={A}",
                settings.spec_under(setting, agent, "synthetic", M),
                scale.episodes(EPISODES),
                scale.seeds(),
                x=float(S),
            )
            for setting in SETTINGS
            for S, A in SIZES
            for agent in SEVEN
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves and their totals, setting by setting."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                curves_figure(results, found, setting, f"figure2-{setting}", "Cumulative reward")
                for setting in SETTINGS
            ],
            tables=[
                means_table(results, found, setting, "score", "Mean return over the optimum")
                for setting in SETTINGS
            ],
        )
