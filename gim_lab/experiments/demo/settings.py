"""Which worlds the demonstration shows, who plays there, and what was learned after a little."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gim.runs.agent import agents
from gim.runs.run import prepare
from gim.runs.runs import Run
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.gymnasium_ids import newest
from gim_lab.trials.running import build

ANALOGIST, UCBVI, Q = "Analogist", "UCBVI", "Q-learning"
AGENTS = {ANALOGIST: "analogist", UCBVI: "ucbvi:growth=0.1", Q: "q_learning"}
EPISODES, RUNS = 100, 5


class World(NamedTuple):
    """A world that people know."""

    title: str
    task: str
    few: int  # episodes after which it is asked what was learned


GRID = World("Grid 8 x 8", "gridworld:height=8,width=8,horizon=40", 10)
LAKE = World("FrozenLake 8 x 8", f"{newest('FrozenLake')}:map_name=8x8", 30)
INVENTORY = World("Inventory", "inventory", 10)
WORLDS = (GRID, LAKE, INVENTORY)


class Demo(Experiment, abstract=True):
    """A section of the demonstration; `place` is the order in which a newcomer asks."""

    groups = ("demo",)


@lru_cache(maxsize=len(WORLDS))
def after_a_little(world: World) -> Run:
    """A short run of the default learner, from seed 0: whoever asks gets the same bits."""
    run = prepare(agents.make(AGENTS[ANALOGIST]), build(world.task), world.few, seed=0)
    return run.go()


@lru_cache(maxsize=len(WORLDS))
def rules_after_a_little(world: World) -> tuple[str, ...]:
    """What that run has learned, in sentences."""
    return tuple(str(rule) for rule in after_a_little(world).analogies())


def earned(run: Run) -> float:
    """The exact return of the best policy: its share of the way from random to optimal."""
    assert run.mdp is not None
    best, random = run.mdp.optimal_return(), run.mdp.random_return()
    return (run.mdp.policy_return(run.best_policy()) - random) / (best - random)
