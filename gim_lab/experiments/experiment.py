"""What an experiment is: cells of trials, and a pure function of their results.

To add one, write one file in the folder of its study (see README.md here), or in a module of your
own::

    class Lengths(Experiment):                     # registered as `lengths`
        \"\"\"Who finds the far end of a long river.\"\"\"

        title = "Study: the length of the river"
        statement = "Optimism reaches the far end, however long the river."
        groups = ("rivers",)                       # `gim reproduce rivers` runs all of a group

        def cells(self, scale):
            return [
                Cell.of("", f"length {n}", agent, f"riverswim:length={n}", spec,
                        scale.episodes(5_000), scale.seeds(), x=n)
                for n in scale.grid((6, 10, 15))
                for agent, spec in {"RMax": "rmax:m=20", "PSRL": "psrl"}.items()
            ]

        def analyse(self, results):
            found = self.cells(results.scale)
            return self.artefact(tables=[means_table(results, found, "", "score", "Scores")])

`gim reproduce lengths --scale smoke` then runs it and writes its report, and
`gim_lab.testing.check_experiment(Lengths())` checks it. See docs/extending.md.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from gim._base.params import Params
from gim._base.registry import Registry, snake
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.scale import Scale
from gim_lab.trials.trial import Trial

experiments = Registry("experiment", "gim_lab.experiments")

LAST = 1000.0  # the place of an experiment that asks for none


@dataclass(frozen=True)
class Experiment(Params):
    """Base of all experiments: one artefact of a report, or a few that share one analysis."""

    key: ClassVar[str]  # its name in the registry: fig1, table3, walks
    names: ClassVar[tuple[str, ...]] = ()  # further names for it: fig7 is a part of fig7to9
    groups: ClassVar[tuple[str, ...]] = ()  # names for many that it answers to: paper, analogy
    place: ClassVar[float] = LAST  # where it stands in a report: those with the lowest come first
    title: ClassVar[str]
    statement: ClassVar[str]  # what is claimed or asked, in a few sentences of our own
    heading: ClassVar[str] = "The question"  # over the statement: who says it, or what it is

    def __init_subclass__(
        cls,
        name: str | None = None,
        replace: bool = False,
        abstract: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            cls.key = name or snake(cls.__name__)
            for each in (cls.key, *cls.names):
                experiments.add(each, cls, replace)
        if "cells" in vars(cls):  # thousands of trials, asked for by each step and each claim
            cls.cells = lru_cache(maxsize=8)(cls.cells)  # type: ignore[method-assign]

    def cells(self, scale: Scale) -> list[Cell]:
        """The runs that it needs at a scale; none where it is computed from the tasks alone."""
        return []

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Figures and tables: a pure function of the results, in which a run may be missing."""
        raise TypeError(f"{type(self).__name__} must define analyse(results)")

    def trials(self, scale: Scale) -> list[Trial]:
        """What must be run for it, each trial once."""
        return list(dict.fromkeys(t for cell in self.cells(scale) for t in cell.trials))

    def artefact(self, **parts: list[Any]) -> Artefact:
        """The frame of an analysis: key, title and statement."""
        return Artefact(self.key, self.title, self.statement, heading=self.heading, **parts)

    def __str__(self) -> str:
        return self.key


def cells_of(name: str, scale: Scale) -> list[Cell]:
    """The cells of an experiment by name."""
    found: list[Cell] = experiments.make(name).cells(scale)
    return found


def import_files(package: str, path: Iterable[str]) -> None:
    """Import every file of a package of experiments, which registers them."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")
