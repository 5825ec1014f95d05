"""Statistics of a few runs: means with intervals, and whether two agents can be told apart.

Pure functions of arrays whose first axis is the run; every random draw comes from the `seed` given.
Nothing is left out: a NaN makes the mean NaN (see `exploration_length` for runs that never finish).

Intervals are expanded percentile bootstrap intervals (Efron, 1979; Hesterberg, 2015): the plain
percentile interval of n runs is too narrow by a factor of about sqrt((n - 1) / n), and has no
t-quantile in it; asking for more extreme quantiles mends both. Fewer than `LEAST` runs have no
interval: resamples of three runs are but ten different ones, and say next to nothing of a fourth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

DRAWS = 4000  # resamples of a bootstrap
LEVEL = 0.95  # of an interval
LEAST = 5  # runs that have an interval
INTERVAL = f"{100 * LEVEL:g} % bootstrap interval"  # what it is called wherever one is shown
POWER = 0.8  # with which a difference is to be found
BLOCK = 2**22  # numbers held at a time

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean and the ends of its interval; those are NaN for fewer than `LEAST` runs."""

    mean: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} ({self.low:.3f}..{self.high:.3f})"


class Band(NamedTuple):
    """Means of a curve and the ends of their intervals, [points] each; no band of too few runs."""

    mean: Floats
    low: Floats | None
    high: Floats | None


class Comparison(NamedTuple):
    """One agent against another on the same seeds."""

    difference: Estimate  # mean of a - b, with interval
    effect: float  # that mean over the standard deviation of the differences (Cohen's d_z)
    wins: float  # share of seeds on which a is better; a tie counts half
    apart: bool  # whether the interval leaves out 0
    needed: int | None  # runs that would tell them apart, if the difference is what it seems


class Length(NamedTuple):
    """Episodes until exploration ended, over several runs."""

    mean: float  # a run that never finished counts with all its episodes: then a lower bound
    finished: int
    runs: int

    def __str__(self) -> str:
        if self.finished == self.runs:
            return f"{self.mean:,.0f}"
        if self.finished == 0:
            return "never"
        return f">{self.mean:,.0f} ({self.finished}/{self.runs})"


def mean_interval(values: ArrayLike, seed: int = 0, level: float = LEVEL) -> Estimate:
    """Mean of values [runs], with its bootstrap interval.

    Example:
        >>> str(mean_interval([0.8, 0.9, 0.85, 0.95, 0.875]))
        '0.875 (0.814..0.940)'
        >>> str(mean_interval([0.8, 0.9, 0.85, 0.95]))
        '0.875'
    """
    x = _values(values)
    band = curve_band(x[:, None], seed, level)
    if band.low is None or band.high is None:
        return Estimate(float(x.mean()), math.nan, math.nan, x.size)
    return Estimate(float(x.mean()), float(band.low[0]), float(band.high[0]), x.size)


def curve_band(curves: ArrayLike, seed: int = 0, level: float = LEVEL) -> Band:
    """Mean of curves [runs, points], with the bootstrap interval of every point."""
    x = np.asarray(curves, np.float64)
    runs, points = x.shape
    mean = x.mean(axis=0)
    if runs < LEAST:
        return Band(mean, None, None)
    share = _expanded((1 - level) / 2, runs)
    weights = _resamples(runs, seed)
    low, high = np.empty(points), np.empty(points)
    step = max(1, BLOCK // DRAWS)
    for i in range(0, points, step):
        means = weights @ x[:, i : i + step]
        low[i : i + step], high[i : i + step] = np.quantile(means, (share, 1 - share), axis=0)
    return Band(mean, low, high)


def interval_of(runs: int) -> str:
    """What a note says of the intervals around means of so many runs.

    Example:
        >>> interval_of(20), interval_of(3)
        ('95 % bootstrap interval', 'no interval of fewer than 5')
    """
    return INTERVAL if runs >= LEAST else f"no interval of fewer than {LEAST}"


def compare(a: ArrayLike, b: ArrayLike, seed: int = 0, level: float = LEVEL) -> Comparison:
    """Compare two agents by values [runs] on the same seeds, in the same order.

    Example:
        >>> better = compare([0.9, 0.8, 0.95, 0.9, 0.8], [0.8, 0.72, 0.83, 0.81, 0.73])
        >>> better.apart, better.wins
        (True, 1.0)
    """
    x, y = _values(a), _values(b)
    if x.shape != y.shape:
        raise ValueError(f"{x.size} runs against {y.size}: a paired comparison needs equal seeds")
    d = x - y
    estimate = mean_interval(d, seed, level)
    spread = float(d.std(ddof=1)) if d.size > 1 else math.nan
    mean = estimate.mean
    effect = mean / spread if spread > 0 else math.copysign(math.inf, mean) if mean else 0.0
    if d.size < 2:
        effect = math.nan
    apart = bool(estimate.low > 0 or estimate.high < 0)
    needed = None if apart else _needed(effect, d.size, level)
    wins = float(((d > 0) + 0.5 * (d == 0)).mean())
    return Comparison(estimate, effect, wins, apart, needed)


def hint(a: str, b: str, comparison: Comparison) -> str | None:
    """A line for the reader where the runs are too few to tell two agents apart."""
    difference, _, _, apart, needed = comparison
    runs = difference.runs
    if apart:
        return None
    if runs < 2:
        return f"one run does not tell {a} from {b}: make more"
    if runs < LEAST and difference.mean:
        return f"{runs} runs are too few to tell {a} from {b}: make {needed or LEAST:,} or more"
    text = f"{runs} runs do not tell {a} from {b}"
    return f"{text}: about {needed:,} would" if needed else f"{text}: they did the same"


def exploration_length(total_eps: ArrayLike, episodes: ArrayLike) -> Length:
    """TotalEps over several runs; NaN is a run that never finished exploring.

    Such a run is never dropped: it counts with all its episodes, and the mean is then a lower
    bound, shown as ``>8,123 (17/20)``: 17 of 20 finished.

    Example:
        >>> str(exploration_length([100, 300], 1000)), str(exploration_length([100, np.nan], 1000))
        ('200', '>550 (1/2)')
    """
    x = _values(total_eps)
    finished = ~np.isnan(x)
    return Length(float(np.where(finished, x, episodes).mean()), int(finished.sum()), x.size)


def _values(values: ArrayLike) -> Floats:
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"values of shape {x.shape}: give one number per run, [runs]")
    return x


def _resamples(runs: int, seed: int) -> Floats:
    """How often each run is drawn, over the runs, [draws, runs]."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(runs, np.full(runs, 1 / runs), size=DRAWS) / runs


def _expanded(tail: float, runs: int) -> float:
    """The tail to ask of a bootstrap of few runs (Hesterberg, 2015, section 3.3)."""
    t = special.stdtrit(runs - 1, tail)
    return float(special.ndtr(math.sqrt(runs / (runs - 1)) * t))


def _needed(effect: float, runs: int, level: float) -> int | None:
    """Runs after which a paired test would find this effect, or None if there is none."""
    if not math.isfinite(effect) or effect == 0:
        return None
    z = special.ndtri((1 + level) / 2) + special.ndtri(POWER)
    return max(runs + 1, LEAST, math.ceil((z / effect) ** 2))
