"""A family in words: what all units share, how far they are apart, and who differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gim._base.escapes import shown
from gim.belief.family.rules import EDGES
from gim.belief.family.units import Floats

if TYPE_CHECKING:
    from gim.belief.family.family import Family


# What pay may depend on, as `gim.belief.family.rewards` numbers it.
KEYS = ("", "the next state", "the action", "the state", "the pair", "where a move begins and ends",
        "the triple", "the after-state", "where pairs lead")  # fmt: skip


class Difference(NamedTuple):
    """How one unit differs from the others of its family."""

    unit: Any
    what: str
    value: float
    usual: float  # the mean of all units
    apart: float  # in standard deviations of units
    visits: float  # of the unit, behind it


def differences(family: Family) -> list[Difference]:
    """How units differ, those first that are farthest from the others."""
    found = []
    for what, values, visits in measures(family):
        usual, spread = float(values.mean()), float(values.std())
        for name, value, n in zip(family.units, values.tolist(), visits.tolist(), strict=True):
            apart = (value - usual) / spread if spread > 0 else 0.0
            found.append(Difference(name, what, value, usual, apart, n))
    return sorted(found, key=lambda each: -abs(each.apart))


def measures(family: Family) -> list[tuple[str, Floats, Floats]]:
    """What units differ in: its name, the value of each unit, and the visits behind it."""
    table, U = family.table, len(family)
    cells, found = family.posterior(family.rows, U)
    layout = cells.layout
    theta = found.alpha / layout.sums(found.alpha)[..., layout.group]
    mean = np.einsum("uj,ujn->un", found.share, theta)  # [units, n]
    often = np.einsum("uj,ujg->ug", found.share, layout.sums(found.alpha))
    rows = np.bincount(family.rows.unit, family.rows.n, U).astype(np.float64)
    last = len(table.sizes) - 1
    result: list[tuple[str, Floats, Floats]] = []
    if table.rule.fails:
        lost = np.flatnonzero((layout.part[layout.group] == 0) & (layout.outcome == 1))
        values = mean[:, lost].sum(axis=1) if lost.size else np.zeros(U)
        result.append((f"share of {_added(family)} that does not come", values, rows))
    if table.outcomes is not None:
        names, ordinal = _names(family), family.space.bare.ordinal
        mine = (layout.part[layout.group] == last) & (layout.outcome >= 0)
        weight = often[:, layout.group[mine]]
        for v in np.flatnonzero(ordinal).tolist():
            add = table.outcomes.add[layout.outcome[mine], v]
            moved = (mean[:, mine] * weight * add).sum(axis=1)
            behind = (weight * mean[:, mine]).sum(axis=1)
            total = np.bincount(cells.task, moved, U), np.bincount(cells.task, behind, U)
            result.append((f"change of {names[v]}", total[0] / np.maximum(total[1], 1e-12), rows))
    return result


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


def said_of_rule(family: Family) -> str:
    """The rule as a formula."""
    rule, names = family.rule, _names(family)
    if rule.values:
        return (
            "each pair has its own next states"
            if len(rule.features) > 1
            else ("next states by the action" if rule.features else "next states alike everywhere")
        )
    what = "the state" if len(names) > 1 else names[0]
    if rule.shift is not None:
        v, _, sign = rule.shift
        what = f"{names[v]} {'+' if sign > 0 else '-'} {_added(family)}"
    k = family.space.bare.k
    looks = [names[f] if f < k else "the action" for f in rule.features]
    by = f" by {' and '.join(looks)}" if looks else ""
    place = ", each state of a unit in its own way" if rule.by_state else ""
    return f"{what}, then a change{by}, {EDGES[rule.edge]}{place}"


def sentences(family: Family) -> str:
    """What all share, and who differs."""
    many = len(family)
    if not family.speaks:
        return f"{many} units and no family: what one does says nothing of another"
    lines = [f"all {many}: {said_of_rule(family)}"]
    if family.outside:
        lines.append(f"not of them: {', '.join(shown(str(each)) for each in family.outside)}")
    for what, values, _ in measures(family):
        low, high = int(values.argmin()), int(values.argmax())
        if "does not come" in what:
            kinds = family.kinds.m[0][:, 0, 1]
            cut = 0.5 * (kinds.min() + kinds.max())
            often = values > max(cut, 0.02)
            if often.any():
                lines.append(
                    f"{int(often.sum())} of {many}: {values[often].mean():.0%} of "
                    f"{_added(family)} does not come; the others: {_mean(values[~often]):.1%}"
                )
            continue
        lines.append(
            f"{what}: {values.mean():+.3g} in the mean, from {values[low]:+.3g} in "
            f"{shown(str(family.units[low]))} to {values[high]:+.3g} in "
            f"{shown(str(family.units[high]))}"
        )
    forms = [str(form) for form in family.kinds.forms if form.nodes > 1]
    if forms:
        lines.append(f"units are of {' and '.join(forms)}")
    paid = family.paid
    if paid.line.size:
        lines.append("what rows pay is linear in the action, the states before, between and next")
    keys = [KEYS[kind] for kind in paid.shape.chain if kind]
    if keys:
        lines.append(
            f"pay differs by {keys[-1]}{' and unit' if paid.differ[-1].max() > 1e-6 else ''}"
        )
    return "; ".join(lines)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0
