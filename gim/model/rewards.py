"""How large rewards can be: what optimistic agents must know of a world."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim.params import Within

LeastReward = Annotated[float | None, Within(), "the least r(s,a); none: the task's"]
LargestReward = Annotated[float | None, Within(), "the largest r(s,a); none: the task's"]


LEARNED_RANGE = (
    "this world does not say how large its rewards can be, so what was seen stands for it: if far "
    "more is possible, give the agent r_max= (and r_min=)"
)


def largest_reward(task: Any, r_max: float | None, counts: Any = None) -> float:
    """The largest r(s,a): as given, else the task's, else that of the rewards counted so far."""
    if r_max is None and task.reward_range is None:
        if counts is None:
            raise ValueError("this world does not say how large its rewards can be: give r_max=")
        return seen_range(counts)[1]
    return float(task.reward_range[1]) if r_max is None else r_max


def reward_range(
    task: Any, r_min: float | None, r_max: float | None, counts: Any = None
) -> tuple[float, float]:
    """The least and the largest r(s,a): as given, else the task's, else those counted so far."""
    told = task.reward_range
    if None in (r_min, r_max) and told is None:
        if counts is None:
            raise ValueError(
                "this world does not say how large its rewards can be: give r_min= and r_max="
            )
        low, high = seen_range(counts)  # what was given holds, whatever was seen
        told = (
            low if r_max is None else min(low, r_max),
            high if r_min is None else max(high, r_min),
        )
    least = float(told[0]) if r_min is None else r_min
    largest = float(told[1]) if r_max is None else r_max
    if least > largest:
        raise ValueError(f"r_min = {least:g} is above r_max = {largest:g}")
    return least, largest


def seen_range(counts: Any) -> tuple[float, float]:
    """The least and the largest mean reward of the pairs met; one unit apart if all are equal.

    While something was never tried in a state that was met, it may pay more than all that was, by
    as much as the range is wide: an agent that took the best so far for the best there is would
    repeat it for ever. Before anything was met a reward is from 0 to 1.
    """
    met = counts.n > 0
    if not met.any():
        return 0.0, 1.0
    r = counts.R[met] / counts.n[met]
    least, largest = float(r.min()), float(r.max())
    untried = not met[met.any(axis=1)].all()
    if largest == least:
        return least, least + 1.0
    return least, largest + (largest - least) * untried


def most_to_come(H: int, r_max: float, discount: float = 1.0) -> NDArray[np.float64]:
    """The most that the steps from h on can pay, [H]: r_max each, or nothing if all of them cost.

    An end of the episode is then the best there is, and terminal states are worth 0. With a
    discount each step weighs as much less than the one before.
    """
    steps = np.arange(H, 0, -1.0)
    if discount < 1.0:
        steps = (1.0 - discount**steps) / (1.0 - discount)
    return max(r_max, 0.0) * steps
