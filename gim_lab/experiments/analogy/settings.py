"""Who plays what in the study of analogy: tasks, their episodes at each scale, and the agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gim_lab.experiments.cells import Cell
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.plain_learners import SWEEP
from gim_lab.experiments.scale import Scale
from gim_lab.trials.seeds import seeds

ANALOGIST, PLAIN, POOLED = "Analogist", "plain twin", "pooled marginal"
AGENTS = {
    ANALOGIST: "analogist",
    PLAIN: SWEEP["none"],
    POOLED: "analogist:infer=analogy(candidates=marginal)",
}
RIVALS = (ANALOGIST, PLAIN)  # where a pooled marginal, as slow as the Analogist, would tell nothing
BEST = "best plain learner"

NEVER_WORSE = -0.005  # than the best plain learner, in the share of the optimum over all episodes
SMALL = {"smoke": 50, "quick": 1_000, "paper": 5_000, "full": 100_000}
LARGE = SMALL | {"smoke": 10, "paper": 1_000, "full": 20_000}  # S=50, A=40
HUGE = {"quick": 50, "paper": 100, "full": 10_000}  # Taxi: a plan of 4 ms


class AnalogyStudy(Experiment, abstract=True):
    """A part of the study of analogy; `place` is the order in which a reader asks.

    Does it pay, does it harm, may it be trusted, and how to walk for it.
    """

    groups: ClassVar[tuple[str, ...]] = ("analogy",)


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
    bound: float = NEVER_WORSE  # what is asked for over the best plain learner
    share: float | None = None  # of the optimum that is asked for over all episodes
    best: str = "none"  # UCBVI's bonus that suits it best (`best_plain`); "" where none was tried
    runs: int = 20  # at the most


def cells(
    places: Sequence[Place], scale: Scale, agents: Sequence[str] = tuple(AGENTS)
) -> list[Cell]:
    """These agents in every place; run k plays instance k from seed k, for all agents alike."""
    return [
        Cell.of(p.line, p.title, agent, p.task, AGENTS[agent], n, seeds(scale)[: p.runs], p.x)
        for p in places
        if (n := p.episodes.get(scale.name))
        for agent in agents
    ]


def best_plain(places: Sequence[Place], scale: Scale) -> list[Cell]:
    """The best plain learner of every place, chosen on other seeds (see `best_plain`)."""
    return [
        Cell.of(BEST, p.title, p.best, p.task, SWEEP[p.best], n, seeds(scale)[: p.runs])
        for p in places
        if p.best and (n := p.episodes.get(scale.name))
    ]
