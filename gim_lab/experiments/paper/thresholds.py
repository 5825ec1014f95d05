"""Figures 3 and 7 to 10: sweeps over the known threshold m.

The paper prints neither its values of m nor the number of episodes. Where exploring alone takes
10,000 episodes (m 200, RMax) a run of 10,000 says nothing of what it is for: the synthetic sweeps
have the 200,000 episodes of Figure 2, and the first 10,000 of each run are shown beside them.
"""

from __future__ import annotations

from gim_lab.experiments.artefact import Artefact, Figure
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import LABELS, sweep_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import MODEL_BASED, PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

M = (10, 20, 40, 60, 80, 100, 150, 200)
RANKS = (2, 4, 6, 8, 10)
GRIDS = {"4 × 4": "gridworld", "3 × 3": "gridworld:height=3,width=3"}
LONG, SHORT = 200_000, 10_000  # episodes, of Figures 2 and 1
CHOICE = (
    "The paper prints neither the values of m nor the number of episodes: we take m = "
    f"{', '.join(map(str, M))}."
)


def threshold_cells(
    scale: Scale, tasks: dict[str, str], runs: int = 20, episodes: int = LONG
) -> list[Cell]:
    """GIM and RMax on tasks (specs by panel) for every m, under both settings."""
    n, seeds = scale.episodes(episodes), scale.seeds(runs)
    return [
        Cell.of(setting, panel, agent, task, spec, n, seeds, x=float(m))
        for setting in SETTINGS
        for panel, task in tasks.items()
        for agent in MODEL_BASED
        for m in scale.grid(M)
        for spec in [settings.spec_under(setting, agent, task.split(":")[0], m)]
    ]


def drawn(
    results: ResultsByCell, cells: list[Cell], number: int, title: str, *measures: str
) -> list[Figure]:
    """A figure per setting, of all measures unless some are named."""
    shown = measures or tuple(LABELS)
    return [
        sweep_figure(results, cells, setting, f"figure{number}-{setting}", title, "m", shown)
        for setting in SETTINGS
    ]


class Figure3(PaperArtefact, name="fig3"):
    """Figure 3: the known threshold m on the synthetic task of rank 2."""

    place = 3
    title = "Figure 3: the known threshold m, rank 2"
    statement = (
        "For the same m GIM gains more than RMax and ends its exploration sooner, with a slightly "
        "worse policy; as m grows, RMax needs many more episodes to explore, GIM is robust."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Rank 2 only."""
        return threshold_cells(scale, {"rank 2": "synthetic"})

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The three measures against m."""
        figures = drawn(results, self.cells(results.scale), 3, "Known threshold")
        return self.artefact(figures=figures, notes=[CHOICE])


class Figures7to9(PaperArtefact, name="fig7to9"):
    """Figures 7 to 9: the three measures against m for ranks 2, 4, 6, 8 and 10."""

    names = ("fig7", "fig8", "fig9")
    place = 7
    title = "Figures 7 to 9: the known threshold m, ranks 2 to 10"
    statement = (
        "A larger m gives less reward within the same episodes, but GIM's falls much more slowly "
        "than RMax's and stays above 95 % of the optimum; GIM explores in far fewer episodes; its "
        "policy is less than 1 % worse than RMax's."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """All ranks; the cells of rank 2 are those of Figure 3."""
        tasks = {f"rank {r}": f"synthetic:rank={r}" for r in scale.grid(RANKS)}
        return threshold_cells(scale, tasks)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """A figure per measure and setting, a panel per rank."""
        found = self.cells(results.scale)
        figures = [
            figure
            for number, measure in enumerate(LABELS, start=7)
            for title in [f"Figure {number}, {LABELS[measure].split()[0]}"]
            for figure in drawn(results, found, number, title, measure)
        ]
        return self.artefact(figures=figures, notes=[CHOICE])


class Figure10(PaperArtefact, name="fig10"):
    """Figure 10: the known threshold m on grids of 3 x 3 and 4 x 4."""

    place = 10
    title = "Figure 10: the known threshold m, grid worlds"
    statement = (
        "On grid worlds it is as on the synthetic tasks: GIM explores sooner and gains more."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Both grids, 10 runs."""
        return threshold_cells(scale, GRIDS, runs=10, episodes=SHORT)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The three measures against m, on both grids."""
        figures = drawn(results, self.cells(results.scale), 10, "Known threshold")
        more = "The 3 × 3 grid has its goals at (2,2) and (3,3) as well."
        return self.artefact(figures=figures, notes=[CHOICE, more])
