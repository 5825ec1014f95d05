"""What is said of a log besides its rows: where episodes begin, and how large rewards may be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import brief

FORMS = "a state, a list of states, or a mapping of states to their chances"


def start_in(given: Any, states: Sequence[Any], over: bool) -> NDArray[np.float64]:
    """Chances [S] of the states of a log; what is missing to 1 is of states that it does not have.

    Args:
        given: see `gim.from_log`.
        states: the labels.
        over: whether the last of them only stands for an end.
    """
    if isinstance(given, Mapping):
        chances = dict(given)
    else:
        each = list(given) if isinstance(given, (list, np.ndarray)) else [given]
        chances = {}
        for label in each:
            chances[label] = chances.get(label, 0) + 1
    try:
        weights = [float(weight) for weight in chances.values()]
    except (TypeError, ValueError):
        weights = []
    total = math.fsum(weights)
    if not weights or min(weights) < 0 or not 0 < total < math.inf:
        text = "chances are numbers from 0 on, not all of them 0"
        raise ValueError(f"start = {brief(given)}: give {FORMS}; {text}")
    place = {label: i for i, label in enumerate(states[: len(states) - over])}
    found = np.zeros(len(states))
    for label, weight in zip(chances, weights, strict=True):
        if label in place:
            found[place[label]] += weight / total
    if not found.any():
        raise ValueError(
            f"start = {brief(given)}: no state of the log, which has {brief(list(place)[:5])} and "
            "so on: give its own labels"
        )
    return found


def range_of(given: Any, paid: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest reward of a step, checked against those that were paid."""
    try:
        low, high = (float(each) for each in given)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        text = "give the least and the largest reward of a step, such as (-1, 10)"
        raise ValueError(f"reward_range = {brief(given)}: {text}")
    least, most = paid
    if least < low or most > high:
        raise ValueError(
            f"reward_range = ({low:g}, {high:g}), but the log has rewards from {least:g} to "
            f"{most:g}: give a range that holds them"
        )
    return low, high
