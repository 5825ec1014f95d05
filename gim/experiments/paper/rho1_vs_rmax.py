"""A claim without a figure: with rho = 1, curious walking alone still saves samples."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gim.agent import agents
from gim.experiments.artefact import Artefact
from gim.experiments.paper import settings
from gim.experiments.paper.base import Evidence, Experiment
from gim.experiments.paper.settings import GREEDY, RMAX, SETTINGS, Cell, Scale
from gim.experiments.paper.shapes import finished_table, means_table

EPSILON = 0.1  # of the optimum: an episode whose policy is worse is one of Definition 2's


@cache
def cells(scale: Scale) -> list[Cell]:
    """GIM with rho = 1 and RMax with the same m, on all four tasks."""
    made = []
    for setting in SETTINGS:
        for task, episodes in settings.EPISODES.items():
            gim = agents.make(settings.agent_word(setting, GREEDY, task))
            words = {
                f"{GREEDY}, ρ=1": str(replace(gim, rho=1.0)),
                RMAX: settings.agent_word(setting, RMAX, task),
            }
            for agent, word in words.items():
                place = (setting, settings.TITLES[task], agent, task, word)
                played = scale.episodes(episodes), scale.seeds()
                made.append(settings.cell(*place, *played, epsilon=EPSILON))
    return made


def analyse(evidence: Evidence) -> Artefact:
    """Episodes until all is known, episodes without a near-optimal policy, and the reward."""
    found = cells(evidence.scale)
    return EXPERIMENT.artefact(
        tables=[
            make
            for setting in SETTINGS
            for make in (
                means_table(
                    evidence,
                    found,
                    setting,
                    "sample_complexity",
                    f"Episodes whose policy is more than {100 * EPSILON:.0f} % below the optimum",
                    digits=0,
                ),
                finished_table(evidence, found, setting),
                means_table(evidence, found, setting, "score", "Mean return over the optimum"),
            )
        ],
        notes=["Sample complexity is Definition 2's: exact evaluation of the policy in force."],
    )


EXPERIMENT = Experiment(
    key="rho1",
    names=("rho1_vs_rmax",),
    title="Study: ρ = 1 against RMax",
    statement=(
        "With ρ = 1 nothing is completed, and GIM still has fewer episodes that are not "
        "ε-optimal than RMax: curious walking itself saves samples (Section 5, not shown)."
    ),
    cells=cells,
    analyse=analyse,
    paper=False,
)
