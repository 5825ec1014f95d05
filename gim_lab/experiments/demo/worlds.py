"""The default learner beside plain ones, on worlds that people know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gim._base.averages import equal_groups
from gim_lab.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, by_panel, episodes_of
from gim_lab.experiments.demo.settings import AGENTS, EPISODES, RUNS, WORLDS, Demo
from gim_lab.experiments.figures import band_line, regret_figure
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.tables import estimate_of, runs_of, spoken

WINDOW = 5  # episodes that a point is the mean of
WAY = "share of the way from the random policy (0) to the exact optimum (1)"


class DemoWorlds(Demo):
    """The default learner beside plain ones, on worlds that people know."""

    place = 90.2
    title = "Few episodes are enough"
    heading = "The learners"
    statement = (
        "The Analogist is the default learner of gim. UCBVI is its plain twin: the same planning "
        "and optimism, but every pair stands for itself. Q-learning learns values without a model. "
        "None is told anything of a world but its variables (row and column, stock and order) and "
        "the range of rewards."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Three learners in three worlds."""
        return [
            Cell.of("", w.title, name, w.task, spec, scale.episodes(EPISODES), scale.seeds(RUNS))
            for w in WORLDS
            for name, spec in AGENTS.items()
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Returns and regret by episode, and their means."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[
                _return_figure(results, found),
                regret_figure(results, found, "", "demo-regret", "Regret: what was lost so far"),
            ],
            tables=[_table(results, found)],
        )


def _return_figure(results: ResultsByCell, cells: Sequence[Cell]) -> Figure:
    panels = [
        Panel(panel, "episode", "random 0, optimum 1", [_curve(results, cell) for cell in inside])
        for panel, inside in by_panel(cells)
    ]
    size = min(WINDOW, episodes_of(cells[0]))
    note = f"{WAY.capitalize()}. {runs_of(cells)}. A point is the mean of {size} episodes."
    return Figure("demo-returns", "Return of an episode", panels, note)


def _curve(results: ResultsByCell, cell: Cell) -> Series:
    episode, returns = results.curves(cell, "return")
    parts = equal_groups(episode.size, WINDOW)
    ways = _ways(results, cell, returns)
    return band_line(cell.agent, episode[parts].mean(axis=1), ways[:, parts].mean(axis=2))


def _table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    rows = []
    for panel, inside in by_panel(cells):
        means = [_ways(results, c, results.values(c, "mean_return")[:, None]) for c in inside]
        rows.append([panel, *(spoken(estimate_of(mean[:, 0]), 2) for mean in means)])
    note = f"{WAY.capitalize()}, over all episodes. {runs_of(cells)}."
    return Table("Mean return", ["world", *AGENTS], rows, note)


def _ways(results: ResultsByCell, cell: Cell, returns: Floats) -> Floats:
    best, random = (results.values(cell, f"{w}_return")[:, None] for w in ("optimal", "random"))
    return np.asarray((returns - random) / (best - random))
