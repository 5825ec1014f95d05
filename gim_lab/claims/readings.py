"""GIM under a setting, of which the kindest reading of the text may be one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gim_lab.claims.claim import Part, Selection
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, pick
from gim_lab.experiments.paper.readings import READINGS
from gim_lab.experiments.paper.settings import GREEDY
from gim_lab.experiments.settings import FAIR, KINDEST, SETTINGS

THREE: dict[str, Any] = {  # of claims that are judged under the kindest reading as well
    "settings": (*SETTINGS, KINDEST),
    "besides": {KINDEST: ("readings",)},
}


class Ours:
    """GIM's runs in every panel of an experiment.

    Args:
        results: what was run.
        setting: one of `THREE`.
        experiment: whose GIM it is; with the kindest reading that of the study of readings.
    """

    def __init__(self, results: ResultsByCell, setting: str, experiment: str) -> None:
        self.kind = setting == KINDEST
        self.runs = Selection(results, "readings" if self.kind else experiment, others(setting))
        self.panels = self.runs.panels

    def cell(self, panel: str) -> Cell:
        """Its cell in a panel: that of the reading whose mean score is the highest."""
        if not self.kind:
            return self.runs.at(panel, GREEDY)[0]
        return best(
            (self.runs.at(panel, reading)[0] for reading in READINGS),
            lambda cell: self.runs.of(cell, "score"),
            -math.inf,
        )

    def __call__(self, panel: str, measure: str) -> Floats:
        """A measure of every run."""
        return self.runs.of(self.cell(panel), measure)

    def name(self, panel: str) -> str:
        """What numbers call it."""
        return f"GIM ({self.cell(panel).agent})" if self.kind else GREEDY

    def noted(self, part: Part, panel: str) -> Part:
        """A part with the scores of all readings side by side."""
        if not self.kind:
            return part
        cells = (pick(self.runs.cells, panel=panel, agent=reading)[0] for reading in READINGS)
        scores = [f"{c.agent} {self.runs.of(c, 'score').mean():.3f}" for c in cells]
        return replace(part, numbers=f"{part.numbers}; scores: {', '.join(scores)}")


def others(setting: str) -> str:
    """The setting of the others: a reading of the text is GIM's."""
    return FAIR if setting == KINDEST else setting


def best(among: Iterable[Any], values: Callable[[Any], Floats], missing: float = math.inf) -> Any:
    """What has the highest mean; `missing` stands for one that has none and might be anything."""

    def mean(each: Any) -> float:
        found = float(values(each).mean())
        return missing if math.isnan(found) else found

    return max(among, key=mean)
