"""What a claim is: a statement about experiments, and a rule that code can check.

A claim asks one question, in several places: a task, a size, a value of m. Each place is a part,
which holds, does not hold, or is undecided: the interval leaves both open, or runs did not finish.
How parts become a verdict is in `gim_lab.claims.ledger`.

To add one, write one file in `gim_lab/claims`, or a module of your own::

    @states(
        "PSRL gains more than RMax, however long the river.",
        "Our study of rivers",
        "PSRL's score is above RMax's, interval included.",
        "lengths",                                 # experiments, by name
        settings=("",),                            # those of its cells
    )
    def far_end(runs, setting):                    # registered as `far_end`
        \"\"\"PSRL against RMax on every river.\"\"\"
        for panel in runs.panels:
            yield more(runs, panel, "PSRL", "RMax", "score")

The ledger of `gim reproduce lengths` then has it, and `gim_lab.testing.check_claim(far_end())`
checks it. `gim_lab.claims.parts` has the comparisons that parts are made of. See docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from gim._base.params import Params
from gim._base.registry import Registry, snake
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, distinct, pick
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.settings import SETTINGS

claims = Registry("claim", "gim_lab.claims")
_numbers = count()


@dataclass(frozen=True)
class Part:
    """The answer in one place: all must hold for a claim to hold."""

    what: str  # the place
    holds: bool | None  # None: undecided
    numbers: str  # with their interval


@dataclass(frozen=True)
class Claim(Params):
    """Base of all claims: a statement and how it is checked."""

    key: ClassVar[str]  # its name in the registry
    statement: ClassVar[str]  # in our words
    source: ClassVar[str]  # where it is made
    rule: ClassVar[str]  # when a part of it holds
    section: ClassVar[str] = "What is claimed"  # of the ledger
    needs: ClassVar[tuple[str, ...]]  # names of the experiments whose results it is checked on
    settings: ClassVar[tuple[str, ...]] = SETTINGS  # under each of which it is judged
    besides: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # what it needs more under a setting
    number: ClassVar[int]  # in the order in which claims were defined

    def __init_subclass__(
        cls, name: str | None = None, replace: bool = False, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        cls.key, cls.number = name or snake(cls.__name__), next(_numbers)
        claims.add(cls.key, cls, replace)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """Its parts under a setting; a pure function of the results, in which a run may miss."""
        raise TypeError(f"{type(self).__name__} must define check(results, setting)")

    def runs(self, results: ResultsByCell, setting: str, name: str | None = None) -> Selection:
        """What an experiment (the first that it needs) gave under a setting."""
        return Selection(results, name or self.needs[0], setting)

    def needed(self, setting: str) -> tuple[str, ...]:
        """The experiments on which it is checked under a setting."""
        return (*self.needs, *self.besides.get(setting, ()))

    def __str__(self) -> str:
        return self.key


def states(
    statement: str, source: str, rule: str, *needs: str, **facts: Any
) -> Callable[[Check], type[Claim]]:
    """Make a claim of a function: from what its first experiment gave, and a setting, to parts.

    Args:
        statement, source, rule, needs: see `Claim`.
        facts: other attributes of it, such as `settings`.
    """

    def made(check: Check) -> type[Claim]:
        def parts(self: Claim, results: ResultsByCell, setting: str) -> list[Part]:
            return list(check(Selection(results, needs[0], setting), setting))

        told = {"statement": statement, "source": source, "rule": rule, "needs": needs, **facts}
        about = {"__doc__": check.__doc__, "__module__": check.__module__, "check": parts}
        return type(check.__name__, (Claim,), told | about)

    return made


class Selection:
    """What an experiment gave under one setting."""

    def __init__(self, results: ResultsByCell, experiment: str, setting: str) -> None:
        self.results = results
        self.cells = pick(cells_of(experiment, results.scale), setting)
        self.panels = distinct(cell.panel for cell in self.cells)

    def at(self, panel: str, agent: str) -> list[Cell]:
        """The cells of an agent in a panel, by x."""
        return sorted(pick(self.cells, None, panel, agent), key=lambda cell: cell.x)

    def __call__(self, panel: str, agent: str, measure: str) -> Floats:
        """A measure of every run of an agent in a panel that is no sweep."""
        return self.of(self.at(panel, agent)[0], measure)

    def of(self, cell: Cell, measure: str) -> Floats:
        """A measure of every run; a run not finished counts with all its episodes in TotalEps."""
        if measure == "total_eps":
            return self.results.lengths(cell)
        return self.results.values(cell, measure)

    def sweep(self, panel: str, agent: str, measure: str) -> Floats:
        """A measure at each x of a sweep, [xs, runs]."""
        return np.array([self.of(cell, measure) for cell in self.at(panel, agent)])

    def early(self, cell: Cell, episodes: int) -> Floats:
        """The score of the first so many episodes (all, if there are fewer), [runs]."""
        at, rewards = self.results.curves(cell, "cumulative")
        end = min(float(episodes), float(at[-1]))
        sums = np.array([np.interp(end, at, run) for run in rewards])
        return np.asarray(sums / end / self.results.values(cell, "optimal_return"))

    def finished(self, cell: Cell) -> int:
        """How many runs finished exploring."""
        return int(np.isfinite(self.results.values(cell, "total_eps")).sum())


Check = Callable[[Selection, str], Iterable[Part]]
