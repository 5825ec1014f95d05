"""A claim without a figure: curious walking needs fewer steps until enough is known."""

from __future__ import annotations

import math
from functools import cache

from gim.agents.gim import GIM
from gim.envs.worlds import world_of
from gim.runs.run import prepare
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import UnshownClaim
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import FAIR
from gim_lab.experiments.tables import finished_table
from gim_lab.trials.spec import instance

CURIOUS, PUBLISHED = "curious (Alg. 1)", "as published"
BALANCED, UNIFORM, PLANNED = "balanced wandering", "uniform", "planned"
WALKS = {
    CURIOUS: "curious",
    PUBLISHED: "published",
    BALANCED: "balanced",
    UNIFORM: "uniform",
    PLANNED: "planned",
}


def explorer(walk: str) -> GIM:
    """GIM as in the paper, with a walk by its name here."""
    return GIM.paper(exploration=WALKS[walk], completion=settings.COMPLETION)


@cache
def unevenness(task: str, walk: str, seed: int) -> float:
    """Standard deviation over states of the known actions when exploration ends; NaN: it did not.

    The run is that of the trial of the same seed, and is made anew.
    """
    world = world_of(instance(task, seed))
    run = prepare(explorer(walk), world, settings.EPISODES[task], seed).go()
    if run.explored_at is None:
        return math.nan
    return float(run.memory.known.mask.sum(axis=1).std())


class Walks(UnshownClaim):
    """A claim without a figure: curious walking needs fewer steps until enough is known."""

    place = 53
    title = "Study: walks against each other"
    statement = (
        "Curious walking needs fewer steps than existing methods, and spreads them more evenly "
        "(Sections 1 and 5.2, not shown)."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """GIM with every walk on every task; all else as in the paper."""
        specs = {name: str(explorer(name)) for name in WALKS}
        return settings.on_tasks(scale, FAIR, lambda task: specs)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Episodes until rho*S*A pairs are known."""
        return self.artefact(
            tables=[finished_table(results, self.cells(results.scale), FAIR)],
            notes=["GIM with m 40, ρ 0.8, β 0.2; a walk that plans does so on top of its steps."],
        )
