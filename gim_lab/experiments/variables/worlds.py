"""All learners side by side: where variables say all, are withheld, mislead, or are broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.variables import scores, settings
from gim_lab.experiments.variables.settings import Place, VariablesStudy


class _Worlds(VariablesStudy, abstract=True):
    """All learners on some worlds."""

    places: ClassVar[Sequence[Place]]
    figure: ClassVar[tuple[str, str]]  # its name and title
    notes: ClassVar[Sequence[str]]

    def cells(self, scale: Scale) -> list[Cell]:
        """All learners on all of them."""
        return settings.cells(self.places, scale)

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Curves, scores and gains."""
        found = self.cells(results.scale)
        return self.artefact(
            figures=[scores.score_figure(results, found, *self.figure)],
            tables=[scores.gain_table(results, found), scores.score_table(results, found)],
            notes=[*self.notes],
        )


class Structured(_Worlds):
    """Grids, a lake, queues and an inventory, with their variables given."""

    place = 111
    title = "Study: worlds made of variables"
    statement = (
        "Does a learner that finds out by itself what variables do keep up with learners that are "
        "told, and how far ahead is it of those that look at no variables?"
    )
    places = settings.STRUCTURED
    figure = "variables-given", "Worlds made of variables"
    notes = (
        "Factored R-MAX is told the true parents of each variable, relocatable R-MAX which states "
        "behave alike, Met-Rmax that a variable has at most three parents; the Analogist is told "
        "nothing but the variables.",
    )


class Withheld(_Worlds):
    """The same grids with their variables withheld."""

    place = 112
    title = "Study: variables withheld"
    statement = "How much of the gain is left where a state is a number and nothing else?"
    places = settings.WITHHELD
    figure = "variables-withheld", "Variables withheld"
    notes = (
        "Without variables factored and relocatable R-MAX and Met-Rmax are R-MAX on the bare "
        "states.",
    )


class Broken(_Worlds):
    """Structure that is absent, misleading or broken."""

    place = 113
    title = "Study: structure absent, misleading or broken"
    statement = (
        "What does it cost to look for structure where there is none, where variables mislead, or "
        "where the rule has exceptions that matter?"
    )
    places = settings.BROKEN
    figure = "variables-broken", "Structure absent, misleading or broken"
    notes = (
        "Absent: Garnet and full rank. Misleading: the 8x8 grid, each cell told the row and column "
        "of another. Broken: a button that pays in one cell, walls, teleports, and the cliff.",
        "Factored and relocatable R-MAX are told the truth here, too: where walls, teleports and "
        "the button are is part of their types and parents.",
    )
