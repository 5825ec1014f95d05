"""Tables 2 and 3: running times, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, ResultsByCell, pick
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.paper.settings import LEARNERS, PaperArtefact
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS, setting_title
from gim_lab.experiments.tables import estimate_of, spoken

PARTS = ("interacting", "completing", "planning", "thinking")
NOTE = (
    "Processor time, mean ± half of the 95 % interval; compiling and building the MDP are left out."
)


def times_tables(
    results: ResultsByCell, cells: Sequence[Cell], printed: Mapping[str, Sequence[float]]
) -> list[Table]:
    """Mean milliseconds of a run, a table per setting; where they went; and the paper's seconds."""
    tables = []
    for setting in SETTINGS:
        rows = []
        for panel in printed:
            found = {agent: pick(cells, setting, panel, agent)[0] for agent in LEARNERS}
            taken = (1000 * results.values(cell, "seconds_total") for cell in found.values())
            rows.append([panel, *(spoken(estimate_of(ms), 1) for ms in taken)])
        title = f"Milliseconds of a run: {setting_title(setting)}"
        tables.append(Table(title, ["task", *LEARNERS], rows, NOTE))
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


def _share(results: ResultsByCell, cell: Cell, part: str) -> str:
    return f"{1000 * results.values(cell, f'seconds_{part}').mean():.1f}"


TABLE2 = {  # seconds: GIM, RMax, Q-learning, Delayed-Q, Double-Q
    "Synthetic": (539.19, 694.15, 364.83, 530.47, 619.41),
    "GridWorld": (11.75, 13.94, 12.68, 11.2, 13.7),
    "CasinoLand": (7.21, 8.18, 3.61, 3.00, 3.93),
    "RiverSwim": (7.62, 6.06, 5.87, 4.88, 6.33),
}


class Table2(PaperArtefact):
    """Table 2: running times on the four tasks of Figure 1."""

    place = 1.5
    title = "Table 2: running times"
    statement = (
        "GIM is faster than RMax but on RiverSwim, where the one completion weighs, and "
        "comparable to the model-free learners."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The five learners of Figure 1."""
        return [c for c in cells_of("fig1", scale) if c.setting in SETTINGS and c.agent in LEARNERS]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Times, and where they went."""
        return self.artefact(
            tables=times_tables(results, self.cells(results.scale), TABLE2),
            notes=[
                "The published code sums a growing list of step times in every episode; most of "
                "the paper's seconds are that."
            ],
        )


TABLE3 = {  # seconds: GIM, RMax, Q-learning, Delayed-Q, Double-Q
    "S=20, A=10": (2165, 2410, 1386, 2244, 2465),
    "S=30, A=20": (2296, 4581, 1635, 2541, 3107),
    "S=40, A=30": (2304, 9778, 2007, 2477, 3413),
    "S=50, A=40": (2423, 19870, 2287, 2399, 3424),
}


class Table3(PaperArtefact):
    """Table 3: running times on synthetic tasks of growing size."""

    place = 2.5
    title = "Table 3: running times in larger environments"
    statement = (
        "From S=20 to S=50 RMax takes eight times as long, GIM about the same; GIM is much faster "
        "than RMax and Double-Q."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The five learners of Figure 2."""
        return [c for c in cells_of("fig2", scale) if c.agent in LEARNERS]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Times, and where they went."""
        return self.artefact(tables=times_tables(results, self.cells(results.scale), TABLE3))
