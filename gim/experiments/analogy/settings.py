"""Who plays what in the study of analogy: tasks, their episodes at each scale, and the agents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import gymnasium

from gim.experiments.cells import Cell
from gim.experiments.experiment import Experiment
from gim.experiments.scale import Scale

FIRST = 2000  # of the seeds of a rehearsal, which may be looked at while agents are built
FRESH = 2200  # of the seeds that count, which may not

ANALOGIST, PLAIN, POOLED = "Analogist", "plain twin", "pooled marginal"
AGENTS = {
    ANALOGIST: "analogist",
    PLAIN: "analogist:infer=none",
    POOLED: "analogist:infer=analogy(candidates=marginal)",
}

SMALL = {"smoke": 50, "quick": 1_000, "paper": 10_000, "full": 100_000}
LARGE = SMALL | {"smoke": 10, "paper": 20_000}  # S=50, A=40
HUGE = {"quick": 50, "paper": 500, "full": 10_000}  # Taxi: a plan of 4 ms


class AnalogyStudy(Experiment, abstract=True):
    """A part of the study of analogy; `place` is the order in which a reader asks.

    Does it pay, does it harm, may it be trusted, and how to walk for it.
    """

    groups = ("analogy",)


def longer_only(episodes: Mapping[str, int]) -> dict[str, int]:
    """The same, but nothing at scale smoke."""
    return {scale: n for scale, n in episodes.items() if scale != "smoke"}


@dataclass(frozen=True)
class Place:
    """A task of the study."""

    title: str
    task: str  # without the seed of an instance
    episodes: Mapping[str, int] = field(hash=False)  # by scale; left out of a scale not named
    line: str = ""  # of a figure over ranks
    x: float = 0.0  # where that figure has it


def cells(places: Sequence[Place], scale: Scale) -> list[Cell]:
    """Every agent in every place; run k plays instance k from seed k, for all agents alike."""
    return [
        Cell.of(
            place.line,
            place.title,
            agent,
            place.task,
            spec,
            place.episodes[scale.name],
            seeds(scale),
            place.x,
        )
        for place in places
        if scale.name in place.episodes
        for agent, spec in AGENTS.items()
    ]


def seeds(scale: Scale) -> range:
    """Those of the runs at a scale; what was rehearsed is not played again where it counts."""
    first = FRESH if scale.whole else FIRST
    return range(first, first + scale.runs)


def newest(name: str) -> str:
    """The id of a Gymnasium environment in the newest version that is installed.

    Example:
        >>> newest("FrozenLake").startswith("FrozenLake-v")
        True
    """
    found = (re.fullmatch(rf"{name}-v(\d+)", key) for key in gymnasium.registry)
    versions = [int(match.group(1)) for match in found if match]
    if not versions:
        raise ValueError(f"gymnasium has no {name}: pip install gymnasium with its toy_text tasks")
    return f"{name}-v{max(versions)}"
