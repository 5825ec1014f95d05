"""Figure 11: the three measures against rank."""

from __future__ import annotations

from functools import cache

from gim.experiments.artefact import Artefact
from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.experiment import Experiment
from gim.experiments.paper.properties import CHOICE, property_cells, property_figure
from gim.experiments.scale import Scale
from gim.experiments.settings import SETTINGS


@cache
def cells(scale: Scale) -> list[Cell]:
    """The sweep over ranks."""
    return property_cells(scale, "rank")


def analyse(results: ResultsByCell) -> Artefact:
    """A figure per setting."""
    found = cells(results.scale)
    figures = [
        property_figure(results, found, setting, "rank", "figure11", "Rank") for setting in SETTINGS
    ]
    return EXPERIMENT.artefact(figures=figures, notes=[CHOICE])


EXPERIMENT = Experiment(
    key="fig11",
    names=("figure11",),
    title="Figure 11: rank",
    statement=(
        "As the rank grows GIM's TotalEps stays, while its PostAvgReward drops, because completion "
        "works worse."
    ),
    cells=cells,
    analyse=analyse,
)
