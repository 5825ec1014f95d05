"""A policy as CSV, for spreadsheets and people: a line for each change of mind.

    state,step of 20,"action of [""left"", ""right""]"
    0,0,right
    0,18,left
    1,0,right

In state 0 it goes right from step 0 on and left from step 18 on. A policy that is the same at every
step has no column for it; one that draws its actions has a column ``probability`` and a line for
each action that may be drawn; variables stand in columns of their own, ``state.row``; a column
``seen`` says ``false`` of states of which nothing is known. The head of the actions' column lists
them all, or says how many there are.

Numbers stand as they are. A text that a spreadsheet would take for a formula, or a reader for
something else than text, has an apostrophe in front: ``'=now``, ``'12``. One with control
characters is written as in JSON, in quotation marks; see `gim._base.escapes`. Loading undoes both.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Hashable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from gim._base import escapes
from gim._base.files import LIMIT
from gim.mdp.names import Names, label_of, plain
from gim.mdp.policy.changes import Changes, afford, steps_of

WHOLE = re.compile(r"-?\d{1,4000}")
NUMBER = re.compile(r"-?(\d+(\.\d*)?(e[-+]?\d+)?|inf|nan)")
SPECIAL = {"true": True, "false": False, "null": None}


def write_csv(given: Changes) -> str:
    """The text of the file."""
    actions, steps = given.actions, given.steps
    drawn = given.rows.ndim == 2
    head = ["state", *(f"state.{escapes.cell(name)}" for name in given.states.names or ())]
    head += [] if steps is None else [f"step of {steps}"]
    head += [f"action of {json.dumps(actions.to_json())}"]
    head += (["probability"] if drawn else []) + ([] if given.seen is None else ["seen"])
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(head)
    name_of_action = cache(lambda a: cell(actions[a]))  # of those that are played
    last, front = -1, [""]
    for s, h, row in zip(given.state.tolist(), given.step.tolist(), given.rows, strict=True):
        if s != last:
            last, front = s, _front(given.states, s)
        when = front if steps is None else [*front, str(h)]
        seen = [] if given.seen is None else [cell(bool(given.seen[s]))]
        for a in np.flatnonzero(row).tolist() if drawn else [int(row)]:
            chance = [repr(float(row[a]))] if drawn else []
            table.writerow([*when, name_of_action(a), *chance, *seen])
    return text.getvalue()


def read_csv(text: str, limit: int = LIMIT) -> Changes:
    """The inverse of `write_csv`; `limit` is the bytes that it may ask for."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    usual = csv.field_size_limit(len(text))  # the head may list thousands of actions
    try:
        head = _Head(next(lines, []))
        rows = [_Row(head, cells, lines.line_num) for cells in lines if cells]
    except csv.Error as problem:
        raise ValueError(f"line {lines.line_num}: {problem}") from None
    finally:
        csv.field_size_limit(usual)
    if not rows:
        raise ValueError(
            "there is no line below the head: a policy has one for each state at least"
        )
    afford(len(rows) * (head.actions.n if head.drawn else 1), limit)
    return _changes(head, rows)


def cell(label: Hashable) -> str:
    """A label as a cell."""
    value = plain(label)
    if isinstance(value, str):
        written = escapes.cell(value)
        odd = not value or value.startswith("[") or not isinstance(_parsed(value), str)
        return f"'{value}" if odd and written == value else written
    return repr(value) if isinstance(value, float) else json.dumps(value)


def label(cell: str) -> Hashable:
    """The label that stands in a cell."""
    plain = not cell.startswith(escapes.QUOTES)
    return label_of(_parsed(cell)) if plain else escapes.uncell(cell)


def _parsed(cell: str) -> Any:
    if cell in SPECIAL:
        return SPECIAL[cell]
    if WHOLE.fullmatch(cell):
        return int(cell)
    if NUMBER.fullmatch(cell):
        return float(cell)
    if cell.startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            raise ValueError(f'cannot read {cell[:40]!r}: a list looks like [1, "a"]') from None
    return cell


def _front(states: Names, s: int) -> list[str]:
    """The cells that name a state: its label or number, and its variables."""
    name = s if states.labels is None else states.labels[s]
    return [cell(name), *map(cell, states.variables[s] if states.variables else ())]


class _Head:
    """What the first line says."""

    def __init__(self, cells: list[str]) -> None:
        self.cells = cells
        names = [name for name in cells if name.startswith("state.")]
        self.names = [escapes.uncell(name.removeprefix("state.")) for name in names]
        parts = ((c, "", "") if c in names else c.partition(" of ") for c in cells)
        given = {name: more for name, _, more in parts}
        wanted = ["state", *names, "step", "action", "probability", "seen"]
        wanted = [name for name in wanted if name in given]
        if list(given) != wanted or len(given) < len(cells) or not {"state", "action"} <= {*given}:
            raise ValueError(
                "the head is not that of a policy: it has the columns state, state.NAME, "
                "step of H, action of ..., probability, seen, in this order"
            )
        self.drawn, self.marked = "probability" in given, "seen" in given
        self.steps = None
        try:
            if "step" in given:
                self.steps = steps_of(int(given["step"]))
            self.actions = Names.from_json("action", json.loads(given["action"]))
        except (ValueError, RecursionError) as problem:
            raise ValueError(
                f"cannot read the head ({problem}): write step of 20, action of 4, or action of "
                '["left", "right"]'
            ) from None


class _Row:
    """One line, taken apart and checked by itself."""

    def __init__(self, head: _Head, cells: list[str], line: int) -> None:
        self.line = line
        if len(cells) != len(head.cells):
            raise ValueError(f"line {line} has {len(cells)} cells, the head {len(head.cells)}")
        rest = iter(cells)
        try:
            self.state = label(next(rest))
            self.variables = tuple(label(next(rest)) for _ in head.names)
            self.step = 0 if head.steps is None else int(next(rest))
            self.action = head.actions.find(label(next(rest)))
            self.chance = float(next(rest)) if head.drawn else 1.0
            self.seen = SPECIAL[next(rest)] if head.marked else True
        except KeyError:
            raise ValueError(f"line {line}: seen must be true or false") from None
        except ValueError as problem:
            raise ValueError(f"line {line}: {problem}") from None


def _changes(head: _Head, rows: list[_Row]) -> Changes:
    """Put lines together: those of a state, and of those the ones of a step, stand side by side."""
    labels, variables, seen = [], [], []
    state, step, found = [], [], []
    for before, row in pairwise([None, *rows]):
        assert row is not None
        new = before is None or (row.state, row.variables) != (before.state, before.variables)
        if new:
            labels.append(row.state)
            variables.append(row.variables)
            seen.append(row.seen)
        if new or before is None or row.step != before.step:
            state.append(len(labels) - 1)
            step.append(row.step)
            found.append(np.zeros(head.actions.n) if head.drawn else row.action)
        elif not head.drawn:
            raise ValueError(f"line {row.line} says the same step of the same state again")
        if head.drawn:
            if found[-1][row.action]:  # type: ignore[index]
                raise ValueError(f"line {row.line} says the same action again")
            found[-1][row.action] = row.chance  # type: ignore[index]
    states = Names("state", len(labels), labels, variables if head.names else None, head.names)
    return Changes(
        states,
        head.actions,
        head.steps,
        np.array(state),
        np.array(step),
        np.array(found),
        np.array(seen) if head.marked else None,
    )
