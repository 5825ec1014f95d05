"""Values as codes: how the columns of a description become whole numbers, and are found again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base import escapes
from gim._base.arguments import several

Ints = NDArray[np.int64]
Levels = Sequence[Any]  # a range, or a tuple of distinct values

SPAN = 2**16  # numbers keep their distances up to this many codes; beyond, they get their ranks
TABLE = 2**16  # rows are found in a table of this size, or of 8 entries for each
SHOWN = 8  # values of a nominal variable that are listed
NUMBERS = {bool, int, float}
REAL = (int, float, np.integer, np.floating)
MOST = 2**62  # up to here a key of mixed radix is surely a 64-bit number


class Column(NamedTuple):
    """One variable: `levels[codes[i]]` is the value of row i."""

    codes: Ints  # [n], from 0
    levels: Levels
    ordinal: bool


# -- from what users have to columns


def columns_of(given: Any) -> tuple[list[str] | None, list[Any]]:
    """The columns of a description, and their names where it brings some.

    A mapping of names to columns, an array [n, k] or [n], or a sequence of rows: single values,
    tuples, named tuples or dataclasses, nested or not.
    """
    if np.ma.is_masked(given):
        raise ValueError("a value of the variables is masked: fill it in")
    if hasattr(given, "keys"):
        if not len(given):
            raise ValueError("variables need at least one column")
        return [str(name) for name in given], [given[name] for name in given]
    if isinstance(given, np.ndarray):
        return _of_array(given)
    rows = several("variables", given, "a mapping, an array [n, k] or a list of rows")
    if not rows:
        raise ValueError("variables need at least one row")
    first = rows[0]
    if isinstance(first, (tuple, list)) and not any(map(composite, first)):
        rows = [row if isinstance(row, (tuple, list)) else (row,) for row in rows]
    else:
        rows = [[value for _, value in flat(row)] for row in rows]
    k = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != k or k == 0:
            raise ValueError(f"row {i} has {len(row)} values, row 0 has {k}: give all the same, k")
    named = hasattr(first, "_fields") or is_dataclass(first)
    names = [name for name, _ in flat(first)] if named else None
    return names, [list(column) for column in zip(*rows, strict=True)]


def _of_array(given: NDArray[Any]) -> tuple[list[str] | None, list[Any]]:
    if given.dtype.names:
        return list(given.dtype.names), [given[name] for name in given.dtype.names]
    if given.ndim not in (1, 2) or given.size == 0:
        raise ValueError(f"variables have shape {given.shape}: give an array [n, k]")
    return None, list(given.T) if given.ndim == 2 else [given]


def composite(value: Any) -> bool:
    """Whether a value is made of values."""
    return isinstance(value, (tuple, list, np.ndarray)) or (
        is_dataclass(value) and not isinstance(value, type)
    )


def flat(row: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a row, nested or not, with their names: fields, or numbers from 0."""
    if not composite(row):
        yield name, row
        return
    if is_dataclass(row):
        parts = [(field.name, getattr(row, field.name)) for field in fields(row)]
    else:
        values = row.tolist() if isinstance(row, np.ndarray) else row
        keys = getattr(row, "_fields", map(str, range(len(values))))
        parts = list(zip(keys, values, strict=True))
    for key, value in parts:
        yield from flat(value, f"{name}.{key}" if name else key)


def tell(labels: list[Any]) -> bool:
    """Whether labels say what things are made of: all are tuples of one length, or numbers."""
    if not labels:
        return False
    if not all(map(composite, labels)):
        return all(isinstance(each, REAL) and not isinstance(each, bool) for each in labels)
    if any(map(composite, labels[0])) or not isinstance(labels[0], tuple):
        lengths = {sum(1 for _ in flat(each)) for each in labels}
    else:
        lengths = set(map(len, labels))
    return len(lengths) == 1 and 0 not in lengths


# -- names and kinds


