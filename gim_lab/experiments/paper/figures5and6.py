"""Figures 5 and 6: CasinoLand and RiverSwim, drawn from the MDPs themselves."""

from __future__ import annotations

import io
import re
from typing import Any

from gim import plot
from gim.envs.casinoland import casinoland
from gim.envs.riverswim import riverswim
from gim.mdp.tabular import TabularMDP
from gim_lab.experiments.artefact import Artefact, Drawing, Picture
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.paper.settings import PaperArtefact

PLACES = [(2.2 * i, j) for j in (0.0, 2.0) for i in range(4)]
PLAIN: Any = {"svg.fonttype": "none", "svg.hashsalt": "gim"}  # text as text; the same bytes again


class Figure5(PaperArtefact, name="fig5"):
    """Figure 5: CasinoLand, drawn from the MDP itself."""

    place = 5
    title = "Figure 5: CasinoLand"
    statement = (
        "Pulling a lever may pay a large reward with a small probability; action 2 in a "
        "lever room costs 100."
    )

    def analyse(self, results: ResultsByCell | None = None) -> Artefact:
        """Rooms below, lever rooms above them."""
        return self.artefact(
            pictures=[drawn(casinoland(), PLACES, "figure5", "CasinoLand")],
            notes=[
                "As in the published code: four rooms and four lever rooms. The paper's text "
                "speaks of six rooms and three levers. An arrow without a number is certain."
            ],
        )


class Figure6(PaperArtefact, name="fig6"):
    """Figure 6: RiverSwim, drawn from the MDP itself."""

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
            pictures=[drawn(mdp, places, "figure6", "RiverSwim")],
            notes=["An arrow without a number is certain; an agent starts in state 2."],
        )


def drawn(mdp: TabularMDP, places: list[tuple[float, float]], name: str, title: str) -> Picture:
    """All transitions as a graph."""
    from matplotlib import rc_context

    out, about = io.StringIO(), dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context(PLAIN):
        plot.graph(mdp, places=places).savefig(out, format="svg", metadata=about)
    svg = out.getvalue()
    svg = re.sub(r"<defs>\s*<style.*?</defs>", "", svg[svg.index("<svg") :], count=1, flags=re.S)
    return Picture(name, title, [Drawing("", svg)], wide=True)
