"""What is learned from logs: safe policies by counts alone and with inference, on the same logs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gim.belief.shares import SHARE, percent
from gim.logs.learning import DEFAULT
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, ResultsByCell, pick
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.logs.from_log import NAMES, FromLog
from gim_lab.experiments.logs.places import PLACES, Place
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.statistics import LEAST, compare
from gim_lab.trials.trial import Trial

Floats = NDArray[np.float64]
FIRST = 7000  # of the seeds
RUNS = {"smoke": 1, "quick": 5, "paper": 100, "full": 1000}  # logs with inference
MORE = {"smoke": 1, "quick": 2, "paper": 10, "full": 10}  # times as many without, which are cheap
TOGETHER = {True: 5, False: 50}  # logs of a trial at the most, with inference and without
LARGEST = {"smoke": 50, "quick": 5_000}  # transitions or episodes; all at larger scales
REHEARSED = ("wet_chicken", "random_mdp_0.5")  # all that is played at scale smoke
WORST = 0.01  # share of the runs whose mean is the CVaR
HARM, HARM_WORST = -0.005, -0.02  # of means and CVaRs: no interval may lie wholly below
RESAMPLED = 1000  # times, for the interval of a difference of CVaRs
BOUNDED = 4  # one in so many logs is asked for bounds, which take twice as long as learning
COUNTS, INFERRED = "by counts alone", "with inference"  # the settings
OURS = f"{DEFAULT} {INFERRED}"


class Logs(Experiment):
    """What is learned from logs, on the benchmarks of the literature, a store and two queues."""

    place = 300
    title = "Study: from logs to policies"
    statement = (
        "Does inference make better policies from the same logs than the safe methods of the "
        "literature alone, in the mean and in the worst runs, without harm where there is nothing "
        "to infer? And do the bounds on their value hold?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Each place with each size, by counts alone and with inference."""
        return [
            cell_of(key, size, setting, scale)
            for key in PLACES
            if scale.name != "smoke" or key in REHEARSED
            for size in sizes_of(PLACES[key], scale)
            for setting in (COUNTS, INFERRED)
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Mean and CVaR of the true returns, harm, coverage and cost."""
        cells = self.cells(results.scale)
        titles = dict.fromkeys(cell.panel for cell in cells)
        tables = [of_place(results, pick(cells, panel=title)) for title in titles]
        n = RUNS[results.scale.name]
        return self.artefact(
            tables=[
                *tables,
                *(of(results, cells) for of in (harm_table, bounds_table, cost_table)),
            ],
            notes=[
                f"Exact expected returns of the policies, {n:,} logs for each number with "
                f"inference and {n * MORE[results.scale.name]:,} without; in brackets the mean of "
                f"the worst {WORST:.0%} of them. All methods learn from the same logs.",
                f"The default of gim.learn is {DEFAULT}, {INFERRED}.",
            ],
        )


def cell_of(key: str, size: int, setting: str, scale: Scale) -> Cell:
    """The logs of one size at one place, several in a trial."""
    infers, n = setting == INFERRED, RUNS[scale.name]
    subject = FromLog(key, size, *(("analogy", BOUNDED) if infers else ()))
    n = n if infers else n * MORE[scale.name]
    many = min(n, TOGETHER[infers])
    place = PLACES[key]
    seeds = range(FIRST, FIRST + n, many)
    trials = tuple(Trial(place.task, str(subject), many, seed) for seed in seeds)
    return Cell(setting, place.title, DEFAULT, float(size), trials)


def sizes_of(place: Place, scale: Scale) -> list[int]:
    """Those of a place at this scale."""
    most = LARGEST.get(scale.name, math.inf)
    return [size for size in place.sizes if size <= most] or [place.sizes[0]]


def returns_of(results: ResultsByCell, cell: Cell, name: str) -> Floats:
    """A curve of all logs of a cell, one after the other, [logs]; NaN where it is missing."""
    return results.each(cell, "return" if name == DEFAULT else name).ravel()


def cvar(values: Floats) -> float:
    """The mean of the worst runs."""
    return float(np.sort(values)[: max(1, math.ceil(WORST * values.size))].mean())


def cvar_difference(one: Floats, other: Floats) -> tuple[float, float, float]:
    """By how much the worst runs of one differ, and its interval, by resampling pairs."""
    if one.size < LEAST:
        return cvar(one) - cvar(other), math.nan, math.nan
    which = np.random.default_rng(0).integers(one.size, size=(RESAMPLED, one.size))
    drawn = [cvar(one[each]) - cvar(other[each]) for each in which]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return cvar(one) - cvar(other), float(low), float(high)


def of_place(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per method and setting, a column per size."""
    rows = []
    for setting in (COUNTS, INFERRED):
        chosen = pick(cells, setting=setting)
        for name in ("behaviour", *NAMES) if setting == COUNTS else NAMES:
            told = [_told(returns_of(results, cell, name)) for cell in chosen]
            rows.append([name if name == "behaviour" else f"{name}, {setting}", *told])
    best = [returns_of(results, cell, "optimum") for cell in pick(cells, setting=COUNTS)]
    rows.append(["optimum", *(f"{x.mean():.2f}" if np.isfinite(x).all() else "-" for x in best)])
    place = _place(cells[0])
    unit = "episodes" if place.episodes else "transitions"
    heads = ["method", *(f"{cell.x:,.0f} {unit}" for cell in pick(cells, setting=COUNTS))]
    return Table(place.title, heads, rows)


def harm_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """Random MDPs: every method with inference less the same without, normalised."""
    rows = []
    for with_, without in zip(
        pick(cells, setting=INFERRED), pick(cells, setting=COUNTS), strict=True
    ):
        for name in NAMES if _place(with_).episodes else ():
            row = [with_.panel, f"{with_.x:,.0f}", name]
            rows.append([*row, *_harm(results, with_, without, name)])
    heads = ["place", "episodes", "method", "mean", "95 % interval", "CVaR", "95 % interval", ""]
    title = "With inference less without, as a share of what can be gained over the behaviour"
    return Table(title, heads, rows)


def _harm(results: ResultsByCell, with_: Cell, without: Cell, name: str) -> list[str]:
    base, best, ours = (returns_of(results, with_, x) for x in ("behaviour", "optimum", name))
    theirs = returns_of(results, without, name)[: ours.size]
    room = np.maximum(best - base, 1e-9)
    pair = (ours - base) / room, (theirs - base) / room
    if not np.isfinite(pair).all():
        return ["-"] * 5
    mean, low, high, _ = compare(*pair).difference
    depth, least, most = cvar_difference(*pair)
    said = "harms" if high < HARM or most < HARM_WORST else "no harm"
    return [f"{mean:+.3f}", _span(low, high), f"{depth:+.3f}", _span(least, most), said]


def bounds_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """How often the bounds on the value of the default policy hold, and how wide they are."""
    rows = []
    for cell in pick(cells, setting=INFERRED):
        lower, upper, value, best = (
            returns_of(results, cell, x) for x in ("lower", "upper", DEFAULT, "optimum")
        )
        asked = np.isfinite(lower)
        row = [cell.panel, f"{cell.x:,.0f}", f"{asked.sum()}"]
        if not asked.any():
            rows.append([*row, *["-"] * 4])
            continue
        held = ((lower <= value) & (value <= upper))[asked]
        error = math.sqrt(max(held.mean() * (1 - held.mean()), 1e-12) / held.size)
        holds = held.mean() >= SHARE - 2 * math.sqrt(SHARE * (1 - SHARE) / held.size)
        width = float(np.median((upper - lower)[asked] / np.maximum(np.abs(best[asked]), 1e-9)))
        row += [f"{held.mean():.3f}", f"{error:.3f}", f"{width:.2f}"]
        rows.append([*row, "holds" if holds else "fails"])
    heads = ["place", "size", "logs", "coverage", "standard error", "width over optimum", ""]
    title = f"Bounds on the value of the default policy, nominal coverage {percent()}"
    return Table(title, heads, rows)


def cost_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """Processor seconds that a log takes."""
    rows = []
    for with_, without in zip(
        pick(cells, setting=INFERRED), pick(cells, setting=COUNTS), strict=True
    ):
        row = [with_.panel, f"{with_.x:,.0f}"]
        for cell in (without, with_):
            each = results.values(cell, "seconds_total") / cell.trials[0].episodes
            row.append(f"{np.nanmean(each):.3f}" if np.isfinite(each).any() else "-")
        rows.append(row)
    heads = ["place", "size", COUNTS, f"{INFERRED}, bounds included"]
    return Table("Processor seconds a log, all methods together", heads, rows)


def _place(cell: Cell) -> Place:
    return next(place for place in PLACES.values() if place.title == cell.panel)


def _told(values: Floats) -> str:
    return f"{values.mean():.2f} ({cvar(values):.2f})" if np.isfinite(values).all() else "-"


def _span(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{low:+.3f} to {high:+.3f}"
