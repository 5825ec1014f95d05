"""Sweeps over the known threshold m, which Figures 3 and 7 to 10 share.

The paper prints neither its values of m nor the number of episodes. Where exploring alone takes
10,000 episodes (m 200, RMax) a run of 10,000 says nothing of what it is for: the synthetic sweeps
have the 200,000 episodes of Figure 2, and the first 10,000 of each run are shown beside them.
"""

from __future__ import annotations

from gim_lab.experiments.cells import Cell
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import MODEL_BASED
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS

M = (10, 20, 40, 60, 80, 100, 150, 200)
RANKS = (2, 4, 6, 8, 10)
LONG, SHORT = 200_000, 10_000  # episodes, of Figures 2 and 1
CHOICE = (
    "The paper prints neither the values of m nor the number of episodes: we take m = "
    f"{', '.join(map(str, M))}."
)


def threshold_cells(
    scale: Scale, tasks: dict[str, str], runs: int = 20, episodes: int = LONG
) -> list[Cell]:
    """GIM and RMax on tasks (specs by panel) for every m, under both settings."""
    return [
        Cell.of(
            setting,
            panel,
            agent,
            task,
            settings.spec_under(setting, agent, name, m),
            scale.episodes(episodes),
            scale.seeds(runs),
            x=float(m),
        )
        for setting in SETTINGS
        for panel, task in tasks.items()
        for name in [task.split(":")[0]]
        for agent in MODEL_BASED
        for m in scale.grid(M)
    ]
