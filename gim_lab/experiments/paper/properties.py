"""Figures 4 and 11 to 14: sweeps over properties of the dynamic matrices.

The paper does not print its values of mu0, mu1 and kappa. A synthetic task is drawn with the value
asked for, then clipped and normalised, which changes it: the axes show the realised value, the
median over the matrices of the instances played. The numerical rank is full after clipping whatever
was asked for, so that axis shows the rank asked for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from gim.envs import make
from gim_lab.experiments.artefact import Artefact, Figure, Table
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.figures import LABELS, sweep_figure
from gim_lab.experiments.paper import settings
from gim_lab.experiments.paper.settings import MODEL_BASED, PaperArtefact
from gim_lab.experiments.paper.thresholds import RANKS
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import SETTINGS, setting_title
from gim_lab.trials.spec import instance

M = 40
LOOKED_AT = 5  # instances over which a realised value is taken


CHOICE = (
    "The paper does not print its values of μ₀, μ₁ and κ: ours are in the table. Rank 2 for μ₀ "
    "and μ₁, rank 4 for κ, m 40, 10,000 episodes. Clipping and normalising leave every matrix with "
    "full numerical rank and 1 to 5 % of its energy beyond the rank asked for."
)
THREE = ("rank", "mu0", "kappa")  # of Figure 4
NUMBERS = {"mu0": 12, "mu1": 13, "kappa": 14}  # of the figures
SYMBOLS = {"rank": "rank", "mu0": "μ₀", "mu1": "μ₁", "kappa": "κ"}


class Sweep(NamedTuple):
    """One property, the rank at which it is varied, and the values asked for."""

    name: str
    rank: int | None
    values: tuple[float, ...]
    label: str


SWEEPS = {
    sweep.name: sweep
    for sweep in (
        Sweep("rank", None, tuple(map(float, RANKS)), "rank asked for"),
        Sweep("mu0", 2, (1.5, 2.0, 3.0, 5.0, 8.0), "μ₀, realised"),
        Sweep("mu1", 2, (2.5, 3.0, 4.0, 6.0, 9.0), "μ₁, realised"),
        Sweep("kappa", 4, (0.0, 1.0, 2.0, 4.0, 8.0, 16.0), "κ, realised"),
    )
}


def task(sweep: Sweep, value: float) -> str:
    """The synthetic task with this value."""
    rank = "" if sweep.rank is None else f"rank={sweep.rank},"
    return f"synthetic:{rank}{sweep.name}={value:g}"


def property_cells(scale: Scale, *names: str) -> list[Cell]:
    """GIM and RMax at every value of these properties, under both settings."""
    n = scale.episodes(settings.EPISODES["synthetic"])
    return [
        Cell.of(setting, name, agent, task(SWEEPS[name], value), spec, n, scale.seeds(), x=value)
        for setting in SETTINGS
        for name in names
        for agent in MODEL_BASED
        for spec in [settings.spec_under(setting, agent, "synthetic", M)]
        for value in scale.grid(SWEEPS[name].values)
    ]


@cache
def realised(spec: str, name: str) -> float:
    """What a drawn task has of a property: the median over its matrices."""
    return float(make(spec).info["realised"][name]["median"])


def on_axis(name: str, scale: Scale) -> dict[float, float]:
    """For every value asked for, the realised one: the mean over the first instances."""
    sweep = SWEEPS[name]
    values = scale.grid(sweep.values)
    if name == "rank":
        return {value: value for value in values}
    seeds = scale.seeds()[:LOOKED_AT]
    return {
        value: float(np.mean([realised(instance(task(sweep, value), k), name) for k in seeds]))
        for value in values
    }


def property_figure(
    results: ResultsByCell,
    cells: list[Cell],
    setting: str,
    name: str,
    stem: str,
    title: str,
    measures: tuple[str, ...] = tuple(LABELS),
) -> Figure:
    """The measures against one property."""
    return sweep_figure(
        results,
        [cell for cell in cells if cell.panel == name],
        setting,
        f"{stem}-{setting}",
        title,
        SWEEPS[name].label,
        measures,
        log_x=name == "kappa",
        where=on_axis(name, results.scale),
    )


def asked_table(scale: Scale, *names: str) -> Table:
    """What was asked for, and what the tasks have."""
    rows = [
        [name, value, round(there, 3)]
        for name in names
        if name != "rank"
        for value, there in on_axis(name, scale).items()
    ]
    return Table(
        "Asked for and realised",
        ["property", "asked for", "realised"],
        rows,
        f"Realised: the median over the S+1 matrices, the mean over {LOOKED_AT} instances at most. "
        "For kappa the spread asked for is the generator's own parameter.",
    )


class Figure4(PaperArtefact, name="fig4"):
    """Figure 4: AvgReward against rank, mu0 and kappa."""

    place = 4
    title = "Figure 4: rank, μ₀ and κ"
    statement = (
        "The average reward of GIM and RMax drops slightly as the rank grows, and is still high at "
        "full rank; GIM is ahead of RMax and does not change much with μ₀ or κ."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Three sweeps."""
        return property_cells(scale, *THREE)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """One figure of three panels per setting."""
        found, figures = self.cells(results.scale), []
        for setting in SETTINGS:
            parts = [
                property_figure(results, found, setting, name, "figure4", "", ("score",))
                for name in THREE
            ]
            panels = [
                replace(panel, title=f"AvgReward by {SYMBOLS[name]}")
                for name, part in zip(THREE, parts, strict=True)
                for panel in part.panels
            ]
            title = f"Properties of the dynamic matrices: {setting_title(setting)}"
            figures.append(Figure(f"figure4-{setting}", title, panels, parts[0].note))
        tables = [asked_table(results.scale, *THREE)]
        return self.artefact(figures=figures, tables=tables, notes=[CHOICE])


class Figure11(PaperArtefact, name="fig11"):
    """Figure 11: the three measures against rank."""

    place = 11
    title = "Figure 11: rank"
    statement = (
        "As the rank grows GIM's TotalEps stays, while its PostAvgReward drops, because completion "
        "works worse."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """The sweep over ranks."""
        return property_cells(scale, "rank")

    def analyse(self, results: ResultsByCell) -> Artefact:
        """A figure per setting."""
        found = self.cells(results.scale)
        figures = [
            property_figure(results, found, setting, "rank", "figure11", "Rank")
            for setting in SETTINGS
        ]
        return self.artefact(figures=figures, notes=[CHOICE])


class Figures12to14(PaperArtefact, name="fig12to14"):
    """Figures 12 to 14: the three measures against mu0, mu1 and kappa."""

    names = ("fig12", "fig13", "fig14")
    place = 12
    title = "Figures 12 to 14: μ₀, μ₁ and κ"
    statement = "Neither GIM's speed nor its accuracy changes much with μ₀, μ₁ or κ."

    def cells(self, scale: Scale) -> list[Cell]:
        """Three sweeps; those of mu0 and kappa are Figure 4's."""
        return property_cells(scale, *NUMBERS)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """A figure per property and setting."""
        found = self.cells(results.scale)
        figures = [
            property_figure(results, found, setting, name, f"figure{number}", title)
            for name, number in NUMBERS.items()
            for title in [f"Figure {number}, {SYMBOLS[name]}"]
            for setting in SETTINGS
        ]
        tables = [asked_table(results.scale, *NUMBERS)]
        return self.artefact(figures=figures, tables=tables, notes=[CHOICE])
