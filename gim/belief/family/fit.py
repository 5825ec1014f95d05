"""Units under one rule: how they differ, what their rows pay, and what that shows of what happened.

What a row paid is evidence of its outcome. Whether what an action adds has come is hidden where a
small order that came looks like none that did; what the row paid often tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gim.belief.family import rewards
from gim.belief.family.cells import cells_of
from gim.belief.family.kinds import Form, fitted, posterior, vague
from gim.belief.family.outlook import Whole, ahead_of, blindly, outlook, placed, whole_of
from gim.belief.family.rewards import Ahead, Paid
from gim.belief.family.rules import Rule, Table, lands
from gim.belief.family.units import Bools, Rows, Space


class Fit(NamedTuple):
    """What units show under a rule."""

    table: Table
    kinds: Whole
    paid: Paid
    comes: Paid | None  # what tells whether what the action adds has come, if anything does
    usual: float  # log-likelihood of a row
    error: float  # of what pairs of units left out pay, in the root mean square


def with_evidence(
    table: Table, paid: Paid | None, rows: Rows, explained: Bools
) -> tuple[Rows, Bools]:
    """What rewards show of what the action adds: whether it came."""
    if paid is None or not paid.line.size or not len(rows.n):
        return rows, explained
    ahead = blindly(table, rows)
    near, way = rewards.evidence_of(table, paid, rows, ahead)
    mine = np.repeat(near, table.O // 2, axis=1) & explained
    some = np.asarray(mine.any(axis=1))
    told = near.sum(axis=1) == 1
    rows = rows._replace(way=np.where(told & some, way, 0))
    return rows, np.asarray(np.where(some[:, None], mine, explained), bool)


def evident(table: Table, rows: Rows) -> tuple[Rows, Bools, Paid | None]:
    """Rows, the outcomes [I, O] that explain each, and what else tells these apart."""
    explained = lands(table, rows)
    if not table.rule.fails:
        return rows, explained, None
    blind = blindly(table, rows)
    shape, _ = rewards.shape_of(table, rows, blind, rewards.LINES[:2], power=1)
    comes = rewards.fitted(table, rows, shape, blind)
    return *with_evidence(table, comes, rows, explained), comes


def fit_of(
    space: Space, rows: Rows, units: int, rule: Rule, forms: tuple[Form, ...], kappa: float
) -> Fit:
    """What so many units show under a rule; without forms each is alone."""
    table = Table(rule, space, rows)
    rows, explained, comes = evident(table, rows)
    cells = cells_of(table, rows, explained, units)
    kinds = fitted(cells, forms, kappa) if forms else vague(cells.layout, kappa)
    whole = whole_of(table, cells.layout, kinds)
    ahead = foreseen(table, whole, rows, explained, units)
    once = rewards.tempered(rows)
    shape, error = rewards.shape_of(table, once, ahead)
    paid = rewards.fitted(table, once, shape, ahead)
    usual = float(posterior(cells.layout, cells.X, placed(whole, cells.layout)).evidence.sum())
    return Fit(table, whole, paid, comes, usual / max(float(rows.n.sum()), 1.0), error)


def foreseen(table: Table, whole: Whole, rows: Rows, explained: Bools, units: int) -> Ahead:
    """What a line may look at, of the rows of all units, each by what is believed of it."""
    found: list[Ahead] = []
    order = np.argsort(rows.unit, kind="stable")
    for unit in range(units):
        mine = order[rows.unit[order] == unit]
        own = rows.of(mine)._replace(unit=np.zeros(len(mine), np.int64))
        view = outlook(table, whole, own, explained[mine], None)
        found.append(ahead_of(view, table, own))
    back = np.argsort(order, kind="stable")
    return Ahead(*(np.concatenate(each)[back] for each in zip(*found, strict=True)))
