"""Checks of single arguments, in one place: every message names the argument, the rule, the fix."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np

FAR = 10**9


def whole(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """A whole number between two limits, both included, as Python's own int.

    Whatever counts as an index does: int and numpy's integers; not floats, and not bools.

    Example:
        >>> whole("episodes", np.int32(5), low=1)
        5
        >>> whole("episodes", 2.5, low=1)
        Traceback (most recent call last):
        ...
        ValueError: episodes = 2.5: give a whole number, 1 or more
    """
    number = as_whole(value)
    if number is not None and (low is None or low <= number) and (high is None or number <= high):
        return number
    many = isinstance(value, int) and value.bit_length() > 200
    shown = "a number of many digits" if many else repr(value)
    if high is not None and high > FAR and (number is None or number <= high):
        high = None  # a limit that nobody meant to reach would only distract
    raise ValueError(f"{name} = {shown}: give a whole number{_limits(low, high)}")


def as_whole(value: Any) -> int | None:
    """The value as an int if it is a whole number, else None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def number(name: str, value: Any) -> float:
    """A real number as Python's own float; NaN and infinite ones are for others to judge.

    Example:
        >>> number("discount", np.float32(0.5))
        0.5
        >>> number("discount", "0.5")
        Traceback (most recent call last):
        ...
        ValueError: discount = '0.5': give a number
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (Real, np.floating)) and not isinstance(value, (bool, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{name} has more digits than a number can hold") from None
    raise ValueError(f"{name} = {value!r}: give a number")


def amount(name: str, value: Any) -> float:
    """A finite number above 0, as Python's own float.

    Example:
        >>> amount("seconds", 0)
        Traceback (most recent call last):
        ...
        ValueError: seconds = 0: give a number above 0
    """
    if 0 < (found := number(name, value)) < math.inf:
        return found
    raise ValueError(f"{name} = {value!r}: give a number above 0")


def fraction(name: str, value: Any, of: str = "") -> float:
    """A share of something, more than nothing and less than all, as Python's own float.

    Example:
        >>> fraction("share", np.float32(0.5))
        0.5
        >>> fraction("epsilon", 1, of="V*")
        Traceback (most recent call last):
        ...
        ValueError: epsilon = 1: give a share of V* between 0 and 1
    """
    if 0 < (found := number(name, value)) < 1:
        return found
    raise ValueError(f"{name} = {value!r}: give a share{of and f' of {of}'} between 0 and 1")


def flag(name: str, value: Any) -> bool:
    """True, False, 0 or 1, as Python's own bool.

    Example:
        >>> flag("terminated", np.float64(1)), flag("terminated", np.False_)
        (True, False)
        >>> flag("terminated", "no")
        Traceback (most recent call last):
        ...
        ValueError: terminated = 'no': a flag is True, False, 0 or 1
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, int, float, np.generic)) and (value == 0 or value == 1):
        return bool(value)
    raise ValueError(f"{name} = {value!r}: a flag is True, False, 0 or 1")


def several(name: str, given: Any, what: str) -> list[Any]:
    """What a list holds, or anything else that gives its things one by one.

    Example:
        >>> several("states", (n for n in "ab"), "a list of states")
        ['a', 'b']
        >>> several("states", 3, "a list of states")
        Traceback (most recent call last):
        ...
        ValueError: states = 3: give a list of states
    """
    try:
        things = iter(given)
    except TypeError:
        raise ValueError(f"{name} = {given!r}: give {what}") from None
    return list(things)


def _limits(low: int | None, high: int | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f", {low} or more"
    return "" if high is None else f", {high} or less"
