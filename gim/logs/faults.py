"""What is wrong with the rows of a log: said with row and column, or counted and left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Faults:
    """The rows that cannot be used; rows are counted from 1, without the header.

    Args:
        n: rows of the log.
        strict: whether the first fault is an error.
    """

    def __init__(self, n: int, strict: bool) -> None:
        self.strict = strict
        self.bad = np.zeros(n, bool)
        self.reasons: dict[str, int] = {}  # rows left out, by reason

    def mark(self, rows: NDArray[Any], column: str, reason: str) -> None:
        """Mark rows, a mask [n] or numbers, for a reason; what is bad already stays as it is."""
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        rows = rows[~self.bad[rows]]
        if not rows.size:
            return
        if self.strict:
            more = rows.size - 1
            also = f" (and in {more} more row{'s' * (more > 1)})" if more else ""
            raise ValueError(
                f"row {int(rows.min()) + 1}, column {column!r}: {reason}{also}; strict=False "
                "leaves such rows out"
            )
        self.bad[rows] = True
        reason = f"{column}: {reason}"
        self.reasons[reason] = self.reasons.get(reason, 0) + int(rows.size)
