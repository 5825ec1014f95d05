"""The scoreboard: every registered learner, in eight worlds, at three budgets of one run.

Every learner plays with its own defaults, and none is tuned to a world; a few stand a second time
with a setting that the field knows them by (`BESIDES`). Run k plays instance k of the drawn worlds
from seed k, for all learners alike, and scores after fewer episodes are those of the same run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gim.agents.gim import GIM
from gim.runs.agent import agents
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, by_panel, episodes_of, pick
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.gymnasium_ids import newest
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.tables import estimate_of, shares, spoken

FIRST = {"smoke": 100, "quick": 100}  # seeds of a rehearsal begin here,
FRESH = 8000  # and those that count here
BUDGETS = (100, 1_000, 5_000)  # episodes

WORLDS = {
    "Synthetic": "synthetic",
    "GridWorld": "gridworld",
    "CasinoLand": "casinoland",
    "RiverSwim": "riverswim",
    "shared factors": "shared_factors",
    "grid 8x8": "gridworld:height=8,width=8,cost=0,horizon=20",
    "FrozenLake": newest("FrozenLake"),
    "inventory": "inventory",
}
SMALL = ("CasinoLand", "RiverSwim")  # all that is played at scale smoke
BESIDES = (
    str(GIM.paper()),
    "optimistic_q_learning:bonus=bernstein",
    "ucbvi:scale=none,growth=0.1",
)


def learners() -> list[str]:
    """The specs of all that play: every registered agent by its defaults, and `BESIDES`."""
    return sorted([*agents.names(), *BESIDES])


class Scoreboard(Experiment):
    """Every registered learner in eight worlds."""

    place = 200
    title = "Study: the scoreboard"
    statement = "What does every learner earn in its first 100, 1,000 and 5,000 episodes?"

    def cells(self, scale: Scale) -> list[Cell]:
        """Everyone in every world."""
        first = FRESH if scale.whole else FIRST[scale.name]
        n, seeds = scale.episodes(BUDGETS[-1]), range(first, first + scale.runs)
        return [
            Cell.of("", world, learner, task, learner, n, seeds)
            for world, task in WORLDS.items()
            if scale.name != "smoke" or world in SMALL
            for learner in learners()
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """All of it in one table, those who did best first."""
        found = self.cells(results.scale)
        return self.artefact(tables=[at_the_end(results, found), at_each(results, found)])


def played(values: Floats) -> Floats:
    """Without the runs that are missing."""
    return values[np.isfinite(values)]


def at_the_end(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per learner, a column per world: shares after all episodes, and the time of it all."""
    episodes = episodes_of(cells[0])
    rows = {}
    for learner in dict.fromkeys(cell.agent for cell in cells):
        mine = pick(cells, agent=learner)
        scores = [played(shares(results, cell, [episodes])[:, 0]) for cell in mine]
        seconds = [played(results.values(cell, "seconds_total")) for cell in mine]
        mean = float(np.mean([each.mean() if each.size else np.nan for each in scores]))
        time = sum(each.mean() for each in seconds if each.size)
        texts = [spoken(estimate_of(each)) for each in scores]
        rows[learner] = mean, [named(learner), *texts, f"{mean:.3f}", f"{time:,.1f}"]
    ranked = sorted(rows.values(), key=lambda row: np.inf if np.isnan(row[0]) else -row[0])
    heads = ["learner", *(panel for panel, _ in by_panel(cells)), "mean", "seconds"]
    note = (
        f"Mean return of {episodes:,} episodes over the optimum ± half of the 95 % interval, "
        f"{runs_in(results, cells)}; the mean over worlds; and the seconds of one run in each of "
        "them together, on one core, without compiling."
    )
    return Table(f"Share of the optimum after {episodes:,} episodes", heads, _texts(ranked), note)


def at_each(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per world and learner, a column per budget, and the time of a run."""
    ends = [n for n in BUDGETS if n <= episodes_of(cells[0])] or [episodes_of(cells[0])]
    rows = []
    for panel, inside in by_panel(cells):
        ranked = []
        for cell in inside:
            found = [played(each) for each in shares(results, cell, ends).T]
            texts = [spoken(estimate_of(each)) for each in found]
            seconds = played(results.values(cell, "seconds_total"))
            last = found[-1].mean() if found[-1].size else np.nan
            time = f"{seconds.mean():.2f}" if seconds.size else "-"
            ranked.append((last, [panel, named(cell.agent), *texts, time]))
        ranked.sort(key=lambda row: np.inf if np.isnan(row[0]) else -row[0])
        rows += _texts(ranked)
    heads = ["world", "learner", *(f"first {n:,}" for n in ends), "seconds"]
    note = (
        "Mean return of the first episodes of one run over the optimum ± half of the 95 % "
        f"interval, {runs_in(results, cells)}; seconds of a run, on one core, without compiling."
    )
    return Table("Scores at each budget", heads, rows, note)


def named(learner: str) -> str:
    """What a table calls a learner: its spec, GIM as in the paper by the name of its preset."""
    return "gim.paper" if learner == str(GIM.paper()) else learner


def runs_in(results: ResultsByCell, cells: Sequence[Cell]) -> str:
    """How many runs the means are of, those missing left out."""
    counts = [played(results.values(cell, "score")).size for cell in cells]
    few, many = min(counts), max(counts)
    return f"{many} runs" if few == many else f"{few} to {many} runs"


def _texts(ranked: Sequence[tuple[float, list[str]]]) -> list[list[str]]:
    return [texts for _, texts in ranked]
