"""What the states and the actions of a task are made of, said in one way by every task.

    states = made_of(row=range(5), col=range(5), passenger="RGYB")

has one state for each combination of values, the last variable running fastest. A variable given
as a range is ordinal: its values have an order, and a step from one to the next means something.
Any other is nominal: its values are names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim.variables import Variables

MOST = 1_000_000  # states: more are never meant
LISTED, STORED = 10_000_000, 50_000_000  # probabilities in 2 GB, as outcomes or as a table


class Made(NamedTuple):
    """States or actions as combinations of the values of variables."""

    values: dict[str, Sequence[Any]]  # of each variable, by its name
    codes: NDArray[np.int64]  # [n, k] places in these values

    def take(self, kept: ArrayLike) -> Made:
        """Only these states: their numbers, or a mask."""
        return self._replace(codes=self.codes[np.asarray(kept)])

    @property
    def labels(self) -> list[Any]:
        """One for each: a tuple of values, or the value itself where there is one variable."""
        columns = [
            [values[code] for code in column]
            for values, column in zip(self.values.values(), self.codes.T.tolist(), strict=True)
        ]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    @property
    def variables(self) -> Variables:
        """The same as `gim.Variables`."""
        ordinal = [isinstance(values, range) for values in self.values.values()]
        return Variables.coded(self.codes, list(self.values.values()), list(self.values), ordinal)


def made_of(**values: Sequence[Any]) -> Made:
    """All combinations of these values.

    Example:
        >>> made_of(row=range(2), col=range(2)).labels
        [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    sizes = [len(v) for v in values.values()]
    n = math.prod(sizes)
    if n > MOST:
        factors = " * ".join(f"{size} ({name})" for name, size in zip(values, sizes, strict=True))
        raise ValueError(f"{factors} = {n:,}: make one of them smaller, {MOST:,} is the most")
    return Made(values, np.indices(sizes).reshape(len(sizes), n).T)


def check_entries(task: str, entries: int, most: int = STORED) -> None:
    """Refuse a table too large to build, before any work is done."""
    if entries > most:
        raise ValueError(
            f"{task}: a table of {entries:,} probabilities, where {most:,} is the most: "
            "give smaller numbers"
        )


def described(
    states: Made | None = None, actions: Made | Sequence[str] | None = None, **info: Any
) -> dict[str, Any]:
    """What `TabularMDP` is told of them: labels and variables.

    Args:
        states: what states are made of, or nothing known.
        actions: likewise, or names alone.
        info: further facts to keep with the task, such as its layout.
    """
    options: dict[str, Any] = {"info": info}
    for kind, made in (("state", states), ("action", actions)):
        if isinstance(made, Made):
            options[f"{kind}_labels"] = made.labels
            options["variables" if kind == "state" else "action_variables"] = made.variables
        elif made is not None:
            options[f"{kind}_labels"] = made
    return options
