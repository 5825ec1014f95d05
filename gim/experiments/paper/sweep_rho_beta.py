"""A claim without a figure: GIM's advantage over RMax is larger for smaller rho."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gim.agent import agents
from gim.experiments.artefact import Artefact
from gim.experiments.paper import settings
from gim.experiments.paper.base import Evidence, Experiment
from gim.experiments.paper.settings import GREEDY, RMAX, SETTINGS, Cell, Scale
from gim.experiments.paper.shapes import sweep_figure

RHO = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BETA = (0.0, 0.2, 0.4)
M = 40


def name(beta: float) -> str:
    """GIM's name in the legend."""
    return f"{GREEDY}, β={beta:g}"


@cache
def cells(scale: Scale) -> list[Cell]:
    """GIM over a grid of rho and beta, and RMax, which has neither."""
    made = []
    for setting in SETTINGS:
        gim = agents.make(settings.agent_word(setting, GREEDY, "synthetic", M))
        rmax = settings.agent_word(setting, RMAX, "synthetic", M)
        for rho in scale.grid(RHO):
            words = {name(beta): str(replace(gim, rho=rho, beta=beta)) for beta in BETA}
            for agent, word in (words | {RMAX: rmax}).items():
                episodes = scale.episodes(settings.EPISODES["synthetic"])
                place = (setting, "Synthetic", agent, "synthetic", word, episodes)
                made.append(settings.cell(*place, scale.seeds(), x=rho))
    return made


def analyse(evidence: Evidence) -> Artefact:
    """The three measures against rho, a line per beta."""
    found = cells(evidence.scale)
    figures = [
        sweep_figure(evidence, found, setting, f"rho-beta-{setting}", "ρ and β", "ρ")
        for setting in SETTINGS
    ]
    return EXPERIMENT.artefact(figures=figures, notes=["Synthetic task of rank 2, m 40."])


EXPERIMENT = Experiment(
    key="rho_beta",
    names=("sweep_rho_beta",),
    title="Study: ρ and β",
    statement="GIM's advantage over RMax is larger for smaller ρ (said in Section 4, not shown).",
    cells=cells,
    analyse=analyse,
    paper=False,
)
