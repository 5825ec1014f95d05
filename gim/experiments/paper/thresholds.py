"""Sweeps over the known threshold m, which Figures 3 and 7 to 10 share.

The paper does not print its values of m, nor the number of episodes: ours are below, and those of
Figure 1.
"""

from __future__ import annotations

from gim.experiments.cells import Cell
from gim.experiments.paper import settings
from gim.experiments.paper.settings import MODEL_BASED
from gim.experiments.scale import Scale
from gim.experiments.settings import SETTINGS

M = (10, 20, 40, 60, 80, 100, 150, 200)
RANKS = (2, 4, 6, 8, 10)
CHOICE = (
    "The paper prints neither the values of m nor the number of episodes: we take m = "
    f"{', '.join(map(str, M))} and 10,000 episodes, as in Figure 1."
)


def threshold_cells(
    scale: Scale, tasks: dict[str, str], runs: int = 20, grid: tuple[int, ...] = M
) -> list[Cell]:
    """GIM and RMax on tasks (specs by panel) for every m, under both settings."""
    return [
        Cell.of(
            setting,
            panel,
            agent,
            task,
            settings.spec_under(setting, agent, name, m),
            scale.episodes(settings.EPISODES[name]),
            scale.seeds(runs),
            x=float(m),
        )
        for setting in SETTINGS
        for panel, task in tasks.items()
        for name in [task.split(":")[0]]
        for agent in MODEL_BASED
        for m in scale.grid(grid)
    ]
