"""The table: what became of each mutant, by room, and the survivors one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tools.mutants.operators import Mutant
from tools.mutants.scratch import KILLED, SURVIVED, TIMEOUT

EQUIVALENT = "equivalent"
STATUSES = (KILLED, TIMEOUT, SURVIVED, EQUIVALENT)


class Fate(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    status: str
    words: str  # the test that killed it, or a reason


def score(fates: Sequence[Fate]) -> float:
    """The share of killed ones among those that are not equivalent; a timeout is a kill."""
    counted = [fate.status in (KILLED, TIMEOUT) for fate in fates if fate.status != EQUIVALENT]
    return sum(counted) / len(counted) if counted else 1.0


def table(fates: Sequence[Fate], title: str, rooms: Mapping[str, str]) -> str:
    """As Markdown; `rooms` says in which room each module stands."""
    rows = []
    for room in dict.fromkeys(rooms.values()):
        rows.append((room, [fate for fate in fates if rooms[fate.mutant.module] == room]))
    lines = [f"# {title}", "", f"| room | mutants | {' | '.join(STATUSES)} | score |"]
    lines.append("| --- |" + " --- |" * (len(STATUSES) + 2))
    for name, some in [*rows, ("all", list(fates))]:
        numbers = [sum(fate.status == status for fate in some) for status in STATUSES]
        cells = [name, len(some), *numbers, f"{score(some):.3f}" if some else ""]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for status, heading in ((SURVIVED, "Survivors"), (EQUIVALENT, "Equivalent")):
        some = [fate for fate in fates if fate.status == status]
        if some:
            lines += [
                "",
                f"## {heading}",
                "",
                "| id | where | fault | |",
                "| --- | --- | --- | --- |",
            ]
            lines += [_row(fate) for fate in sorted(some, key=lambda fate: fate.mutant[:3])]
    return "\n".join(lines) + "\n"


def _row(fate: Fate) -> str:
    where, _, fault = str(fate.mutant).partition(": ")
    cells = [fate.mutant.id, where, f"`{fault}`", fate.words]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
