"""Who plays what in the study of variables: worlds, their episodes, and the learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gim_lab.experiments.cells import Cell
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.gymnasium_ids import newest
from gim_lab.experiments.plain_learners import SWEEP
from gim_lab.experiments.scale import Scale
from gim_lab.trials.seeds import CHOICE, MEASURE, seeds

ANALOGIST, TWIN, BEST = "Analogist", "plain twin", "best plain"
LEARNERS = {
    "PSRL": "psrl",
    ANALOGIST: "analogist",
    "R-MAX": "rmax:m={m}",
    "MORMAX": "mormax:m={m}",
    "factored R-MAX": "factored_rmax:m={m}",
    "Met-Rmax": "met_rmax:m={m},trials={m}",
    "relocatable R-MAX": "relocatable_rmax:m={m}",
}
CHOOSING = "choice"  # the setting of cells that only choose

EPISODES = {"smoke": 10, "quick": 300, "paper": 1_000, "full": 10_000}
LONG = EPISODES | {"paper": 300, "full": 1_000}  # where a plan takes long

GRID = "gridworld:height={0},width={0},horizon={1}"


@dataclass(frozen=True)
class Place:
    """A world of the study."""

    title: str
    task: str  # without the seed of an instance
    episodes: Mapping[str, int] = field(default_factory=EPISODES.copy, hash=False)
    m: int = 10  # visits that R-MAX and its kin ask for: 1 where nothing is random


STRUCTURED = (
    Place("grid 4x4", "gridworld"),
    Place("grid 8x8", GRID.format(8, 20)),
    Place("grid 20x20", GRID.format(20, 60), LONG),
    Place("FrozenLake 8x8", f"{newest('FrozenLake')}:map_name=8x8"),
    Place("two queues", "queues", LONG),
    Place("inventory", "inventory"),
)
WITHHELD = (
    Place("grid 4x4, withheld", "gridworld:variables=withheld"),
    Place("grid 8x8, withheld", GRID.format(8, 20) + ",variables=withheld"),
    Place("grid 20x20, withheld", GRID.format(20, 60) + ",variables=withheld", LONG),
)
BROKEN = (
    Place("unrelated (Garnet)", "garnet"),
    Place("full rank", "mixtures:S=20,A=10,rank=10,rewards=state"),
    Place("grid 8x8, shuffled", GRID.format(8, 20) + ",variables=shuffled"),
    Place("button", "button", m=1),
    Place("walls", "walls"),
    Place("teleports", "teleports"),
    Place(
        "CliffWalking, slippery",
        f"{newest('CliffWalking')}:is_slippery=true,max_episode_steps=100",
    ),
)
SMOKE = ("grid 4x4", "grid 4x4, withheld", "full rank")  # all that is played at scale smoke


class VariablesStudy(Experiment, abstract=True):
    """A part of the study of variables; `place` is the order in which a reader asks."""

    groups = ("variables",)


def cells(places: Sequence[Place], scale: Scale) -> list[Cell]:
    """All learners in all places; run k plays instance k from seed k, for all learners alike."""
    found = []
    for place in places:
        if scale.name == "smoke" and place.title not in SMOKE:
            continue
        n, task = place.episodes[scale.name], place.task
        for name, spec in LEARNERS.items():
            spec = spec.format(m=place.m)
            found.append(Cell.of("", place.title, name, task, spec, n, seeds(scale, MEASURE)))
        for name, spec in SWEEP.items():
            for setting, first in (("", MEASURE), (CHOOSING, CHOICE)):
                mine = seeds(scale, first)
                found.append(Cell.of(setting, place.title, name, task, spec, n, mine))
    return found
