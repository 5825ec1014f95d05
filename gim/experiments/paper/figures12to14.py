"""Figures 12 to 14: the three measures against mu0, mu1 and kappa."""

from __future__ import annotations

from functools import cache

from gim.experiments.artefact import Artefact
from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.experiment import Experiment
from gim.experiments.paper.properties import (
    CHOICE,
    SYMBOLS,
    asked_table,
    property_cells,
    property_figure,
)
from gim.experiments.scale import Scale
from gim.experiments.settings import SETTINGS

NUMBERS = {"mu0": 12, "mu1": 13, "kappa": 14}


@cache
def cells(scale: Scale) -> list[Cell]:
    """Three sweeps; those of mu0 and kappa are Figure 4's."""
    return property_cells(scale, *NUMBERS)


def analyse(results: ResultsByCell) -> Artefact:
    """A figure per property and setting."""
    found = cells(results.scale)
    figures = [
        property_figure(
            results,
            found,
            setting,
            name,
            f"figure{number}",
            f"Figure {number}, {SYMBOLS[name]}",
        )
        for name, number in NUMBERS.items()
        for setting in SETTINGS
    ]
    return EXPERIMENT.artefact(
        figures=figures, tables=[asked_table(results.scale, *NUMBERS)], notes=[CHOICE]
    )


EXPERIMENT = Experiment(
    key="fig12to14",
    names=("fig12", "fig13", "fig14", "figure12", "figure13", "figure14", "figures12to14"),
    title="Figures 12 to 14: μ₀, μ₁ and κ",
    statement="Neither GIM's speed nor its accuracy changes much with μ₀, μ₁ or κ.",
    cells=cells,
    analyse=analyse,
)
