"""What is wrong with the rows of a log: said with row and column, or counted and left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NAMED = 20  # rows that an error names


class Faults:
    """Why rows cannot be used: each reason has a number, from 1, the first that holds is a row's.

    Example:
        >>> faults = Faults()
        >>> faults.number("r", "the reward is missing (NaN)")
        1
        >>> faults.said([(2, 1), (7, 1)], 3, "leave them out")
        "rows 3 and 8, column 'r': the reward is missing (NaN); and 1 more row; leave them out"
    """

    def __init__(self) -> None:
        self.reasons: list[tuple[str, str]] = []  # column, what is wrong there

    def number(self, column: str, reason: str) -> int:
        """The number of a reason."""
        self.reasons.append((column, reason))
        return len(self.reasons)

    def counted(self, often: Mapping[int, int]) -> dict[str, int]:
        """Rows left out, by reason in words."""
        found: dict[str, int] = {}
        for number in sorted(often):
            text = ": ".join(self.reasons[number - 1])
            found[text] = found.get(text, 0) + often[number]
        return found

    def said(self, first: Sequence[tuple[int, int]], n: int, fix: str) -> str:
        """The first rows (row from 0, reason) of n, those alike together; rows count from 1."""
        alike: dict[tuple[str, str], list[int]] = {}
        for row, number in first:
            alike.setdefault(self.reasons[number - 1], []).append(row + 1)
        said = [f"{_rows(rows)}, column {name!r}: {text}" for (name, text), rows in alike.items()]
        if more := n - len(first):
            said.append(f"and {more:,} more row{'s' * (more > 1)}")
        return f"{'; '.join(said)}; {fix}"


def _rows(rows: list[int]) -> str:
    """Rows by number: row 3; rows 3 and 4; rows 3, 4 and 8."""
    if len(rows) == 1:
        return f"row {rows[0]}"
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"
