"""What states, or actions, are made of: named variables, each ordinal or nominal.

A state of a grid is a row and a column, one of an inventory a stock, one of Taxi two coordinates, a
passenger and a destination. A variable is *ordinal* if its order and its distances mean something
(a row, a stock), *nominal* if its values are names only (a colour). Values are kept as the user has
them and numbered by *codes* from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim._base.escapes import escape
from gim._base.escapes import shown as plain
from gim.mdp.columns import (
    Column,
    Finder,
    Levels,
    columns_of,
    encoded,
    flat,
    kinds_of,
    levels_of,
    names_of,
    saved,
    shown,
    tell,
)

Ints = NDArray[np.int64]


class Variables:
    """What each of n states (or actions) is made of.

    Two states never share all their values: what tells them apart would be missing.

    Args:
        codes: the values, in any of these forms: a mapping of names to values [n] (a data frame
            will do), an array [n, k] (or [n], for one variable), a list of rows such as tuples, or
            other `Variables`. Rows that are named tuples or dataclasses bring their names, nested
            ones are flattened.
        names: k names; by default x0, x1, ...
        ordinal: whether each variable is ordinal: k bools, one for all, or a mapping by name. By
            default numbers are, and all else (truth values, too) is nominal.

    Attributes:
        names: [k].
        ordinal: [k].
        levels: [k] sequences: `levels[j][c]` is the value of variable j that has the code c. The
            codes of an ordinal variable keep its distances: 2, 4 and 8 become 0, 1 and 3.
        codes: [n, k], from 0; read-only.

    Example:
        >>> cells = Variables({"row": [0, 0, 1], "col": [5, 10, 5], "floor": ["wet", "dry", "dry"]})
        >>> cells
        <Variables of 3: row 0..1, col 5..10 by 5, floor {dry, wet}>
        >>> cells.codes.tolist()
        [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
        >>> cells.state((0, 10, "dry")), cells.values(2), cells.label(2)
        (1, (1, 5, 'dry'), 'row=1, col=5, floor=dry')
        >>> cells.index_of([[1, 0, 0], [1, 1, 1]]).tolist()
        [2, -1]
    """

    names: tuple[str, ...]
    ordinal: tuple[bool, ...]
    levels: tuple[Levels, ...]
    codes: Ints

    def __init__(
        self,
        codes: Any,
        names: Sequence[str] | None = None,
        ordinal: bool | Sequence[bool] | Mapping[str, bool] | None = None,
    ) -> None:
        own: Sequence[str] | None
        if isinstance(codes, Variables):
            own, columns = codes.names, codes.columns
        else:
            own, columns = columns_of(codes)
        k = len(columns)
        own = default_names("x", k) if own is None else own
        self.names = names_of(own if names is None else names, k)
        kinds = kinds_of(ordinal, self.names)
        done = [encoded(*each) for each in zip(self.names, columns, kinds, strict=True)]
        if len({column.codes.size for column in done}) > 1:
            sizes = (f"{n} {c.codes.size}" for n, c in zip(self.names, done, strict=True))
            raise ValueError(f"variables differ in their numbers of values: {', '.join(sizes)}")
        self._put(np.stack([column.codes for column in done], axis=1), done)

    @classmethod
    def coded(
        cls,
        codes: ArrayLike,
        levels: Sequence[Sequence[Any]],
        names: Sequence[str],
        ordinal: Sequence[bool],
    ) -> Variables:
        """Variables whose codes are known already; some codes may belong to no state.

        Args:
            codes: [n, k], from 0.
            levels: [k] the values behind the codes: ranges, or sequences of distinct values.
            names: [k].
            ordinal: [k].

        Example:
            >>> Variables.coded([[0], [2]], [("red", "green", "blue")], ["light"], [False])
            <Variables of 2: light {red, green, blue}>
        """
        table = np.array(codes)
        if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "iu":
            raise ValueError(f"codes have shape {table.shape}: give whole numbers [n, k]")
        k = table.shape[1]
        if len(levels) != k or len(ordinal) != k:
            raise ValueError(f"there are {k} variables, {len(levels)} levels, {len(ordinal)} kinds")
        made = cls.__new__(cls)
        made.names = names_of(names, k)
        done = []
        for name, column, values, kind in zip(made.names, table.T, levels, ordinal, strict=True):
            if not isinstance(values, range) and len(set(values)) < len(values):
                raise ValueError(f"a value of variable {name!r} stands twice in its levels")
            if column.min() < 0 or column.max() >= len(values):
                raise ValueError(f"codes of variable {name!r} must be from 0 to {len(values) - 1}")
            done.append(Column(column, levels_of(values), bool(kind)))
        made._put(table.astype(np.int64), done)
        return made

    def _put(self, codes: Ints, columns: Sequence[Column]) -> None:
        self.codes = codes
        self.codes.setflags(write=False)
        self.levels = tuple(column.levels for column in columns)
        self.ordinal = tuple(column.ordinal for column in columns)
        found = self._finder.find(codes)
        if (twice := np.flatnonzero(found != np.arange(len(self)))).size:
            one, two = sorted((int(twice[0]), int(found[twice[0]])))
            raise ValueError(
                f"{one} and {two} are both {self._written(self.values(one))}: add the variable in "
                "which they differ"
            )

    # -- what they are

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each variable has, [k]."""
        return tuple(map(len, self.levels))

    @property
    def columns(self) -> list[Column]:
        """The variables one by one."""
        return list(map(Column, self.codes.T, self.levels, self.ordinal))

    def __len__(self) -> int:
        return len(self.codes)

    def values(self, s: int) -> tuple[Any, ...]:
        """What the state s is made of, in the user's own values, [k]."""
        codes = self.codes[s].tolist()
        return tuple(level[code] for level, code in zip(self.levels, codes, strict=True))

    def label(self, s: int) -> str:
        """The values of the state s by name; of a single variable the value alone."""
        values = self.values(s)
        return str(values[0]) if len(values) == 1 else self._written(values)

    def state(self, values: Any) -> int:
        """The state that has these values: a tuple [k], a mapping by name, or one bare value."""
        wanted, codes = self._wanted(values), []
        for name, level, code_of, value in zip(
            self.names, self.levels, self._codes_by_value, wanted, strict=True
        ):
            try:
                codes.append(code_of[value])
            except (KeyError, TypeError):  # not among them, or not even hashable
                raise ValueError(f"{name} = {value!r}: it must be in {shown(level)}") from None
        s = int(self.index_of(codes))
        if s < 0:
            raise ValueError(f"nothing has {self._written(wanted)}")
        return s

    def index_of(self, codes: ArrayLike) -> Ints:
        """The states that have these codes: [..., k] to [...]; -1 where there is none."""
        rows = np.asarray(codes)
        if rows.dtype.kind not in "iu" or rows.ndim == 0 or rows.shape[-1] != len(self.names):
            k = len(self.names)
            raise ValueError(f"codes have shape {rows.shape}: give whole numbers [..., {k}]")
        flat_rows = rows.reshape(-1, len(self.names)).astype(np.int64)
        inside = np.all((flat_rows >= 0) & (flat_rows < np.array(self.sizes)), axis=1)
        found = self._finder.find(np.where(inside[:, None], flat_rows, 0))
        return np.where(inside, found, -1).reshape(rows.shape[:-1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variables):
            return NotImplemented
        same = (self.names, self.ordinal, self.levels) == (other.names, other.ordinal, other.levels)
        return same and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        each = (
            f"{plain(n)} {shown(level)}" for n, level in zip(self.names, self.levels, strict=True)
        )
        return f"<Variables of {len(self)}: {', '.join(each)}>"

    def _repr_html_(self) -> str:
        rows = [("th", ("variable", "kind", "size", "values"))]
        for name, level, ordinal in zip(self.names, self.levels, self.ordinal, strict=True):
            kind = "ordinal" if ordinal else "nominal"
            rows.append(("td", (name, kind, str(len(level)), shown(level))))
        lines = [
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
            for tag, cells in rows
        ]
        return f"<table>{''.join(lines)}</table>"

    # -- ways out and in

    def pack(self) -> tuple[Ints, dict[str, Any]]:
        """Codes [n, k] and JSON that `unpack` turns into the same variables.

        JSON holds numbers, text, truth values and None; any other value comes back as its text.
        """
        levels = [saved(level) for level in self.levels]
        meta = {"names": list(self.names), "ordinal": list(self.ordinal), "levels": levels}
        return self.codes, meta

    @classmethod
    def unpack(cls, codes: Ints, meta: Mapping[str, Any]) -> Variables:
        """The inverse of `pack`."""
        levels = [
            range(*level["range"]) if isinstance(level, dict) else level for level in meta["levels"]
        ]
        return cls.coded(codes, levels, meta["names"], meta["ordinal"])

    # -- within

    @cached_property
    def _codes_by_value(self) -> list[dict[Any, int]]:
        return [{value: code for code, value in enumerate(level)} for level in self.levels]

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.codes, self.sizes)

    def _wanted(self, values: Any) -> list[Any]:
        if isinstance(values, Mapping):
            if set(values) != set(self.names):
                raise ValueError(f"{dict(values)!r}: give {', '.join(self.names)}")
            return [values[name] for name in self.names]
        values = values.item() if isinstance(values, np.generic) else values
        wanted = [value for _, value in flat(values)]
        if len(wanted) != len(self.names):
            raise ValueError(f"{values!r}: give {', '.join(self.names)}")
        return wanted

    def _written(self, values: Sequence[Any]) -> str:
        return ", ".join(f"{name}={value}" for name, value in zip(self.names, values, strict=True))


def default_names(letter: str, k: int) -> list[str]:
    """x0, x1, ..."""
    return [f"{letter}{j}" for j in range(k)]


def variables_of(what: str, given: Any, labels: Any, n: int) -> Variables | None:
    """Read the argument `variables` (`what` is "state") or `action_variables` ("action").

    "auto" takes them from labels that are tuples, all of one length, or numbers; None withholds
    them. Unnamed ones are called x0, x1, ... (of actions a0, a1, ...); a single one as `what`.
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "auto":
        given = [] if labels is None else list(labels)
        if not tell(given):
            return None
        try:
            made = Variables(given)
        except ValueError:  # as labels 1 and True differ, as values they do not
            return None
    elif isinstance(given, str):
        raise ValueError(f'variables of {what}s = {given!r}: give "auto", None, or values')
    else:
        made = given if isinstance(given, Variables) else Variables(given)
    if len(made) != n:
        raise ValueError(f"variables describe {len(made)} {what}s, but there are {n}")
    k = len(made.names)
    if made is not given and made.names == tuple(default_names("x", k)):
        letter = "x" if what == "state" else "a"
        made = Variables(made, names=[what] if k == 1 else default_names(letter, k))
    return made
