"""What is wrong with the rows of a log: said with row and column, or counted and left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMED = 20  # rows that an error names


class Faults:
    """The rows that cannot be used; rows are counted from 1, without the header.

    Args:
        n: rows of the log.
        strict: whether a fault is an error, once all of them are known (`settle`).
    """

    def __init__(self, n: int, strict: bool) -> None:
        self.strict = strict
        self.bad = np.zeros(n, bool)
        self.reasons: dict[str, int] = {}  # rows left out, by reason
        self._first: list[tuple[int, str, str]] = []  # row, column, reason

    def mark(self, rows: NDArray[Any], column: str, reason: str) -> None:
        """Mark rows, a mask [n] or numbers, for a reason; what is bad already stays as it is."""
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        rows = np.sort(rows[~self.bad[rows]])
        if not rows.size:
            return
        self.bad[rows] = True
        self._first += [(row, column, reason) for row in rows[:NAMED].tolist()]
        reason = f"{column}: {reason}"
        self.reasons[reason] = self.reasons.get(reason, 0) + int(rows.size)

    def settle(self) -> None:
        """Raise if there are faults and none may be: the first of them, those alike together."""
        if not (self.strict and self.bad.any()):
            return
        alike: dict[tuple[str, str], list[int]] = {}
        for row, column, reason in sorted(self._first)[:NAMED]:
            alike.setdefault((column, reason), []).append(row + 1)
        said = [
            f"{_rows(rows)}, column {column!r}: {reason}"
            for (column, reason), rows in alike.items()
        ]
        if more := int(self.bad.sum()) - sum(map(len, alike.values())):
            said.append(f"and {more:,} more row{'s' * (more > 1)}")
        raise ValueError(f"{'; '.join(said)}; strict=False leaves such rows out")


def _rows(rows: list[int]) -> str:
    """Rows by number: row 3; rows 3 and 4; rows 3, 4 and 8."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"
