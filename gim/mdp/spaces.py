"""Gymnasium's finite spaces as numbers: what is observed becomes a state, a number an action.

Discrete spaces, and all that is made of whole numbers: MultiDiscrete, MultiBinary, Box of whole
numbers with bounds, Tuple and Dict of these, nested or not. Their values are numbered in mixed
radix, the last variable running fastest, as `numpy.ravel_multi_index` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gim.mdp.variables import Variables, default_names

VALUES = 2**20  # that a space may have
PAIRS = 2**26  # of state and action: half a gigabyte for one number each

Variable = tuple[str, int, int, bool]  # name, least value, size, ordinal


class Numbering:
    """The values of a space, numbered from 0.

    Attributes:
        variables: name, least value, size and kind of each variable that a value is made of.
        n: how many values there are.
        encode: the number of a value, or -1 if it is not in the space.
        decode: the value of a number, made anew where it could be changed.
    """

    variables: list[Variable]
    encode: Callable[[Any], int]
    decode: Callable[[int], Any]

    @property
    def n(self) -> int:
        """How many values there are."""
        return math.prod(size for _, _, size, _ in self.variables)


class Number(Numbering):
    """A `Discrete` space."""

    def __init__(self, space: spaces.Discrete, name: str) -> None:
        self.start, self.size = int(space.start), int(space.n)
        self.variables = [(name, self.start, self.size, True)]

    def encode(self, value: Any) -> int:
        """Whole numbers of any type."""
        try:
            code = index(value) - self.start
        except TypeError:
            return -1
        return code if 0 <= code < self.size else -1

    def decode(self, number: int) -> int:
        """A Python number."""
        return number + self.start


class Array(Numbering):
    """A space of arrays of whole numbers: `MultiDiscrete`, `MultiBinary` or `Box`."""

    def __init__(self, space: Any, name: str, low: NDArray[Any], sizes: list[int]) -> None:
        self.space, self.low = space, np.asarray(low).astype(np.int64).ravel()
        dot = f"{name}." if name else ""
        ordinal = not isinstance(space, spaces.MultiBinary)
        self.variables = [
            (f"{dot}{j}", int(least), size, ordinal)
            for j, (least, size) in enumerate(zip(self.low, sizes, strict=True))
        ]
        self.met: dict[bytes, int] = {}  # numbers of arrays of the space's own type
        self.made: dict[int, NDArray[Any]] = {}

    def encode(self, value: Any) -> int:
        """Checked in full when it is met for the first time."""
        space = self.space
        if type(value) is not np.ndarray or value.dtype != space.dtype:
            return self._number(value)
        if value.shape != space.shape:
            return -1
        key = value.tobytes()
        number = self.met.get(key)
        if number is None:
            number = self.met[key] = self._number(value)
        return number

    def decode(self, number: int) -> NDArray[Any]:
        """An array that may be written to."""
        if number not in self.made:
            value = (digits(np.array([number]), self.variables)[0] + self.low).astype(
                self.space.dtype
            )
            self.made[number] = value.reshape(self.space.shape)
        return self.made[number].copy()

    def _number(self, value: Any) -> int:
        try:
            if not self.space.contains(value):
                return -1
        except (TypeError, ValueError):  # it tries to make an array of anything
            return -1
        codes = np.asarray(value).astype(np.int64).ravel() - self.low
        return int(codes @ places(self.variables))


class Composite(Numbering):
    """A `Tuple` or `Dict` of spaces."""

    def __init__(self, parts: dict[Any, Numbering], kind: Any) -> None:
        self.parts, self.kind = [(key, part, part.n) for key, part in parts.items()], kind
        self.variables = [variable for part in parts.values() for variable in part.variables]

    def encode(self, value: Any) -> int:
        """Part by part."""
        if self.kind is tuple and isinstance(value, (list, np.ndarray)):
            value = tuple(value)
        if not isinstance(value, self.kind) or len(value) != len(self.parts):
            return -1
        number = 0
        for key, part, n in self.parts:
            if self.kind is dict and key not in value:
                return -1
            code = part.encode(value[key])
            if code < 0:
                return -1
            number = number * n + code
        return number

    def decode(self, number: int) -> Any:
        """The parts, last one first."""
        values = {}
        for key, part, n in reversed(self.parts):
            number, code = divmod(number, n)
            values[key] = part.decode(code)
        inorder = {key: values[key] for key, _, _ in self.parts}
        return inorder if self.kind is dict else tuple(inorder.values())


def numbering_of(what: str, space: Any) -> Numbering:
    """Number the values of a space, or say why that cannot be done.

    Args:
        what: what it is, for messages: "observation_space" or "action_space".
        space: of Gymnasium.

    Example:
        >>> space = spaces.Dict(light=spaces.Discrete(3), at=spaces.MultiDiscrete([4, 5]))
        >>> numbered = numbering_of("observation_space", space)
        >>> numbered.n, numbered.encode({"light": 2, "at": np.array([1, 3])})
        (60, 48)
    """
    made = _numbering(what, space, "")
    if (n := made.n) > VALUES:
        many = f"{n:,}" if n < 10**15 else f"about 10^{math.log10(n):.0f}"
        raise ValueError(
            f"the {what}, {_short(space)}, has {many} values, more than {VALUES:,}: merge or leave "
            "out some of its variables with a gymnasium wrapper"
        )
    return made


def variables_of_space(what: str, numbering: Numbering) -> Variables | None:
    """What the values of a space are made of; `what` is "state" or "action".

    None for a single `Discrete` space that starts at 0: nothing is known of such numbers.
    """
    names = [name for name, *_ in numbering.variables]
    if not names or (isinstance(numbering, Number) and numbering.start == 0):
        return None
    if isinstance(numbering, Number):
        names = [what]
    elif all(name.replace(".", "").isdigit() for name in names):  # nowhere a name
        names = default_names("x" if what == "state" else "a", len(names))
    codes = digits(np.arange(numbering.n), numbering.variables)
    levels = [range(low, low + size) for _, low, size, _ in numbering.variables]
    return Variables.coded(codes, levels, names, [kind for *_, kind in numbering.variables])


def places(variables: list[Variable]) -> NDArray[np.int64]:
    """What a unit of each variable counts in mixed radix, [k]."""
    sizes = [size for _, _, size, _ in variables]
    return np.array([1, *sizes[:0:-1]], np.int64).cumprod()[::-1]


def digits(numbers: NDArray[Any], variables: list[Variable]) -> NDArray[np.int64]:
    """The codes [m, k] of numbers [m] in mixed radix."""
    sizes = np.array([size for _, _, size, _ in variables])
    return numbers[:, None] // places(variables) % sizes


def _numbering(what: str, space: Any, name: str) -> Numbering:
    if isinstance(space, spaces.Discrete):
        return Number(space, name)
    if isinstance(space, spaces.MultiDiscrete):
        return Array(space, name, space.start, space.nvec.ravel().tolist())
    if isinstance(space, spaces.MultiBinary):
        return Array(space, name, np.zeros(space.shape), [2] * math.prod(space.shape))
    part = partial(_part, what, name)
    if isinstance(space, spaces.Tuple):
        return Composite({i: part(i, each) for i, each in enumerate(space.spaces)}, tuple)
    if isinstance(space, spaces.Dict):
        return Composite({key: part(key, each) for key, each in space.spaces.items()}, dict)
    if isinstance(space, spaces.Box) and space.dtype.kind in "iub" and space.is_bounded():
        pairs = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
        return Array(space, name, space.low, [int(high) - int(low) + 1 for low, high in pairs])
    raise ValueError(
        f"the {what} has {_short(space)}: gim needs Discrete spaces, or arrays, tuples and dicts "
        "of whole numbers with bounds; put its values into bins with a gymnasium wrapper"
    )


def _part(what: str, name: str, key: Any, space: Any) -> Numbering:
    return _numbering(what, space, f"{name}.{key}" if name else str(key))


def _short(space: Any) -> str:
    text = str(space)
    return text if len(text) <= 80 else f"{text[:77]}..."