def names_of(given: Sequence[str], k: int) -> tuple[str, ...]:
    """k distinct names."""
    names = tuple(str(name) for name in given)
    if len(names) != k:
        raise ValueError(f"there are {k} variables but {len(names)} names: {', '.join(names)}")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two variables are called {name!r}")
    return names


def kinds_of(given: Any, names: Sequence[str]) -> list[bool | None]:
    """Whether each variable is ordinal; None where that is not said."""
    if isinstance(given, Mapping):
        if unknown := set(given) - set(names):
            raise ValueError(f"ordinal: no variable is called {min(map(str, unknown))!r}")
        return [given.get(name) for name in names]
    if given is None or isinstance(given, (bool, np.bool_)):
        return [None if given is None else bool(given)] * len(names)
    if len(given) != len(names):
        raise ValueError(f"ordinal has {len(given)} entries for {len(names)} variables")
    return [None if each is None else bool(each) for each in given]


def shown(levels: Levels) -> str:
    """`0..4`, `0..10 by 5`, or `{dry, wet}`."""
    if isinstance(levels, range):
        by = f" by {levels.step}" if levels.step != 1 else ""
        return f"{levels[0]}..{levels[-1]}{by}"
    more = ", ..." if len(levels) > SHOWN else ""
    return "{" + ", ".join(map(escapes.shown, levels[:SHOWN])) + more + "}"


# -- from values to codes


def encoded(name: str, values: Any, ordinal: bool | None) -> Column:
    """Number the values of one variable; None: ordinal if they are numbers.

    A `Column` stays as it is, unless it is to be ordinal and was not.
    """
    if isinstance(values, Column):
        if not ordinal or values.ordinal:
            return values if ordinal is None else values._replace(ordinal=ordinal)
        values = [values.levels[code] for code in values.codes]
    if not hasattr(values, "__len__"):
        raise ValueError(f"variable {name!r} is {values!r}: give its values, [n]")
    array = _plain(values)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"variable {name!r} has shape {array.shape}: give its values, [n]")
    kind = array.dtype.kind
    if kind == "f" and not np.isfinite(array).all():
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"variable {name!r} is {array[i]} in row {i}: give a finite number")
    if kind == "b":
        return Column(array.astype(np.int64), (False, True), bool(ordinal))
    numbers = kind in "if"
    if ordinal and not numbers:
        raise ValueError(
            f"variable {name!r} cannot be ordinal with values such as {array[0]!r}: give numbers "
            "in their order"
        )
    if numbers and ordinal is not False:
        return Column(*_spaced(array), ordinal=True)
    if numbers:
        found, codes = np.unique(array, return_inverse=True)
        return Column(codes.astype(np.int64), levels_of(found.tolist()), ordinal=False)
    try:
        met = list(dict.fromkeys(array))
    except TypeError as problem:  # such as a dict
        raise ValueError(f"variable {name!r} has a value that is none: {problem}") from None
    with suppress(TypeError):  # values of several kinds stay as they came
        met.sort()
    number = {value: code for code, value in enumerate(met)}
    codes = np.fromiter((number[value] for value in array), np.int64, array.size)
    return Column(codes, tuple(met), ordinal=False)


def levels_of(values: Sequence[Any]) -> Levels:
    """The one form of these levels: a range where they are whole numbers, evenly spaced."""
    if isinstance(values, range):
        return values if len(values) != 1 else range(values[0], values[0] + 1)
    if all(type(value) is int for value in values):
        step = values[1] - values[0] if len(values) > 1 else 1
        if step > 0 and all(b - a == step for a, b in pairwise(values)):
            return range(values[0], values[-1] + step, step)
    return tuple(values)


def saved(levels: Levels) -> Any:
    """Levels as JSON holds them: ranges by their ends, and text for what is not of its kinds."""
    if isinstance(levels, range):
        return {"range": [levels.start, levels.stop, levels.step]}
    texts = [v if v is None or isinstance(v, (bool, int, float)) else str(v) for v in levels]
    if len(set(texts)) < len(texts):
        return [f"{text} ({code})" for code, text in enumerate(texts)]
    return texts


