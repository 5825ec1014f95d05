"""What commands print: tables as wide as the terminal, with colours where it shows them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gim._base import terminal
from gim.cli.colour import paint

VERDICTS = {
    "does not hold": "red",
    "holds in part": "yellow",
    "holds": "green",
    "not finished": "faint",
}


def table(
    rows: Iterable[Sequence[Any]], headers: Sequence[str] | None = None, align: str | None = None
) -> str:
    """`gim._base.terminal.table` for stdout: folded to its width, the names of columns in bold."""
    made = terminal.table(rows, headers, align, width=width())
    if headers is None:
        return made
    head, rule, *rest = made.split("\n")
    while rule and set(rule) - {"─", " "}:  # names that were folded
        head, rule, *rest = f"{head}\n{rule}", *rest
    return "\n".join([paint(head, "bold", sys.stdout), paint(rule, "faint", sys.stdout), *rest])


def width() -> int | None:
    """Columns of stdout; None where it is no terminal, and lines may have any length."""
    return terminal.columns(sys.stdout) if sys.stdout.isatty() else None


def judged(text: str) -> str:
    """The text with verdicts in colours."""
    found = "|".join(map(re.escape, VERDICTS))
    return re.sub(found, lambda match: paint(match[0], VERDICTS[match[0]], sys.stdout), text)
