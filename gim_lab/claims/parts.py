"""How parts of claims are made: estimates and paired comparisons, with their numbers as text.

What is asked is always whether a mean lies in some range. The 95 % interval decides: inside the
range the part holds, outside it does not, and across a border it is undecided. One run has no
interval and decides nothing, nor do runs that are missing or did not finish.
"""

from __future__ import annotations

import math
from dataclasses import replace

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


def more(
    runs: Selection,
    panel: str,
    a: str,
    b: str,
    measure: str,
    digits: int = 3,
    what: str = "",
    names: tuple[str, str] | None = None,
    at_most: float = math.inf,
) -> Part:
    """In a panel agent a has more of a measure than b: see `greater`."""
    values = runs(panel, a, measure), runs(panel, b, measure)
    return greater(what or panel, *values, names or (a, b), digits, at_most=at_most)


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


def below(what: str, values: Floats, limit: float) -> Part:
    """The mean is below `limit`: what `at_least` is not."""
    part = at_least(what, values, limit)
    return replace(part, holds=None if part.holds is None else not part.holds)


def between(difference: Estimate, digits: int = 3) -> str:
    """A difference with its interval, as text."""
    return f"difference {_told(difference, f'+,.{digits}f')}"


def _told(estimate: Estimate, form: str) -> str:
    mean, low, high, _ = estimate
    interval = "" if math.isnan(low) else f" ({low:{form}} to {high:{form}})"
    return f"{mean:{form}}{interval}"


def _limited(
    what: str, values: Floats, digits: int, low: float = -math.inf, high: float = math.inf
) -> Part:
    missing = int(np.isnan(values).sum())
    if missing:
        return Part(what, None, f"{missing} of {values.size} not finished")
    found = mean_interval(values)
    return Part(what, inside(found, low, high), _told(found, f",.{digits}f"))
