"""`gim.learn` of a log of several units: a family, and a policy for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gim._base import html
from gim._base.escapes import shown
from gim._base.terminal import table
from gim.analogy.base import inferences
from gim.belief.family.by_family import by_family
from gim.belief.family.family import Family, Found, learned
from gim.belief.family.units import Rows, Space, joined, rows_of
from gim.belief.family.words import Difference, belonging, measures
from gim.logs.learned import Learned
from gim.logs.log import Log
from gim.logs.safe.base import Case
from gim.logs.safe.plain import Plain
from gim.logs.worth import values_of
from gim.model.counts import new_counts

DRAWS = 16  # of a unit, to tell what more rows would bring
LEAST_ROWS = 10  # that are asked for where a unit has hardly any


class More(NamedTuple):
    """What more rows of a unit are expected to bring, in what is earned from its start."""

    unit: Any
    rows: int  # more of them, as whoever acts there makes them
    gain: float  # of the plan on all of them over the plan on those there are
    error: float  # standard error of that
    most: float  # to know all of the unit


def case_of(found: Found, case: Case) -> Case:
    """What is believed of a unit, for a planner."""
    r = (found.p * found.r).sum(axis=1).reshape(case.r.shape)
    return case._replace(P=sparse.csr_array(found.p), r=r)


def played(found: Found, acts: Any, start: Any, rows: int, rng: np.random.Generator) -> Rows:
    """Rows of a unit that is as `found` if somebody acts so [S, A]."""
    S, A = acts.shape
    s, seen = int(rng.choice(S, p=start)), []
    for u, v in rng.random((rows, 2)):
        a = min(int(np.searchsorted(np.cumsum(acts[s]), u)), A - 1)
        p = found.p[s * A + a]
        t = min(int(np.searchsorted(np.cumsum(p), v * p.sum())), S - 1)
        seen.append((s, a, found.r[s * A + a, t], t))
        s = t
    s_, a_, r_, t_ = np.array(seen).T
    return rows_of(np.zeros(rows), s_, a_, r_, t_, A)


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
        return learn_of_family(self.family, part, self.options, self.learn)

    def differences(self) -> list[Difference]:
        """How units differ, those first that are farthest from the others."""
        return self.family.differences()

    def more(self, unit: Any, rows: int | None = None, draws: int = DRAWS) -> More:
        """What more rows of a unit are expected to bring.

        Units are drawn as they may be, rows of each as whoever acts there makes them; what is
        planned on these and on those there are is compared in the unit as it was drawn.

        Args:
            unit: of the family.
            rows: how many; None: as many again as it has.
            draws: of the unit.
        """
        learned = self[unit]
        log, case, family = learned.log, learned.behind.case, self.family
        if not family.speaks or unit not in family.units:
            raise ValueError(f"{unit!r} is of no family: what more rows would bring is not known")
        given = rows_of_log(log)
        many = max(LEAST_ROWS, len(log)) if rows is None else rows
        now, plan, gains = Plain()(case_of(family.of(given), case)), Plain(), []
        for seed in range(draws):
            rng, truth = np.random.default_rng([seed, many]), family.of(given, seed)
            true = case_of(truth, case)
            seen = joined([given, played(truth, log.behaviour, log.start, many, rng)])
            plans = now, plan(case_of(family.of(seen), case)), plan(true)
            v = [values_of(true, policy) for policy in plans]
            base, *others = (log.start @ (each if each.ndim == 1 else each[0]) for each in v)
            gains.append([other - base for other in others])
        gain, most = np.mean(gains, axis=0).tolist()
        error = float(np.std([each[0] for each in gains]) / np.sqrt(draws))
        return More(unit, many, gain, error, most)

    @cached_property
    def wanted(self) -> list[More]:
        """Units of which more rows would bring most, each as many again; the best first."""
        family = self.family
        asked = [unit for unit in self if unit in family.units] if family.speaks else []
        return sorted(map(self.more, asked), key=lambda each: -each.gain)

    def cells(self) -> list[list[str]]:
        """Heads, then of each unit its rows, what its policy is worth, and how it differs.

        `fits`: nats by which its rows are likelier for what others showed; the lowest fit least.
        """
        measured, fits = measures(self.family), belonging(self.family)
        lines = [["unit", "rows", "value", *(each.what for each in measured), "fits"]]
        place = {unit: k for k, unit in enumerate(self.family.units)}
        for unit in self:
            found, k = self[unit], place.get(unit)
            own = ["-" if k is None else each.of(k) for each in measured]
            own.append("-" if k is None else f"{fits[k]:+.1f}")
            lines.append([shown(str(unit)), str(len(found.log)), _worth(found), *own])
        return lines

    def table(self) -> str:
        """A line for each unit: its rows, what its policy is worth, and how it differs."""
        heads, *rows = self.cells()
        return table(rows, heads)

    def __repr__(self) -> str:
        return f"<Learned of {len(self)} units: {self.family!r}>"

    def _repr_html_(self) -> str:
        return html.text("Learned of units", f"{self.family}\n\n{self.table()}")


def _worth(learned: Learned) -> str:
    case = learned.behind.case
    v = values_of(case, np.asarray(learned.policy))
    return f"{float(learned.log.start @ (v if v.ndim == 1 else v[0])):.4g}"


def learn_of_family(
    family: Family, log: Log, options: Mapping[str, Any], learn: Callable[..., Any]
) -> Learned:
    """What a log says of a unit of a family; see `learn_units`."""
    space = family.space
    pairs = (space.variables, log.variables), (space.action_variables, log.action_variables)
    alike = all(
        x is y or (not (x is None or y is None) and np.array_equal(x.codes, y.codes))
        for x, y in pairs
    )
    if (space.S, space.A) != (log.S, log.A) or not alike:
        raise ValueError(
            f"the family has {space.S} states and {space.A} actions, the log {log.S} and {log.A}, "
            "or not the same ones: declare what there can be, gim.from_log(..., states=)"
        )
    if family.speaks:
        careful = "plain" if options.get("safe") is None else options["safe"]
        alone = inferences.make(options.get("infer"))
        options = {**options, "infer": by_family(family, alone, rows_of_log(log)), "safe": careful}
    found = learn(log, **options)
    assert isinstance(found, Learned)
    told, (low, high) = found.behind.limits
    least, most = family.paid.range
    limits = told, (min(low, least), max(high, most))  # what others were paid may be paid here
    return replace(found, behind=found.behind._replace(limits=limits))


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
