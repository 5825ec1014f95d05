"""Claims without a figure about rho: the advantage over RMax, and how small it may be."""

from __future__ import annotations

from dataclasses import replace

from gim.runs.agent import agents
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import sweep_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import GREEDY, RMAX, UnshownClaim
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

RHO = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BETA = (0.0, 0.2, 0.4)
M = 40
RELATED, UNRELATED = "rank 2", "rank 10"


def name(beta: float) -> str:
    """GIM's name in the legend."""
    return f"{GREEDY}, β={beta:g}"


class SweepRhoBeta(UnshownClaim, name="rho_beta"):
    """Claims without a figure about rho: the advantage over RMax, and how small it may be."""

    names = ("sweep_rho_beta",)
    place = 52
    title = "Study: ρ and β"
    statement = (
        "GIM's advantage over RMax is larger for smaller ρ, and the more the dynamics are related, "
        "the smaller ρ can be (Section 5.3, not shown)."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """GIM over a grid of rho and beta, and RMax, which has neither."""
        made = []
        for setting in SETTINGS:
            gim = agents.make(settings.spec_under(setting, GREEDY, "synthetic", M))
            rmax = settings.spec_under(setting, RMAX, "synthetic", M)
            for rho in scale.grid(RHO):
                specs = {name(beta): str(replace(gim, rho=rho, beta=beta)) for beta in BETA}
                for agent, spec in (specs | {RMAX: rmax}).items():
                    episodes = scale.episodes(settings.EPISODES["synthetic"])
                    place = (setting, RELATED, agent, "synthetic", spec, episodes)
                    made.append(Cell.of(*place, scale.seeds(), x=rho))
                    if agent == name(0.2):  # less related: the highest rank there is
                        place = (setting, UNRELATED, agent, "synthetic:rank=10", spec, episodes)
                        made.append(Cell.of(*place, scale.seeds(), x=rho))
        return made

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The three measures against rho, a line per beta."""
        found = self.cells(results.scale)
        figures = [
            sweep_figure(results, found, setting, f"rho-beta-{setting}", "ρ and β", "ρ")
            for setting in SETTINGS
        ]
        return self.artefact(figures=figures, notes=["Synthetic tasks of ranks 2 and 10, m 40."])
