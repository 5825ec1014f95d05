"""What a family keeps of a unit: counts by context and by the set of outcomes that explain.

Of a shop that is 20 to 120 numbers, whatever its rows. A *group* is the distribution of one part of
the outcome in one context; the parameters are numbered through, group after group. Outcomes that no
row shows in a context share one parameter, the last of the group. A *combination* is an outcome of
all parts in a context; a cell is explained by some of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gim.belief.family.rules import Table
from gim.belief.family.units import Bools, Floats, Ints, Rows

DENSE = 1 << 18  # cells times combinations up to which they are a full table


class Layout(NamedTuple):
    """Parameters, and which of them explain which cell."""

    part: Ints  # [G] of each group
    context: Ints  # [G] of each group
    begin: Ints  # [G] its first parameter
    group: Ints  # [n] of each parameter
    outcome: Ints  # [n] of each parameter; -1: all that were never seen there
    base: Floats  # [n] its chance before anything is seen: outcomes are alike
    of: Ints  # [F, Q] the parameter of each part in each combination
    explains: Any  # [M, Q] whether a combination explains a cell
    S: int

    def sums(self, x: Floats) -> Floats:
        """[..., G] by group."""
        return np.add.reduceat(x, self.begin, axis=-1)


class Cells(NamedTuple):
    """A layout, and what was counted."""

    layout: Layout
    X: Floats  # [U, M]
    task: Ints  # [U] the task of each unit: itself, or that whose state it is


def units_in(table: Table, rows: Rows) -> Ints:
    """[I] the number of the unit: the task, or a state of a task."""
    if not table.rule.by_state:
        return rows.unit
    return rows.unit * table.space.S + rows.pair // table.space.A


def cells_of(table: Table, rows: Rows, explained: Bools, units: int) -> Cells:
    """The cells of some rows.

    Args:
        table: the rule.
        rows: what was seen.
        explained: [I, O] outcomes that explain each entry.
        units: how many tasks there are.
    """
    context, S = table.context[rows.pair], table.space.S
    key = np.column_stack(
        [
            context.astype(np.int64).view(np.uint8).reshape(len(context), -1),
            np.packbits(explained, axis=1),
        ]
    )
    voids = np.ascontiguousarray(key).view(np.dtype((np.void, key.shape[1]))).ravel()
    _, first, cell = np.unique(voids, return_index=True, return_inverse=True)
    layout = layout_of(table, context[first], explained[first])
    task = np.arange(units)
    if table.rule.by_state:
        met, at = np.unique(units_in(table, rows), return_inverse=True)
        task = met // S
    else:
        at = rows.unit
    M = len(first)
    X = np.bincount(at.ravel() * M + cell.ravel(), rows.n, len(task) * M).astype(np.float64)
    return Cells(layout, X.reshape(len(task), M), task)


def layout_of(table: Table, context: Ints, explained: Bools) -> Layout:
    """The parameters that matter for cells of these contexts [M], explained so [M, O]."""
    m, o = np.nonzero(explained)
    combination, at = np.unique(context[m] * table.O + o, return_inverse=True)
    where, which = np.divmod(combination, table.O)
    parts: list[Ints] = []
    group, outcome, base, of, count = [], [], [], [], 0
    for f, size in enumerate(table.sizes):
        own = table.context_of_part[f]
        key = own[where] * (size + 1) + table.parts[f, which]
        # a parameter for what is seen, and one for the rest of each context
        rest = np.unique(own) * (size + 1) + size
        names = np.union1d(key, rest)
        c, value = np.divmod(names, size + 1)
        seen = np.bincount(c[value < size], minlength=c.max() + 1)
        keep = np.asarray((value < size) | (seen[c] < size))
        names, c, value = names[keep], c[keep], value[keep]
        groups, mine = np.unique(c, return_inverse=True)
        group.append(mine.ravel() + sum(len(each) for each in parts))
        parts.append(groups)
        of.append(np.searchsorted(names, key) + count)
        outcome.append(np.where(value < size, value, -1))
        base.append(np.where(value < size, 1.0, size - seen[c]) / size)
        count += len(names)
    everywhere = np.concatenate(group)
    shape = len(context), len(combination)
    table_of = sparse.csr_array((np.ones(len(m)), (m, at.ravel())), shape=shape)
    return Layout(
        part=np.repeat(np.arange(len(parts)), [len(each) for each in parts]),
        context=np.concatenate(parts),
        begin=np.searchsorted(everywhere, np.arange(sum(len(each) for each in parts))),
        group=everywhere,
        outcome=np.concatenate(outcome),
        base=np.concatenate(base),
        of=np.stack(of),
        explains=table_of.toarray() if shape[0] * shape[1] <= DENSE else table_of,
        S=table.space.S,
    )
