"""Sample complexity by Definition 2, which the paper bounds and does not show."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gim.runs.agent import agents
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import GREEDY, LEARNERS, UnshownClaim
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS
from gim_lab.experiments.tables import finished_table, means_table

EPSILON = 0.1  # of the optimum: an episode whose policy is worse is one of Definition 2's
ALL_KNOWN = f"{GREEDY}, ρ=1"


class Samples(UnshownClaim):
    """Sample complexity by Definition 2, of the five learners and of GIM with rho = 1."""

    names = ("rho1", "rho1_vs_rmax")
    place = 51
    title = "Study: sample complexity"
    statement = (
        "GIM needs fewer samples than methods that infer nothing (abstract); and with ρ = 1, where "
        "nothing is completed, curious walking alone still saves samples against RMax (Section "
        "6.2). Neither is shown."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The five learners of Figure 1, GIM with rho = 1, on all four tasks."""
        return [
            cell
            for setting in SETTINGS
            for cell in settings.on_tasks(scale, setting, partial(_six, setting), epsilon=EPSILON)
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Episodes without a near-optimal policy, episodes until all is known, and the reward."""
        found = self.cells(results.scale)
        title = f"Episodes whose policy is more than {100 * EPSILON:.0f} % below the optimum"
        return self.artefact(
            tables=[
                make
                for setting in SETTINGS
                for make in (
                    means_table(results, found, setting, "sample_complexity", title, digits=0),
                    finished_table(results, found, setting),
                    means_table(results, found, setting, "score", "Mean return over the optimum"),
                )
            ],
            notes=[
                "Sample complexity is Definition 2's: exact evaluation of the policy in force, "
                "whenever the agent has thought and at 1,000 points besides; while GIM explores "
                "it has none."
            ],
        )


def _six(setting: str, task: str) -> dict[str, str]:
    """The specs of the five learners, and of GIM with rho = 1."""
    specs = settings.specs_under(setting, LEARNERS, task)
    return specs | {ALL_KNOWN: str(replace(agents.make(specs[GREEDY]), rho=1.0))}
