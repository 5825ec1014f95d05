"""A claim without a figure: with a higher m GIM gains more in the larger environments."""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper.figure2 import M, larger
from gim_lab.experiments.paper.settings import GREEDY, UnshownClaim
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS
from gim_lab.experiments.tables import means_table

HIGHER = (M, 2 * M, 4 * M)


def name(m: int) -> str:
    """GIM's name in the table."""
    return f"{GREEDY}, m={m}"


class HigherM(UnshownClaim):
    """A claim without a figure: with a higher m GIM gains more in the larger environments."""

    place = 54
    title = "Study: a higher m in larger environments"
    statement = (
        "In Figure 2 m 100 is too low for the large environments; with a higher m GIM's rewards "
        "would be higher (Section 7.1, not shown)."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """GIM with three values of m on the four sizes of Figure 2."""
        return larger(scale, {name(m): (GREEDY, m) for m in HIGHER})

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The value of the last policy, and the reward of all episodes."""
        found = self.cells(results.scale)
        return self.artefact(
            tables=[
                means_table(results, found, setting, measure, title)
                for setting in SETTINGS
                for measure, title in (
                    ("final_score", "Last policy over the optimum"),
                    ("score", "Mean return over the optimum"),
                )
            ]
        )
