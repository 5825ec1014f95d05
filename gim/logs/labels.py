"""States and actions from the columns that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.logs.table import Part
from gim.mdp.columns import tell
from gim.mdp.variables import Variables

Ints = NDArray[Any]  # whole numbers of 32 or 64 bits
TABLE = 1 << 24  # up to so many keys, those met are found in a table
OVER = "(end)"  # the label of a state that only says that an episode is over


class Made(NamedTuple):
    """States, or actions: their labels and what they are made of."""

    labels: list[Any]
    variables: Variables | None


def _placed(place: NDArray[np.int32], keys: Ints) -> NDArray[np.int32]:
    numbers = place[np.maximum(keys, 0)]  # what is below 0 may lie before the first, too
    numbers[keys < 0] = keys[keys < 0]
    return numbers


class Keys:
    """One number for each row of codes, of mixed radix, and the way back.

    Args:
        parts: the columns.
        levels: [k] the values behind their codes.
    """

    def __init__(self, parts: Sequence[Part], levels: Sequence[list[Any]]) -> None:
        self.parts, self.levels = parts, levels
        self.size = 1
        for level in levels:
            self.size *= max(len(level), 1)
        if self.size > 2**62:
            names = ", ".join(part.name for part in parts)
            raise ValueError(f"{names} have too many values together: bin them, or leave some out")

    def __call__(self, codes: Sequence[Ints]) -> Ints:
        """The key of each row; -1 where a value is missing."""
        keys: Any = codes[0].astype(np.int32 if self.size < 2**31 else np.int64)
        missing = codes[0] < 0
        for level, column in zip(self.levels[1:], codes[1:], strict=True):
            keys *= len(level)
            keys += column
            missing |= column < 0
        keys[missing] = -1
        return keys

    def numbered(self, *columns: Ints) -> tuple[Ints, list[Ints]]:
        """The keys met, rising, and each column of keys as numbers among them."""
        if self.size <= TABLE:
            met = np.zeros(self.size, bool)
            for column in columns:
                met[column[column >= 0]] = True
            found = np.flatnonzero(met)
            place = np.cumsum(met, dtype=np.int32) - np.int32(1)
            return found, [_placed(place, c) for c in columns]
        found = np.unique(np.concatenate([np.unique(c[c >= 0]) for c in columns]))
        return found, [
            np.where(c >= 0, np.searchsorted(found, c), c).astype(np.int32) for c in columns
        ]

    def made(self, keys: Ints, kind: str, over: bool = False) -> Made:
        """What these keys stand for; `over` adds a last one that stands for the end."""
        codes = []
        for level in reversed(self.levels):
            keys, code = np.divmod(keys, len(level))
            codes.append(code)
        codes.reverse()
        columns = [[level[c] for c in code] for level, code in zip(self.levels, codes, strict=True)]
        single = len(columns) == 1
        labels = columns[0] if single else list(zip(*columns, strict=True))
        binned = [part.edges is not None for part in self.parts]
        if single and not binned[0] and not tell(labels):
            variables = None
        else:
            variables = self._variables(codes, binned, over)
        return Made([*labels, OVER] if over else labels, variables)

    def _variables(self, codes: Any, binned: list[bool], over: bool) -> Variables:
        """The end lies beyond the last value of each variable: it is like none of the others."""
        names = [part.name for part in self.parts]
        found, levels, ordinal = [], [], []
        for name, code, level, bins in zip(names, codes, self.levels, binned, strict=True):
            if bins:
                found.append(code)
                levels.append(list(level))
                ordinal.append(True)
                continue
            distinct = sorted(set(code.tolist()))
            one = Variables({name: [level[c] for c in distinct]})
            found.append(one.codes[:, 0][np.searchsorted(distinct, code)])
            levels.append(list(one.levels[0]))
            ordinal.append(one.ordinal[0])
        if over:
            found = [np.append(code, len(level)) for code, level in zip(found, levels, strict=True)]
            levels = [[*level, OVER] for level in levels]
        return Variables.coded(np.stack(found, axis=1), levels, names, ordinal)
