"""A claim without a figure: with rho = 1, curious walking alone still saves samples."""

from __future__ import annotations

from dataclasses import replace

from gim.agent import agents
from gim.experiments.artefact import Artefact
from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.paper import settings
from gim.experiments.paper.settings import GREEDY, RMAX, UnshownClaim
from gim.experiments.scale import Scale
from gim.experiments.settings import SETTINGS
from gim.experiments.tables import finished_table, means_table

EPSILON = 0.1  # of the optimum: an episode whose policy is worse is one of Definition 2's


class Rho1VsRMax(UnshownClaim, name="rho1"):
    """A claim without a figure: with rho = 1, curious walking alone still saves samples."""

    names = ("rho1_vs_rmax",)
    place = 51
    title = "Study: ρ = 1 against RMax"
    statement = (
        "With ρ = 1 nothing is completed, and GIM still has fewer episodes that are not "
        "ε-optimal than RMax: curious walking itself saves samples (Section 5, not shown)."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """GIM with rho = 1 and RMax with the same m, on all four tasks."""
        made = []
        for setting in SETTINGS:
            for task, episodes in settings.EPISODES.items():
                gim = agents.make(settings.spec_under(setting, GREEDY, task))
                specs = {
                    f"{GREEDY}, ρ=1": str(replace(gim, rho=1.0)),
                    RMAX: settings.spec_under(setting, RMAX, task),
                }
                for agent, spec in specs.items():
                    place = (setting, settings.TITLES[task], agent, task, spec)
                    played = scale.episodes(episodes), scale.seeds()
                    made.append(Cell.of(*place, *played, epsilon=EPSILON))
        return made

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Episodes until all is known, episodes without a near-optimal policy, and the reward."""
        found = self.cells(results.scale)
        return self.artefact(
            tables=[
                make
                for setting in SETTINGS
                for make in (
                    means_table(
                        results,
                        found,
                        setting,
                        "sample_complexity",
                        f"Episodes whose policy is more than {100 * EPSILON:.0f} % below the "
                        "optimum",
                        digits=0,
                    ),
                    finished_table(results, found, setting),
                    means_table(results, found, setting, "score", "Mean return over the optimum"),
                )
            ],
            notes=["Sample complexity is Definition 2's: exact evaluation of the policy in force."],
        )
