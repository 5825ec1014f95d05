"""`gim.learn` of a log of several units: a family, and a policy for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gim._base.escapes import shown
from gim.analogy.base import inferences
from gim.belief.family.by_family import by_family
from gim.belief.family.family import Family, learned
from gim.belief.family.units import Rows, Space, rows_of
from gim.belief.family.words import Difference, measures
from gim.logs.learned import Learned
from gim.logs.log import Log
from gim.logs.worth import values_of
from gim.model.counts import new_counts


@dataclass(frozen=True)
class LearnedUnits(Mapping[Any, Learned]):
    """What `gim.learn` made of a log of several units: a mapping of each to its `Learned`.

    Each unit is learned from its own rows and from what the family says (`gim.Family`), when it is
    first asked for. `new` is what to do in a unit of which nothing was seen.

    Attributes:
        family: what all have in common.
        parts: the log of each unit, with the states and actions of all.
        options: those of `gim.learn`.
        learn: `gim.learn` of one unit.
    """

    family: Family
    parts: Mapping[Any, Log]
    options: Mapping[str, Any]
    learn: Callable[..., Any] = field(repr=False)
    _made: dict[Any, Learned] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> tuple[Any, ...]:
        """The units, in the order of the log."""
        return tuple(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __getitem__(self, unit: Any) -> Learned:
        if unit not in self._made:
            if unit not in self.parts:
                some = ", ".join(shown(str(each)) for each in list(self.parts)[:5])
                raise KeyError(f"no unit {unit!r}: there are {some}, ...; for others see .new")
            self._made[unit] = self._learned(self.parts[unit])
        return self._made[unit]

    @property
    def new(self) -> Learned:
        """For a unit never seen: one plan on what the family says of any."""
        if None not in self._made:
            part = next(iter(self.parts.values()))
            nothing = new_counts(part.S, part.A, by_triple=True)
            self._made[None] = self._learned(replace(part, counts=nothing))
        return self._made[None]

    def _learned(self, part: Log) -> Learned:
        options = dict(self.options)
        if self.family.speaks:
            careful = "plain" if options.get("safe") is None else options["safe"]
            alone = inferences.make(options.get("infer"))
            options |= {"infer": by_family(self.family, alone, rows_of_log(part)), "safe": careful}
        found = self.learn(part, **options)
        assert isinstance(found, Learned)
        told, (low, high) = found.behind.limits
        least, most = self.family.paid.range
        limits = told, (min(low, least), max(high, most))  # what others were paid may be paid here
        return replace(found, behind=found.behind._replace(limits=limits))

    def differences(self) -> list[Difference]:
        """How units differ, those first that are farthest from the others."""
        return self.family.differences()

    def cells(self) -> list[list[str]]:
        """Heads, then of each unit its rows, what its policy is worth, and how it differs."""
        measured = measures(self.family)
        lines = [["unit", "rows", "value", *(what for what, _, _ in measured)]]
        place = {unit: k for k, unit in enumerate(self.family.units)}
        for unit in self:
            found, k = self[unit], place.get(unit)
            own = ["-" if k is None else f"{values[k]:.3g}" for _, values, _ in measured]
            lines.append([shown(str(unit)), str(len(found.log)), _worth(found), *own])
        return lines

    def table(self) -> str:
        """A line for each unit: its rows, what its policy is worth, and how it differs."""
        lines = self.cells()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def __repr__(self) -> str:
        return f"<Learned of {len(self)} units: {self.family!r}>"


def _worth(learned: Learned) -> str:
    case = learned.behind.case
    v = values_of(case, np.asarray(learned.policy))
    return f"{float(learned.log.start @ (v if v.ndim == 1 else v[0])):.4g}"


def learn_units(log: Log, options: Mapping[str, Any], learn: Callable[..., Any]) -> LearnedUnits:
    """A family of the units of a log, and a policy for each.

    Args:
        log: one that tells units apart.
        options: those of `gim.learn`; `safe` None is "plain" here: what a unit has not seen is
            known from the others, and a plan on the mean is what was measured to pay.
        learn: `gim.learn` of one unit.
    """
    return LearnedUnits(family_of(log), log.by_unit(), dict(options), learn)


def family_of(log: Log) -> Family:
    """The family of the units of a log."""
    space = Space(log.allowed, log.variables, log.action_variables, log.terminal)
    return learned(space, rows_of_log(log), log.units or ())


def rows_of_log(log: Log) -> Rows:
    """The rows of a log by unit; where only counts are kept, what triples paid in the mean."""
    if log.kept is None:
        seen = log.triples
        mean = seen.paid / seen.n
        return rows_of(seen.unit, seen.s, seen.a, mean, seen.t, log.A, seen.n)
    rows = log.kept
    unit = np.zeros(len(rows.s), np.int64) if rows.unit is None else rows.unit
    return rows_of(unit, rows.s, rows.a, rows.r, rows.t, log.A)
