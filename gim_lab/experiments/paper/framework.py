"""A claim without a figure: completion, put into other learners, saves them samples."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.samples import EPSILON
from gim_lab.experiments.paper.settings import UnshownClaim
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import FAIR
from gim_lab.experiments.tables import means_table

EPISODES = 1_000
INFER = "by_completion(m=10,rho=0.5)"
COMBINED = {"RMax": "rmax:m=10", "MBIE": "mbie", "UCRL2": "ucrl2"}  # those that the paper names


def completed(agent: str) -> str:
    """The name of a learner that completes."""
    return f"{agent} + completion"


class Framework(UnshownClaim):
    """A claim without a figure: completion, put into other learners, saves them samples."""

    place = 55
    title = "Study: completion in other learners"
    statement = (
        "Completion can be put into any model-based learner, such as MBIE or UCRL2, and saves it "
        "samples (Section 5.4, not shown)."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Three learners, with and without, on the four tasks."""
        specs = {}
        for agent, spec in COMBINED.items():
            specs[agent] = spec
            specs[completed(agent)] = f"{spec}{',' if ':' in spec else ':'}infer={INFER}"
        return settings.on_tasks(scale, FAIR, lambda task: specs, EPISODES, EPSILON)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Sample complexity and reward."""
        found = self.cells(results.scale)
        title = f"Episodes whose policy is more than {100 * EPSILON:.0f} % below the optimum"
        return self.artefact(
            tables=[
                means_table(results, found, FAIR, "sample_complexity", title, digits=0),
                means_table(results, found, FAIR, "score", "Mean return over the optimum"),
            ],
            notes=[
                f"{EPISODES:,} episodes. Completion begins when half of the pairs have 10 visits "
                "and gives the others the worth of 10; with ρ 0.8 and m 40 it does not begin in "
                "these episodes (docs/framework.md)."
            ],
        )
