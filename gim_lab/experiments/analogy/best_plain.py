"""Which plain learner is the best of each task: UCBVI with five bonuses, on seeds of their own."""

from __future__ import annotations

import numpy as np

from gim_lab.experiments.analogy import classics, hostile, ranks, unrelated
from gim_lab.experiments.analogy.settings import AnalogyStudy
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, ResultsByCell, episodes_of, pick
from gim_lab.experiments.plain_learners import BONUSES, SWEEP
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.tables import NOTHING, shares
from gim_lab.trials.seeds import CHOICE, seeds

PLACES = (*ranks.PLACES, *unrelated.PLACES, *hostile.PLACES, *classics.PLACES)


class BestPlain(AnalogyStudy):
    """The best of five bonuses for each task of the study.

    Run by its own name: plain learners do not change, so what came of it at scale paper stands with
    the tasks (`Place.best`), and the study plays only that one.
    """

    names, groups = ("plain_choice",), ()
    place = 106
    title = "Study: the best plain learner"
    statement = "Which bonus suits UCBVI best, task by task, with hindsight?"

    def cells(self, scale: Scale) -> list[Cell]:
        """Every bonus in every place that is swept."""
        return [
            Cell.of("", place.title, bonus, place.task, spec, episodes, seeds(scale, CHOICE))
            for place in PLACES
            if place.best and (episodes := place.episodes.get(scale.name))
            for bonus, spec in SWEEP.items()
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Shares of the optimum over all episodes, the best, and the one that the study plays."""
        found, rows = self.cells(results.scale), []
        for place in PLACES:
            inside = pick(found, panel=place.title)
            means = {
                cell.agent: float(np.mean(shares(results, cell, [episodes_of(cell)])))
                for cell in inside
            }
            ended = {bonus: mean for bonus, mean in means.items() if np.isfinite(mean)}
            if inside:
                best = max(ended, key=ended.__getitem__) if len(ended) == len(means) else NOTHING
                told = [f"{means[bonus]:.3f}" for bonus in BONUSES]
                rows.append([place.title, *told, best, place.best])
        note = "Mean share of the optimum over all episodes, by UCBVI's `scale`."
        heads = ["task", *BONUSES, "best", "in the study"]
        return self.artefact(tables=[Table("Plain learners", heads, rows, note)])
