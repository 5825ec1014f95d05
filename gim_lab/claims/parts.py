"""How parts of claims are made: estimates and paired comparisons, with their numbers as text.

What is asked is always whether a mean lies in some range. The 95 % interval decides: inside the
range the part holds, outside it does not, and across a border it is undecided. One run has no
interval and decides nothing, nor do runs that are missing or did not finish.
"""

from __future__ import annotations

import math

import numpy as np

from gim_lab.claims.claim import Part, Selection
from gim_lab.experiments.cells import Cell, Floats
from gim_lab.experiments.statistics import Estimate, mean_interval


def inside(estimate: Estimate, low: float = -math.inf, high: float = math.inf) -> bool | None:
    """Whether a mean lies above `low` and at `high` or below it, by its interval."""
    if math.isnan(estimate.low):
        return None
    if estimate.low > low and estimate.high <= high:
        return True
    return False if estimate.high <= low or estimate.low > high else None


def greater(
    what: str,
    a: Floats,
    b: Floats,
    names: tuple[str, str],
    digits: int = 3,
    by: float = 0.0,
    at_most: float = math.inf,
) -> Part:
    """The mean of a is larger than that of b, paired by seed.

    Args:
        what: the part's name.
        a, b: a value per run, on the same seeds; NaN: not finished.
        names: of a and b.
        digits: behind the point.
        by: how much larger it must be.
        at_most: how much larger it may be.
    """
    for values, name in zip((a, b), names, strict=True):
        if np.isnan(values).any():
            return Part(what, None, f"{name}: not all runs finished")
    difference = mean_interval(a - b)
    text = f"{names[0]} {a.mean():,.{digits}f}, {names[1]} {b.mean():,.{digits}f}, "
    return Part(what, inside(difference, by, at_most), text + between(difference, digits))


def longer(runs: Selection, what: str, slow: Cell, fast: Cell, names: tuple[str, str]) -> Part:
    """One explores for longer than the other; runs that never finish count with all episodes.

    Their number is then too small, which may confirm that the slow one is slower, and refute it for
    the fast one, but not the other way round.

    Args:
        runs: the results.
        what: the part's name.
        slow, fast: whose TotalEps should be the larger, and whose the smaller.
        names: of the two.
    """
    part = greater(what, runs.of(slow, "total_eps"), runs.of(fast, "total_eps"), names, 0)
    done, many = (runs.finished(slow), runs.finished(fast)), len(slow.trials)
    if done == (many, many):
        return part
    unsure = done[1] < many if part.holds else done[0] < many
    finished = f"finished: {names[0]} {done[0]}, {names[1]} {done[1]} of {many} runs"
    return Part(what, None if unsure else part.holds, f"{part.numbers}; {finished}")


def at_least(what: str, values: Floats, limit: float, digits: int = 3) -> Part:
    """The mean is above `limit`."""
    return _limited(what, values, digits, low=limit)


def at_most(what: str, values: Floats, limit: float, digits: int = 3) -> Part:
    """The mean is at most `limit`."""
    return _limited(what, values, digits, high=limit)


def below(what: str, values: Floats, limit: float, digits: int = 3) -> Part:
    """The mean is below `limit`: what `at_least` is not."""
    part = at_least(what, values, limit, digits)
    return Part(what, None if part.holds is None else not part.holds, part.numbers)


def counted(what: str, holds: bool, numbers: str) -> Part:
    """A part that is counted or computed and has no chance in it."""
    return Part(what, holds, numbers)


def between(difference: Estimate, digits: int = 3) -> str:
    """A difference with its interval, as text."""
    mean, low, high, _ = difference
    interval = "" if math.isnan(low) else f" ({low:+,.{digits}f} to {high:+,.{digits}f})"
    return f"difference {mean:+,.{digits}f}{interval}"


def spoken_mean(values: Floats, digits: int = 3) -> str:
    """A mean with its interval, as text."""
    mean, low, high, _ = mean_interval(values)
    interval = "" if math.isnan(low) else f" ({low:,.{digits}f} to {high:,.{digits}f})"
    return f"{mean:,.{digits}f}{interval}"


def _limited(
    what: str, values: Floats, digits: int, low: float = -math.inf, high: float = math.inf
) -> Part:
    missing = int(np.isnan(values).sum())
    if missing:
        return Part(what, None, f"{missing} of {values.size} not finished")
    return Part(what, inside(mean_interval(values), low, high), spoken_mean(values, digits))
