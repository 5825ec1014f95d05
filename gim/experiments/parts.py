"""How parts of claims are made: estimates and paired comparisons, with their numbers as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gim.experiments.cells import Cell, Floats
from gim.experiments.claim import Part, Selection
from gim.experiments.statistics import Estimate, compare, mean_interval


def told(holds: Any, values: ArrayLike) -> bool | None:
    """Whether something holds; None where a value is NaN, since a run is missing or unfinished."""
    return None if np.isnan(values).any() else bool(holds)


def greater(
    what: str, a: Floats, b: Floats, names: tuple[str, str], digits: int = 3, by: float = 0.0
) -> Part:
    """The mean of a is larger than that of b, paired by seed, and the interval says so.

    Args:
        what: the part's name.
        a, b: a value per run, on the same seeds; NaN: not finished.
        names: of a and b.
        digits: behind the point.
        by: how much larger it must be.
    """
    if np.isnan(a).any() or np.isnan(b).any():
        missing = names[0] if np.isnan(a).any() else names[1]
        return Part(what, None, f"{missing}: not all runs finished")
    difference = compare(a, b).difference
    sure = math.isnan(difference.low) or difference.low > by
    text = f"{names[0]} {a.mean():,.{digits}f}, {names[1]} {b.mean():,.{digits}f}, "
    return Part(what, bool(difference.mean > by and sure), text + between(difference, digits))


def longer(runs: Selection, what: str, slow: Cell, fast: Cell, names: tuple[str, str]) -> Part:
    """One explores for longer than the other; runs that never finish count with all episodes.

    Args:
        runs: the results.
        what: the part's name.
        slow, fast: whose TotalEps should be the larger, and whose the smaller.
        names: of the two.
    """
    done = runs.finished(slow), runs.finished(fast)
    if not any(done):
        return Part(what, None, "no run of either finished exploring")
    part = greater(what, runs.of(slow, "total_eps"), runs.of(fast, "total_eps"), names, 0)
    many = len(slow.trials)
    if done != (many, many):
        finished = f"{names[0]} {done[0]}, {names[1]} {done[1]} of {many} runs"
        return Part(what, part.holds, f"{part.numbers}; finished: {finished}")
    return part


def between(difference: Estimate, digits: int = 3) -> str:
    """A difference with its interval, as text."""
    mean, low, high, _ = difference
    interval = "" if math.isnan(low) else f" ({low:+,.{digits}f} to {high:+,.{digits}f})"
    return f"difference {mean:+,.{digits}f}{interval}"


def spread(what: str, means: Floats, limit: float, digits: int = 3, share: bool = False) -> Part:
    """The largest less the smallest mean of a sweep is at most `limit` (a share of their mean)."""
    if np.isnan(means).any():
        return Part(what, None, "not all runs finished")
    width = float(np.ptp(means))
    text = f"from {means.min():,.{digits}f} to {means.max():,.{digits}f}"
    if share:
        width /= abs(float(means.mean()))
        return Part(what, width <= limit, f"{text}, {width:.0%} of the mean")
    return Part(what, width <= limit, f"{text}, spread {width:.{digits}f}")


def at_least(what: str, values: Floats, limit: float, digits: int = 3) -> Part:
    """The mean is at least `limit`."""
    if np.isnan(values).any():
        return Part(what, None, f"{int(np.isnan(values).sum())} of {values.size} not finished")
    return Part(what, bool(values.mean() >= limit), _mean(values, digits))


def at_most(what: str, values: Floats, limit: float, digits: int = 3) -> Part:
    """The mean is at most `limit`."""
    if np.isnan(values).any():
        return Part(what, None, f"{int(np.isnan(values).sum())} of {values.size} not finished")
    return Part(what, bool(values.mean() <= limit), _mean(values, digits))


def _mean(values: Floats, digits: int) -> str:
    mean, low, high, _ = mean_interval(values)
    interval = "" if math.isnan(low) else f" ({low:,.{digits}f} to {high:,.{digits}f})"
    return f"{mean:,.{digits}f}{interval}"