def _plain(values: Any) -> NDArray[Any]:
    """An array of bool, int64, float64, or of objects where it is anything else."""
    array = np.asarray(values) if hasattr(values, "dtype") else None
    if array is None or array.dtype.kind not in "biuf":
        array = _objects(values if array is None else array.tolist())
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        return array.astype(object)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        if (np.abs(array) < 2**53).all() and (array == np.rint(array)).all():
            return array.astype(np.int64)
    return array


def _objects(values: Any) -> NDArray[Any]:
    """An array of these objects; of bool or numbers if all of them are."""
    items = [value.item() if isinstance(value, np.generic) else value for value in values]
    array = np.fromiter(items, object, len(items))
    kinds = {type(item) for item in items}
    for numbers, dtype in (({bool}, np.bool_), ({bool, int}, np.int64), (NUMBERS, np.float64)):
        if kinds <= numbers:
            try:
                return array.astype(dtype)
            except OverflowError:  # whole numbers of more than 64 bits
                break
    return array


def _spaced(array: NDArray[Any]) -> tuple[Ints, Levels]:
    """Codes that keep the distances of numbers: 2, 4 and 8 become 0, 1 and 3."""
    found, ranks = np.unique(array, return_inverse=True)
    ranks = ranks.astype(np.int64)
    first, last = found[0].item(), found[-1].item()
    if found.size == 1 or last - first > MOST:
        return ranks, levels_of(found.tolist())
    if array.dtype.kind == "i":
        step = int(np.gcd.reduce(np.diff(found)))
        places = (found - first) // step
        levels: Levels = range(first, last + step, step)
    else:
        gap = np.diff(found).min()
        if (last - first) / float(gap) >= SPAN:
            return ranks, levels_of(found.tolist())
        places = np.rint((found - first) / gap).astype(np.int64)
        if np.abs(first + places * gap - found).max() > 1e-6 * gap:
            return ranks, tuple(found.tolist())
        levels = ()
    if places[-1] >= SPAN:
        return ranks, levels_of(found.tolist())
    if not levels:
        filled = first + gap * np.arange(places[-1] + 1)
        filled[places] = found  # to the bit
        levels = tuple(filled.tolist())
    return places[ranks], levels


# -- from codes to rows


class Finder:
    """Finds rows by their codes [n, k]: numbers of mixed radix, cut where they grow too long."""

    def __init__(self, codes: Ints, sizes: Sequence[int]) -> None:
        self.sizes, self.cuts = sizes, dict[int, Ints]()
        keys, radix = self._keys(codes, new=True)
        self.table, self.order = np.zeros(0, np.int64), np.zeros(0, np.int64)
        if radix <= max(TABLE, 8 * len(codes)):
            self.table = np.full(radix, -1)
            self.table[keys] = np.arange(len(codes))
        else:
            self.order = np.argsort(keys, kind="stable")
            self.sorted = keys[self.order]

    def find(self, codes: Ints) -> Ints:
        """The row of each of these codes [m, k], or -1; each code is below its size."""
        keys, _ = self._keys(codes)
        if self.table.size:
            return np.where(keys >= 0, self.table[keys], -1)
        place = _place(self.sorted, keys)
        return np.where(place >= 0, self.order[place], -1)

    def _keys(self, codes: Ints, new: bool = False) -> tuple[Ints, int]:
        """A number for each row; negative for rows that cannot be there."""
        keys, radix = np.zeros(len(codes), np.int64), 1
        for j, size in enumerate(self.sizes):
            if radix * size > MOST:  # number what is there so far anew, by rank
                if new:
                    self.cuts[j] = np.unique(keys)
                keys, radix = _place(self.cuts[j], keys), self.cuts[j].size
            keys, radix = keys * size + codes[:, j], radix * size
        return keys, radix


def _place(known: Ints, keys: Ints) -> Ints:
    """Where keys stand in a sorted array, or -1."""
    place = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[place] == keys, place, -1)
