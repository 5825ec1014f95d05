"""Figure 2: cumulative reward on synthetic tasks of growing size."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import curves_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import SCORE, SEVEN, PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS
from gim_lab.experiments.tables import means_table

SIZES = ((20, 10), (30, 20), (40, 30), (50, 40))
M, EPISODES = 100, 200_000


class Figure2(PaperArtefact, name="fig2"):
    """Figure 2: cumulative reward on synthetic tasks of growing size."""

    place = 2
    title = "Figure 2: larger environments"
    statement = (
        "With m 100, GIM does well beside the others at every size, slightly behind Q-learning "
        "since m 100 is too low there; RMax does not converge within 200,000 episodes."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Seven agents on four sizes under both settings; m is 100 in both."""
        return larger(scale, {agent: (agent, M) for agent in SEVEN}, x=True)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves and their totals, setting by setting."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                curves_figure(results, found, setting, f"figure2-{setting}", "Cumulative reward")
                for setting in SETTINGS
            ],
            tables=[means_table(results, found, setting, "score", SCORE) for setting in SETTINGS],
        )


def larger(scale: Scale, agents: dict[str, tuple[str, int]], x: bool = False) -> list[Cell]:
    """Agents on the four sizes under both settings, each by its name with its m."""
    return [
        Cell.of(setting, f"S={S}, A={A}", name, task, spec, n, scale.seeds(), x=float(S) * x)
        for n in [scale.episodes(EPISODES)]
        for setting in SETTINGS
        for S, A in SIZES
        for task in [f"synthetic:S={S},A={A}"]
        for name, (agent, m) in agents.items()
        for spec in [settings.spec_under(setting, agent, "synthetic", m)]
    ]
