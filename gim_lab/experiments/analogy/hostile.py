"""Worlds that could prove us wrong: patterns with exceptions, noise, other regions, no pattern."""

from __future__ import annotations

import numpy as np

from gim_lab.experiments.analogy import settings
from gim_lab.experiments.analogy.gains import share_figure, share_table
from gim_lab.experiments.analogy.settings import (
    ANALOGIST,
    LARGE,
    PLAIN,
    RIVALS,
    SMALL,
    AnalogyStudy,
    Place,
    longer_only,
)
from gim_lab.experiments.analogy.verdicts import KEPT, MISSED, judged
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, episodes_of, pick
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.tables import shares
from gim_lab.trials.seeds import seeds
from gim_lab.trials.spec import instance
from gim_lab.trials.trial import Trial

DRAWN = longer_only(LARGE)  # worlds that each run draws anew
LONG = {"quick": 300, "paper": 1_000, "full": 10_000}  # many steps in an episode
# The chance that a special action leads to the treasure: the bonus of the best plain learner there.
EXCEPTIONS = {0.1: "0.01", 0.3: "0.003", 0.03: "0.01"}
PLACES = (
    *(
        Place(f"exceptions, p={p:g}", f"exceptions:p={p:g}", DRAWN, best=best)
        for p, best in EXCEPTIONS.items()
    ),
    Place("noisy arms", "noisy_arms", SMALL),
    Place("gate", "gate", DRAWN, best="0.003"),
    Place("linear", "linear", DRAWN, best="0.003"),
    Place("linear, rewards -1 to 0", "linear:low=-1,high=0", DRAWN, best="0.003"),
    Place("linear, rewards 0 to 10,000", "linear:high=10000", DRAWN, best="0.003"),
    Place("prototypes", "prototypes", DRAWN, best="0.003"),
    Place("clusters", "clusters", DRAWN, bound=0.08, best="0.003"),
    Place("duplicates", "duplicates", DRAWN, best="0.003"),
    Place("Garnet", "garnet", DRAWN, best="0.003"),
    Place("inventory", "inventory", LONG, best="0.003"),
    Place("queues", "queues", LONG | {"paper": 300, "full": 1_000}, best="0.003"),
)
OTHER = 500  # added to a seed: a second twin, in the same instance, from another seed
ANOTHER = "another twin"
ROOM = 0.01  # by which a worst run may be below the worst of two twins


class Hostile(AnalogyStudy):
    """Worlds that could prove us wrong."""

    names = ("exceptions", "noise")
    place = 102.5
    title = "Study: worlds that could prove us wrong"
    statement = (
        "Does analogy harm where a few pairs break the pattern, where rewards are noisy, where a "
        "region is unlike the rest, or where nothing is like anything else?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The Analogist, its twin and the best plain learner; a second twin for exceptions."""
        found = settings.cells(PLACES, scale, RIVALS)
        return [*found, *settings.best_plain(PLACES, scale), *second_twins(scale)]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Bounds, worst runs, curves and their totals."""
        found = settings.cells(PLACES, results.scale, RIVALS)
        worst = worst_runs(results, found, second_twins(results.scale))
        title = "Exceptions, noise, other regions, no pattern"
        return self.artefact(
            figures=[share_figure(results, found, "analogy-hostile", title)],
            tables=[
                *judged(results, PLACES),
                *([worst] if worst.rows else []),
                share_table(results, found),
            ],
            notes=[
                "Exceptions: low rank, but one action of each state leads with probability p to a "
                "treasure. Noisy arms: one of 40 actions pays 1, all under noise of 1. Gate: a "
                "region unlike the rest, seldom reached. Linear: nothing is known of a pair "
                "before it was played. Duplicates: five copies of each action.",
            ],
        )


def second_twins(scale: Scale) -> list[Cell]:
    """The plain twin in the worlds with exceptions, once more, from other seeds."""
    found = []
    for place in PLACES[: len(EXCEPTIONS)]:
        if scale.name in place.episodes:
            n, spec = place.episodes[scale.name], settings.AGENTS[PLAIN]
            trials = tuple(Trial(instance(place.task, k), spec, n, k + OTHER) for k in seeds(scale))
            found.append(Cell("", place.title, ANOTHER, 0.0, trials))
    return found


def worst_runs(results: ResultsByCell, cells: list[Cell], again: list[Cell]) -> Table:
    """The worst difference of a run to the twin's, beside the worst between two twins."""
    rows = []
    for second in again:
        end = [episodes_of(second)]
        mine, twin = (
            pick(cells, panel=second.panel, agent=agent)[0] for agent in (ANALOGIST, PLAIN)
        )
        score = {cell: shares(results, cell, end)[:, 0] for cell in (mine, twin, second)}
        worst = least(score[mine] - score[twin])
        chance = least(-np.abs(score[second] - score[twin]))
        said = "-" if np.isnan(worst + chance) else KEPT if worst >= chance - ROOM else MISSED
        rows.append([second.panel, f"{end[0]:,}", f"{worst:+.3f}", f"{chance:+.3f}", said])
    return Table(
        "Worst runs",
        ["task", "episodes", "Analogist less twin", "twin less twin", "verdict"],
        rows,
        "The lowest difference of any run over all its episodes; between two twins in the same "
        f"instance, from two seeds, in either order. Kept if it is no lower by more than {ROOM:g}.",
    )


def least(values: Floats) -> float:
    """The lowest of the runs that there are."""
    found = values[np.isfinite(values)]
    return float(found.min()) if found.size else float("nan")
