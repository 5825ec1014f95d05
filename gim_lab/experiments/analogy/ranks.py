"""MDPs of exactly low rank: what analogy brings as the rank grows and less is shared."""

from __future__ import annotations

from gim_lab.experiments.analogy import settings
from gim_lab.experiments.analogy.gains import compared, gain_figure
from gim_lab.experiments.analogy.settings import (
    LARGE,
    NEVER_WORSE,
    POOLED,
    RIVALS,
    AnalogyStudy,
    Place,
    longer_only,
)
from gim_lab.experiments.analogy.verdicts import judged
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale

RANKS = ((2, 5), (5, 8), (12, 16))  # J and K
BLOCKS = 10
PAYS = 0.04  # what a few kinds of state must bring over the best plain learner
SHARED = {  # who shares factors: parameters of the task, and the ranks
    "shared state": ("shared=state", RANKS),
    "shared action": ("shared=action", RANKS[::2]),
    "none shared": (f"blocks={BLOCKS}", RANKS[:2]),
}

BEST = {  # bonus of the best plain learner
    ("shared state", 2): "0.003",
    ("shared state", 5): "0.003",
    ("shared state", 12): "0.01",
    ("shared action", 2): "0.003",
    ("shared action", 12): "0.003",
    ("none shared", 2): "0.003",
    ("none shared", 5): "0.003",
}


def place(line: str, given: str, J: int, K: int) -> Place:
    """S=50 and A=40 are the generator's own; of each line the lowest rank is played at smoke."""
    episodes = LARGE if RANKS[0] == (J, K) else longer_only(LARGE)
    title = f"{line}, J={J}"
    task, x = f"shared_factors:J={J},K={K},{given}", float(J)
    bound = PAYS if line == "shared state" and J <= 5 else NEVER_WORSE
    return Place(title, task, episodes, line, x, bound, best=BEST[line, J])


PLACES = tuple(
    place(line, given, J, K) for line, (given, ranks) in SHARED.items() for J, K in ranks
)


class Ranks(AnalogyStudy):
    """MDPs of exactly low rank: what analogy brings as the rank grows and less is shared."""

    names = ("rank_sweep",)
    place = 101
    title = "Study: low rank, shared or not"
    statement = (
        "Does analogy pay where dynamics are related, and does it stop paying, without harm, as "
        "the rank grows and as matrices of low rank share nothing?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Two agents on seven tasks, a third where states share, and the best plain learner."""
        return [*compared_cells(scale), *settings.best_plain(PLACES, scale)]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves, their totals, and the gains against the rank."""
        found = compared_cells(results.scale)
        title = "Exactly low rank, S=50 and A=40"
        curves, tables = compared(results, found, "analogy-ranks", title)
        return self.artefact(
            figures=[
                curves,
                gain_figure(results, found, "analogy-gain", "What analogy brings, by rank"),
            ],
            tables=[*judged(results, PLACES), *tables],
            notes=[
                "Every dynamic matrix has rank J. Shared state: one set of J kinds of state "
                "serves all next states; shared action: likewise for actions.",
                f"None shared: next states lie in {BLOCKS} blocks, each with kinds of its own. "
                "Blocks have in common only that their probabilities sum to the same: at J=2 the "
                "state-mode unfolding still has rank 11 of 50, at J=5 rank 41.",
                "K is 5, 8 and 16 at J 2, 5 and 12. Rewards are those of states.",
            ],
        )


def compared_cells(scale: Scale) -> list[Cell]:
    """The Analogist and its twin everywhere, the pooled marginal where states share factors."""
    shared = [place for place in PLACES if place.line == "shared state"]
    return [*settings.cells(PLACES, scale, RIVALS), *settings.cells(shared, scale, (POOLED,))]
