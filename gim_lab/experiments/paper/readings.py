"""Where the text can be read in more than one way, and the reading decides."""

from __future__ import annotations

from typing import Any

from gim.agents.gim import GIM
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.samples import EPSILON
from gim_lab.experiments.paper.settings import UnshownClaim
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import FAIR
from gim_lab.experiments.tables import finished_table, means_table

LETTER = "to the letter"
LOW = "als(rank=2,ridge=0.03)"  # rank 10 with 10 actions or fewer is no bound on the rank
READINGS: dict[str, dict[str, Any]] = {
    LETTER: {"completion": settings.COMPLETION},
    "seen rewards": {"completion": settings.COMPLETION, "reward_data": "visited"},
    "strict": {"completion": settings.COMPLETION, "strict": True},
    "both": {"completion": settings.COMPLETION, "reward_data": "visited", "strict": True},
    "rank 2": {"completion": LOW},
    "all three": {"completion": LOW, "reward_data": "visited", "strict": True},
}


class Readings(UnshownClaim):
    """Where the text can be read in more than one way, and the reading decides."""

    place = 50
    title = "Study: readings of the text"
    statement = (
        "The text does not say which rewards are data for the completion, how the known pairs must "
        "be spread, or which bound on the rank the completion has."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """GIM in every reading on every task; all else as in the paper."""
        specs = {name: str(GIM.paper(**reading)) for name, reading in READINGS.items()}
        return settings.on_tasks(scale, FAIR, lambda task: specs, epsilon=EPSILON)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Reward, last policy, exploration and sample complexity, reading by reading."""
        found = self.cells(results.scale)
        return self.artefact(
            tables=[
                means_table(results, found, FAIR, "score", "Mean return over the optimum"),
                means_table(results, found, FAIR, "final_score", "Last policy over the optimum"),
                finished_table(results, found, FAIR),
                means_table(results, found, FAIR, "sample_complexity", "Definition 2", digits=0),
            ],
            notes=[
                "To the letter: Algorithms 1 and 2, rewards of known pairs only, completion by ALS "
                "of rank 10 and ridge 0.03 as in the published code. Seen rewards: the mean reward "
                "of a pair counts as soon as it was visited once. Strict: every state and every "
                "action has ρ/2 of its pairs known (a switch of the published code). Rank 2: the "
                "completion's bound on the rank is 2; 10 is none at all where there are 10 actions "
                "or fewer.",
                "On RiverSwim the last state is seldom reached: to the letter its reward is not "
                "known when exploration ends, the completion infers something near zero, and GIM "
                "never goes there again.",
            ],
        )
