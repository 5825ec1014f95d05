"""A family in words: what all units share, how far they are apart, and who differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gim._base.escapes import shown
from gim.belief.family.cells import Cells
from gim.belief.family.choose import ALONE
from gim.belief.family.kinds import Posterior, posterior, vague
from gim.belief.family.rules import EDGES
from gim.belief.family.units import Bools, Floats, Ints

if TYPE_CHECKING:
    from gim.belief.family.family import Family

AGAIN = 20  # times that the rows of units are drawn anew, to see how far they can be trusted
NINE_IN_TEN = 1.645  # standard deviations to either side
ONE_WAY = 0.05  # share of moves the other way, below which a change is said to go one way
LISTED = 3  # units that are named where more do the same


# What pay may depend on, as `gim.belief.family.rewards` numbers it.
KEYS = ("", "the next state", "the action", "the state", "the pair", "where a move begins and ends",
        "the triple", "the after-state", "where pairs lead")  # fmt: skip


class Difference(NamedTuple):
    """How one unit differs from the others of its family."""

    unit: Any
    what: str
    value: float
    error: float  # standard deviation of that, as far as its own rows go
    usual: float  # the mean of all units
    apart: float  # in standard deviations of units
    visits: float  # of the unit, behind it


class Measure(NamedTuple):
    """Something in which units may differ."""

    what: str
    value: Floats  # [U] expected of each unit
    error: Floats  # [U] standard deviations of that, as far as the unit's own rows go
    part: int  # of the outcome
    lost: bool = False  # whether it is the share of what actions add that does not come

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The interval of nine in ten of each unit."""
        found = self.value - NINE_IN_TEN * self.error, self.value + NINE_IN_TEN * self.error
        return (np.maximum(found[0], 0.0), np.minimum(found[1], 1.0)) if self.lost else found

    def of(self, k: int) -> str:
        """What is expected of a unit, with its interval."""
        unit = ".1%" if self.lost else ".3g"
        low, high = (each[k] for each in self.ends)
        return f"{self.value[k]:{unit}} ({low:{unit}} to {high:{unit}})"


def differences(family: Family) -> list[Difference]:
    """How units differ, those first that are farthest from the others."""
    found = []
    visits = np.bincount(family.rows.unit, family.rows.n, len(family)).tolist()
    for what, values, errors, *_ in measures(family):
        usual, spread = float(values.mean()), float(values.std())
        for k, (value, error) in enumerate(zip(values.tolist(), errors.tolist(), strict=True)):
            apart = (value - usual) / spread if spread > 0 else 0.0
            name, n = family.units[k], visits[k]
            found.append(Difference(name, what, value, error, usual, apart, n))
    return sorted(found, key=lambda each: -abs(each.apart))


def measures(family: Family) -> list[Measure]:
    """What units may differ in: whether what the action adds comes, and changes of variables.

    The family is surer of a unit than its form deserves: how far a value can be trusted is what the
    unit's own rows say of it, given what each row was, and how that differs in rows drawn anew.
    """
    table = family.table
    cells, found = family.posterior(family.rows, len(family))
    layout, result, rng = cells.layout, [], np.random.default_rng(0)
    part, known = layout.part[layout.group], layout.outcome >= 0
    again = [cells.X, *rng.poisson(cells.X, (AGAIN, *cells.X.shape)).astype(np.float64)]
    alone = [posterior(layout, X, vague(layout, 1.0)) for X in again]

    def both(mine: Bools, worth: Floats) -> tuple[Floats, Floats]:
        value = expected(family, cells, found, mine, worth)[0]
        own = [expected(family, cells, each, mine, worth) for each in alone]
        return value, np.hypot(own[0][1], np.std([each[0] for each in own[1:]], axis=0))

    if table.rule.fails:
        value, error = both(known & (part == 0), (layout.outcome == 1).astype(np.float64))
        result.append(Measure(f"share of {_added(family)} lost", value, error, 0, True))
    if table.outcomes is None:
        return result
    last = len(table.sizes) - 1
    mine, names = known & (part == last), _names(family)
    for v in np.flatnonzero(family.space.bare.ordinal).tolist():
        add = table.outcomes.add[np.maximum(layout.outcome, 0), v].astype(np.float64)
        what, sign = _way(family, cells, found, mine, add)
        name = what if len(names) == 1 and sign else f"{what} of {names[v]}"
        value, error = both(mine, (sign or 1) * add)
        result.append(Measure(name, value, error, last))
    return result


def expected(
    family: Family, cells: Cells, found: Posterior, mine: Bools, worth: Floats
) -> tuple[Floats, Floats]:
    """Of each unit the mean of `worth` [n] over outcomes, and the standard deviation of that.

    Contexts count as often as all units together met them.
    """
    layout, U = cells.layout, len(family)
    groups = np.unique(layout.group[mine])
    alpha, sums = found.alpha * mine, layout.sums
    total = np.maximum(sums(alpha), 1e-300)
    mean = sums(alpha * worth) / total
    variance = np.maximum(sums(alpha * worth**2) / total - mean**2, 0.0) / (total + 1.0)
    weight = np.einsum("uj,ujg->g", found.share, total)[groups]
    weight = weight / weight.sum()
    by_kind, spread = mean[..., groups] @ weight, variance[..., groups] @ weight**2
    value = (found.share * by_kind).sum(axis=1)
    square = (found.share * (spread + by_kind**2)).sum(axis=1) - value**2
    rows = cells.X.sum(axis=1)
    share = rows / np.maximum(np.bincount(cells.task, rows, U), 1e-300)[cells.task]
    whole = np.bincount(cells.task, share * value, U).astype(np.float64)
    square = np.bincount(cells.task, share**2 * np.maximum(square, 0.0), U).astype(np.float64)
    return whole, np.sqrt(square)


