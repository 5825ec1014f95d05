"""An interval for a mean that holds for few numbers, too.

Student's interval supposes that the mean of what was drawn is nearly normal. Returns are not: of a
goal that one episode in thirty finds the first ten show nothing, all alike, and that interval is a
single wrong number; for skewed returns it holds far too seldom (of ten that are lognormal for 77 %,
nominally 90). What tells about what was not drawn is the range in which it must lie, so the range
is what is used here.

Each number drawn stands for itself, and an end of the range for what was not drawn: the upper end
of the interval is a quantile of the weighted mean of the numbers and the largest possible one,
under weights that are uniform among all that sum to 1; the lower end is that with the least
possible one. Of returns that are all at one end or the other this is the interval of Clopper and
Pearson, which never holds too seldom. That it never does for others is a conjecture (Gaffke 2005;
Learned-Miller and Thomas, A new confidence interval for the mean of a bounded random variable,
2019), to which no exception is known. With many numbers it becomes Student's.

Where no range is known, it is taken to reach beyond what was drawn, on either side, by as much as
that spans. This is the limit of such an interval: of a rare number far beyond, nothing was seen.
There is none from fewer than `LEAST` numbers, which seldom show where the others lie, nor where all
are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.belief.shares import TAILS

LEAST = 10  # numbers without a known range, below which there is no interval
MOST_DRAWS, LEAST_DRAWS = 4_000, 400  # of weights; in between, as many as `WEIGHTS` allows
WEIGHTS = 1 << 24  # drawn in all, at the most
BLOCK = 512  # numbers whose weights are drawn at a time
ROUNDING = 1e-9  # by how much of the range a sum may lie beyond it

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """Where a mean lies, with the share of `gim.belief.shares`; NaN where nothing can be said."""

    lower: float
    upper: float
    note: str  # what it rests on, or why there is none


def mean_interval(drawn: Floats, ends: tuple[float, float] | None = None) -> Interval:
    """Where the mean lies of what these numbers were drawn from, independently.

    Args:
        drawn: [n] at least one.
        ends: the least and the largest number that there can be; None: not known.

    Example:
        >>> nothing = np.zeros(10)
        >>> interval = mean_interval(nothing, (0.0, 1.0))
        >>> interval.lower, round(interval.upper, 2), round(1 - 0.05 ** (1 / 10), 2)
        (0.0, 0.26, 0.26)
        >>> mean_interval(nothing).note
        'all 10 returns are the same, and the range of returns is not known'
    """
    n, least, most = drawn.size, float(drawn.min()), float(drawn.max())
    if ends is not None:
        slack = ROUNDING * max(abs(ends[0]), abs(ends[1]))
        if least >= ends[0] - slack and most <= ends[1] + slack:
            low, high = min(ends[0], least), max(ends[1], most)
            return Interval(
                *_between(drawn, low, high), f"each return lies between {low:.6g} and {high:.6g}"
            )
    if least == most:
        same = f"all {n:,} returns are the same" if n > 1 else "there is one return"
        return Interval(np.nan, np.nan, f"{same}, and the range of returns is not known")
    if n < LEAST:
        few = f"fewer than {LEAST} returns, and the range of returns is not known"
        return Interval(np.nan, np.nan, few)
    low, high = 2 * least - most, 2 * most - least
    return Interval(
        *_between(drawn, low, high),
        f"the range of returns is not known and taken to be {low:.6g} to {high:.6g}, as far again "
        "on either side as was seen",
    )


def _between(drawn: Floats, low: float, high: float) -> tuple[float, float]:
    if low == high:
        return low, high
    rng = np.random.default_rng(0)  # the same numbers have the same interval
    draws = int(np.clip(WEIGHTS // drawn.size, LEAST_DRAWS, MOST_DRAWS))
    rest = rng.exponential(size=draws)  # the weight of what was not drawn
    total, weight = np.zeros(draws), rest.copy()
    for k in range(0, drawn.size, BLOCK):
        part = rng.exponential(size=(draws, drawn[k : k + BLOCK].size))
        total += part @ (drawn[k : k + BLOCK] - low)  # from the end: no digits are lost
        weight += part.sum(axis=1)
    lower = np.quantile(total / weight, TAILS[0], method="lower")
    upper = np.quantile((total + rest * (high - low)) / weight, TAILS[1], method="higher")
    return low + float(lower), min(low + float(upper), high)
