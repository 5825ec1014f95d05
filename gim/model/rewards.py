"""How large rewards can be: what optimistic agents must know of a world."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim.params import Within

LeastReward = Annotated[float | None, Within(), "the least r(s,a); none: the task's"]
LargestReward = Annotated[float | None, Within(), "the largest r(s,a); none: the task's"]


def largest_reward(task: Any, r_max: float | None) -> float:
    """The largest r(s,a): as given, else the task's."""
    if r_max is None and task.reward_range is None:
        raise ValueError("this world does not say how large its rewards can be: give r_max=")
    return float(task.reward_range[1]) if r_max is None else r_max


def reward_range(task: Any, r_min: float | None, r_max: float | None) -> tuple[float, float]:
    """The least and the largest r(s,a): as given, else the task's."""
    if None in (r_min, r_max) and task.reward_range is None:
        raise ValueError(
            "this world does not say how large its rewards can be: give r_min= and r_max="
        )
    least = float(task.reward_range[0]) if r_min is None else r_min
    largest = largest_reward(task, r_max)
    if least > largest:
        raise ValueError(f"r_min = {least:g} is above r_max = {largest:g}")
    return least, largest


def most_to_come(H: int, r_max: float) -> NDArray[np.float64]:
    """The most that the steps from h on can pay, [H]: r_max each, or nothing if all of them cost.

    An end of the episode is then the best there is, and terminal states are worth 0.
    """
    return max(r_max, 0.0) * np.arange(H, 0, -1.0)