def kinds_of(family: Family, part: int) -> tuple[Ints, int]:
    """The likeliest kind of each unit in a part of the outcome, and how many kinds there are.

    One kind only where units lie on a curve, or where it is states that are of a kind.
    """
    form, U = family.kinds.forms[part], len(family)
    if form.dimensions or form.kinds == 1 or family.alone or family.rule.by_state:
        return np.zeros(U, np.int64), 1
    share = family.posterior(family.rows, U)[1].share
    odds = np.stack([share[:, family.kinds.node[part] == j].sum(axis=1) for j in range(form.kinds)])
    return odds.argmax(axis=0), form.kinds


def belonging(family: Family) -> Floats:
    """[U] nats by which the rows of each unit are likelier in the family than by the rule alone."""
    cells, found = family.posterior(family.rows, len(family))
    alone = [posterior(cells.layout, cells.X, vague(cells.layout, k)).evidence for k in ALONE]
    apart = found.evidence - np.max(alone, axis=0)
    return np.asarray(np.bincount(cells.task, apart, len(family)), np.float64)


def _way(
    family: Family, cells: Cells, found: Posterior, mine: Bools, add: Floats
) -> tuple[str, int]:
    """What a change is called, and its sign if it goes one way."""
    ways = ((add * side > 0).astype(np.float64) for side in (1.0, -1.0))
    share = [expected(family, cells, found, mine, way)[0].mean() for way in ways]
    if share[0] < ONE_WAY * share[1]:
        return "what goes", -1
    return ("what comes", 1) if share[1] < ONE_WAY * share[0] else ("the change", 0)


def _names(family: Family) -> list[str]:
    told = family.space.variables
    k = family.space.bare.k
    names = ["the state" if k == 1 else f"x{v}" for v in range(k)]
    return [*told.names, "which"][:k] if told is not None else names


def _added(family: Family) -> str:
    shift, told = family.rule.shift, family.space.action_variables
    if shift is None:
        return "nothing"
    if told is None or not isinstance(shift[1], int):
        return "the action"
    return str(told.names[shift[1]])


def said_of_rule(family: Family, found: list[Measure] | None = None) -> str:
    """The rule as a formula; with what units may differ in, what it leaves open has a name."""
    rule, names = family.rule, _names(family)
    if rule.values:
        if len(rule.features) > 1:
            return "each pair has its own next states"
        return "next states by the action" if rule.features else "next states alike everywhere"
    what = "the state" if len(names) > 1 else names[0]
    if rule.shift is not None:
        v, _, sign = rule.shift
        what = f"{names[v]} {'+' if sign > 0 else '-'} {_added(family)}"
    k = family.space.bare.k
    looks = [names[f] if f < k else "the action" for f in rule.features]
    by = f" by {' and '.join(looks)}" if looks else ""
    place = ", each state of a unit in its own way" if rule.by_state else ""
    open = {"what goes": " - what goes", "what comes": " + what comes"}
    move = open.get(found[-1].what if found and len(names) == 1 else "", ", then a change")
    return f"{what}{move}{by}, {EDGES[rule.edge]}{place}"


def sentences(family: Family) -> str:
    """What all share, and who differs."""
    many = len(family)
    if not family.speaks:
        return f"{many} units and no family: what one does says nothing of another"
    found = measures(family)
    lines = [f"all {many}: {said_of_rule(family, found)}"]
    if family.outside:
        lines.append(f"not of them: {', '.join(shown(str(each)) for each in family.outside)}")
    lines += [line for each in found for line in _said(family, each)]
    if not found and (kinds := kinds_of(family, 0))[1] > 1:
        lines.append(f"units are of {kinds[1]} kinds")
    paid = family.paid
    if paid.line.size:
        lines.append("what rows pay is linear in the action, the states before, between and next")
    keys = [KEYS[kind] for kind in paid.shape.chain if kind]
    if keys:
        lines.append(
            f"pay differs by {keys[-1]}{' and unit' if paid.differ[-1].max() > 1e-6 else ''}"
        )
    return "; ".join(lines)


def _said(family: Family, measure: Measure) -> list[str]:
    """How units differ in one thing."""
    value, names = measure.value, [shown(str(name)) for name in family.units]
    kind, kinds = kinds_of(family, measure.part)
    groups = [np.flatnonzero(kind == j) for j in range(kinds)]
    groups = sorted((each for each in groups if each.size), key=lambda of: float(value[of].mean()))
    unit = ".0%" if measure.lost else ".3g"
    if measure.lost and len(groups) > 1:
        few = groups[-1]
        who = f" ({', '.join(names[k] for k in few[:LISTED])}{', ...' * (len(few) > LISTED)})"
        rest = " and ".join(f"{value[each].mean():.0%}" for each in groups[:-1])
        lose = f"lose {value[few].mean():.0%} of {_added(family)}"
        return [f"{len(few)} of {len(value)}{who} {lose}, the others {rest}"]
    low, high = int(value.argmin()), int(value.argmax())
    said = [
        f"{measure.what}: {value.mean():{unit}} a step, from {value[low]:{unit}} in {names[low]} "
        f"to {value[high]:{unit}} in {names[high]}"
    ]
    if len(groups) > 1:
        each = ", ".join(f"{len(of)} around {value[of].mean():{unit}}" for of in groups)
        said.append(f"units are of {len(groups)} kinds: {each}")
    return said
