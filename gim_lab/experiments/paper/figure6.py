"""Figure 6: RiverSwim, drawn from the MDP itself."""

from __future__ import annotations

from gim.envs.riverswim import riverswim
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.graphs import graph_figure
from gim_lab.experiments.paper.settings import PaperArtefact


class Figure6(PaperArtefact, name="fig6"):
    """Figure 6: RiverSwim, drawn from the MDP itself."""

    names = ("figure6",)
    place = 6
    title = "Figure 6: RiverSwim"
    statement = (
        "A chain of six states: swimming right is hard, and pays 10,000 at the far end; the "
        "near end pays 5."
    )

    def analyse(self, results: ResultsByCell | None = None) -> Artefact:
        """The river from left to right."""
        mdp = riverswim()
        places = [(1.7 * s, 0.0) for s in range(mdp.S)]
        return self.artefact(
            figures=[graph_figure(mdp, places, "figure6", "RiverSwim")],
            notes=["An arrow without a number is certain; an agent starts in state 2."],
        )
