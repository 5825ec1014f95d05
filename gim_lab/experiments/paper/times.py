"""Running times as Tables 2 and 3 show them, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gim_lab.experiments.artefact import Table
from gim_lab.experiments.cells import Cell, ResultsByCell, pick
from gim_lab.experiments.paper.settings import LEARNERS
from gim_lab.experiments.settings import SETTINGS, setting_title
from gim_lab.experiments.tables import estimate_of, spoken

PARTS = ("interacting", "completing", "planning", "thinking")


def times_tables(
    results: ResultsByCell, cells: Sequence[Cell], printed: Mapping[str, Sequence[float]]
) -> list[Table]:
    """Mean milliseconds of a run, a table per setting; where they went; and the paper's seconds."""
    tables = []
    for setting in SETTINGS:
        rows = []
        for panel in printed:
            found = {agent: pick(cells, setting, panel, agent)[0] for agent in LEARNERS}
            rows.append(
                [
                    panel,
                    *(spoken(estimate_of(milliseconds(results, c)), 1) for c in found.values()),
                ]
            )
        tables.append(
            Table(
                f"Milliseconds of a run: {setting_title(setting)}",
                ["task", *LEARNERS],
                rows,
                "Processor time, mean ± half of the 95 % interval; compiling and building the MDP "
                "are left out.",
            )
        )
    rows = [
        [panel, setting_title(setting), agent]
        + [_share(results, pick(cells, setting, panel, agent)[0], part) for part in PARTS]
        for setting in SETTINGS
        for panel in printed
        for agent in LEARNERS[:2]
    ]
    tables.append(
        Table("Where the time goes, in milliseconds", ["task", "settings", "agent", *PARTS], rows)
    )
    paper = [[panel, *map(float, row)] for panel, row in printed.items()]
    tables.append(Table("The paper's own, in seconds", ["task", *LEARNERS], paper))
    return tables


def milliseconds(results: ResultsByCell, cell: Cell) -> np.ndarray:
    """Time of each run, without compiling."""
    return 1000 * results.values(cell, "seconds_total")


def _share(results: ResultsByCell, cell: Cell, part: str) -> str:
    return f"{1000 * results.values(cell, f'seconds_{part}').mean():.1f}"
