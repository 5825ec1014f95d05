"""Checks of single arguments, in one place: every message names the argument, the rule, the fix."""

from __future__ import annotations

import operator
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


def _limits(low: int | None, high: int | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f", {low} or more"
    return "" if high is None else f", {high} or less"
