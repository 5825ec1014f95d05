"""From runs to figures: shares of the way from the random policy to the best one, and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.panel.play import CERTIFIED, Played

Floats = NDArray[np.float64]
Runs = Mapping[tuple[str, int], Played]  # by world and seed

ROUNDING = 1e-9  # of the way: what a bound may be off by
STORED = 6  # decimals of a difference that mean something: numbers in files are rounded
CLOSER = -0.01  # a world whose mean difference is below asks for forty fresh seeds
LOST = -0.02  # it is lost if the mean and two standard errors are below


class Mean(NamedTuple):
    """A mean and its standard error; nan where one number is all there is."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.error:.3f})"


class Certified(NamedTuple):
    """How the certificates of one run did, after each of CERTIFIED episodes."""

    held: Floats  # 1 where lower <= the policy's value and the optimum <= upper
    width: Floats  # upper - lower, as a share of the way
    own_held: Floats  # the same of the policy's value alone
    own_width: Floats


def shares(run: Played, money: Iterable[float]) -> Floats:
    """Shares of the way from the random policy to the best one."""
    return (np.array([*money], float) - run.low) / (run.high - run.low)


def earned(run: Played) -> float:
    """The mean share over all episodes from the first."""
    return float(shares(run, run.returns).mean())


def deployed(run: Played) -> Floats:
    """Shares of the policies to deploy."""
    return shares(run, run.deployed)


def certified(run: Played) -> Certified:
    """Whether the bounds of a run held, and how wide they are; nan where there are none.

    A certificate that was an error has not held.
    """
    if not run.bounds:
        return Certified(*np.full((4, len(CERTIFIED)), np.nan))
    value, lower, upper, least, most = np.array([shares(run, b) for b in run.bounds]).T
    held = (lower <= value + ROUNDING) & (upper >= 1 - ROUNDING)
    silent = np.isnan(least) & ~np.isnan(value)  # a certificate need not speak of it
    own = np.where(silent, np.nan, 1.0)
    own_held = own * ((least <= value + ROUNDING) & (most >= value - ROUNDING))
    return Certified(held.astype(float), upper - lower, own_held, most - least)


def mean_of(numbers: Sequence[float] | Floats) -> Mean:
    """A mean with its standard error."""
    x = np.asarray(numbers, float)
    error = x.std(ddof=1) / x.size**0.5 if x.size > 1 else np.nan
    return Mean(float(x.mean()) if x.size else np.nan, float(error))


def verdict(difference: Mean) -> str:
    """What a paired difference says of a world."""
    if difference.mean + 2 * difference.error < LOST:
        return "LOST"
    return "more seeds" if difference.mean < CLOSER else ""


def gains(world: str, now: Runs, before: Runs) -> Floats:
    """Differences of the mean shares of a world, paired by seed."""
    both = [place for place in now if place[0] == world and place in before]
    found = np.array([earned(now[place]) - earned(before[place]) for place in both])
    return found.round(STORED) + 0.0  # no -0


def is_lost(world: str, now: Runs, before: Runs) -> bool:
    """Whether a world is lost."""
    return verdict(mean_of(gains(world, now, before))) == "LOST"


def over_worlds(by_world: Sequence[Floats]) -> tuple[float, float]:
    """A share pooled over all runs, and its standard error over worlds, whose runs are alike.

    The error is that of a ratio of sums: what worlds have more or less than the pooled share.
    """
    worlds = [x[~np.isnan(x)] for x in by_world]
    worlds = [x for x in worlds if x.size]
    n = sum(x.size for x in worlds)
    if not n:
        return np.nan, np.nan
    pooled = sum(x.sum() for x in worlds) / n
    k = len(worlds)
    if k < 2:
        return float(pooled), np.nan
    off = np.array([(x - pooled).sum() for x in worlds])
    return float(pooled), float((k / (k - 1) * (off**2).sum()) ** 0.5 / n)


def check_worlds(now: Runs, before: Runs) -> None:
    """Refuse to compare with figures of another world of that name."""
    stored = {run.world: run for run in before.values()}
    for run in now.values():
        old = stored.get(run.world, run)
        if not np.allclose([run.low, run.high], [old.low, old.high], rtol=1e-6):
            raise ValueError(
                f"{run.world}: random policy and optimum earn {run.low:.6g} and {run.high:.6g}, "
                f"{old.low:.6g} and {old.high:.6g} where figures were stored: it is another world; "
                "measure both anew"
            )
