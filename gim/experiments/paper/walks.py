"""A claim without a figure: curious walking needs fewer steps until enough is known."""

from __future__ import annotations

from gim.agents.gim import GIM
from gim.experiments.artefact import Artefact
from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.paper import settings
from gim.experiments.paper.settings import UnshownClaim
from gim.experiments.scale import Scale
from gim.experiments.settings import FAIR
from gim.experiments.tables import finished_table

WALKS = {
    "curious (Alg. 1)": "curious",
    "as published": "published",
    "balanced wandering": "balanced",
    "uniform": "uniform",
    "planned": "planned",
}


class Walks(UnshownClaim):
    """A claim without a figure: curious walking needs fewer steps until enough is known."""

    place = 53
    title = "Study: walks against each other"
    statement = "Curious walking needs fewer steps than existing methods (Section 1, not shown)."

    def cells(self, scale: Scale) -> list[Cell]:
        """GIM with every walk on every task; all else as in the paper."""
        return [
            Cell.of(
                FAIR,
                settings.TITLES[task],
                name,
                task,
                str(GIM.paper(exploration=walk, completion=settings.COMPLETION)),
                scale.episodes(episodes),
                scale.seeds(),
            )
            for task, episodes in settings.EPISODES.items()
            for name, walk in WALKS.items()
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Episodes until rho*S*A pairs are known."""
        return self.artefact(
            tables=[finished_table(results, self.cells(results.scale), FAIR)],
            notes=["GIM with m 40, ρ 0.8, β 0.2; a walk that plans does so on top of its steps."],
        )
