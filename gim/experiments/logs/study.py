"""What is learned from logs: safe policies by counts alone and with inference, on the same logs."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.experiments.artefact import Artefact, Table
from gim.experiments.cells import ResultsByCell
from gim.experiments.experiment import Experiment
from gim.experiments.logs.places import PLACES, Place
from gim.experiments.scale import Scale
from gim.experiments.statistics import compare
from gim.logs.case import baseline_of, inferred
from gim.logs.learned import Learned
from gim.logs.learning import DEFAULT
from gim.logs.safe import METHODS, safe_policy
from gim.logs.truth import placed
from gim.policy import Policy

Floats = NDArray[np.float64]
FIRST = 3000  # of the seeds
RUNS = {"smoke": 1, "quick": 5, "paper": 100, "full": 1000}
LARGEST = {"smoke": 10, "quick": 5_000}  # transitions or episodes; all at larger scales
REHEARSED = ("Wet Chicken", "random MDPs, ratio 0.5")  # all that is played at scale smoke
WORST = 0.01  # share of the runs whose mean is the CVaR
HARM, HARM_WORST = -0.005, -0.02  # of means and CVaRs: no interval may lie wholly below
RESAMPLED = 1000  # times, for the interval of a difference of CVaRs
NAMES = (*METHODS, DEFAULT)
BOUNDED = 4  # every so manieth log is asked for bounds, which take twice as long as learning
OURS = f"{DEFAULT} with inference"


class Found(NamedTuple):
    """What came of one log."""

    returns: dict[str, float]  # true ones, by method
    covered: (
        bool | None
    )  # whether the bounds on the default policy's value hold it; None: not asked


@lru_cache(maxsize=100_000)
def found(place: Place, size: int, seed: int) -> Found:
    """Every method on one log, by counts alone and with inference."""
    mdp, _ = place.world(seed)
    log = place.log(size, seed)
    horizon = mdp.horizon if place.discount is None else None
    acted = baseline_of(None, log)
    returns = {"behaviour": place.worth(seed, placed(acted, log, mdp))}
    covered = None
    for infer, more in ((None, ""), ("analogy", " with inference")):
        given = infer, acted, horizon, place.discount, "learn"
        behind = inferred(log, *given)
        for name in NAMES:
            method = safe_policy(name)
            array = method(behind.case)
            returns[name + more] = place.worth(seed, placed(array, log, mdp))
            if name + more == OURS and (seed - FIRST) % BOUNDED == 0:
                policy = Policy(array, *log.names())

                def on(part: object, given: tuple[object, ...] = given) -> object:
                    return inferred(part, *given).case  # type: ignore[arg-type]

                one = Learned(log, policy, behind.model, method, behind, on)  # type: ignore[arg-type]
                covered = one.value.lower <= returns[OURS] <= one.value.upper
    return Found(returns, covered)


class Logs(Experiment):
    """What is learned from logs, on the benchmarks of the literature, a store and two queues."""

    place = 300
    title = "Study: from logs to policies"
    statement = (
        "Does inference make better policies from the same logs than the safe methods of the "
        "literature alone, in the mean and in the worst runs, without harm where there is nothing "
        "to infer? And do the bounds on their value hold?"
    )

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Mean and CVaR of the true returns; computed from the worlds alone."""
        scale = results.scale
        tables = [of_place(each, scale) for each in places_of(scale)]
        return self.artefact(
            tables=[*tables, harm_table(scale), bounds_table(scale)],
            notes=[
                f"Exact expected returns of the policies, {RUNS[scale.name]} logs for each number; "
                f"in brackets the mean of the worst {WORST:.0%} of them. All methods learn from "
                "the same logs.",
            ],
        )


def places_of(scale: Scale) -> list[Place]:
    """Those of this scale."""
    return [each for each in PLACES if scale.name != "smoke" or each.title in REHEARSED]


def sizes_of(place: Place, scale: Scale) -> list[int]:
    """Those of a place at this scale."""
    most = LARGEST.get(scale.name, math.inf)
    return [size for size in place.sizes if size <= most] or [place.sizes[0]]


def runs(place: Place, size: int, scale: Scale) -> list[Found]:
    """All runs of a place with logs of this size."""
    return [found(place, size, FIRST + k) for k in range(RUNS[scale.name])]


def cvar(values: Floats) -> float:
    """The mean of the worst runs."""
    return float(np.sort(values)[: max(1, math.ceil(WORST * values.size))].mean())


def cvar_difference(one: Floats, other: Floats) -> tuple[float, float, float]:
    """By how much the worst runs of one differ, and its 95 % interval, by resampling pairs."""
    which = np.random.default_rng(0).integers(one.size, size=(RESAMPLED, one.size))
    drawn = [cvar(one[each]) - cvar(other[each]) for each in which]
    low, high = (math.nan, math.nan) if one.size < 2 else np.quantile(drawn, (0.025, 0.975))
    return cvar(one) - cvar(other), float(low), float(high)


def of_place(place: Place, scale: Scale) -> Table:
    """A row per method, a column per size."""
    sizes = sizes_of(place, scale)
    by_size = {size: runs(place, size, scale) for size in sizes}
    names = list(by_size[sizes[0]][0].returns)
    rows = []
    for name in names:
        values = [np.array([run.returns[name] for run in by_size[size]]) for size in sizes]
        rows.append([name, *(f"{x.mean():.2f} ({cvar(x):.2f})" for x in values)])
    best = np.mean([place.optimum(FIRST + k) for k in range(RUNS[scale.name])])
    rows.append(["optimum", *(f"{best:.2f}" for _ in sizes)])
    unit = "episodes" if place.episodes else "transitions"
    return Table(place.title, ["method", *(f"{size:,} {unit}" for size in sizes)], rows)


def harm_table(scale: Scale) -> Table:
    """Random MDPs: a method with inference less the same without, normalised."""
    rows = []
    for place in places_of(scale):
        for size in sizes_of(place, scale) if place.episodes else ():
            found = runs(place, size, scale)
            seeds = range(FIRST, FIRST + len(found))
            base = np.array([run.returns["behaviour"] for run in found])
            room = np.maximum([place.optimum(seed) for seed in seeds] - base, 1e-9)
            pair = [
                (np.array([run.returns[name] for run in found]) - base) / room
                for name in (OURS, DEFAULT)
            ]
            mean, low, high, _ = compare(*pair).difference
            depth, least, most = cvar_difference(*pair)
            said = "harms" if high < HARM or most < HARM_WORST else "no harm"
            row = [place.title, f"{size:,}", f"{mean:+.3f}", _span(low, high)]
            rows.append([*row, f"{depth:+.3f}", _span(least, most), said])
    heads = ["place", "episodes", "mean", "95 % interval", "CVaR", "95 % interval", "verdict"]
    title = f"{OURS} less the same without, as a share of what can be gained over the behaviour"
    return Table(title, heads, rows)


def bounds_table(scale: Scale) -> Table:
    """How often the bounds on the value of the default policy hold."""
    rows = []
    for place in places_of(scale):
        for size in sizes_of(place, scale):
            asked = [run.covered for run in runs(place, size, scale)]
            held = np.array([each for each in asked if each is not None])
            error = float(np.sqrt(held.mean() * (1 - held.mean()) / held.size))
            holds = held.mean() >= 0.9 - 2 * max(error, math.sqrt(0.09 / held.size))
            told = "holds" if holds else "fails"
            row = [place.title, f"{size:,}", f"{held.size}", f"{held.mean():.3f}", f"{error:.3f}"]
            rows.append([*row, told])
    heads = ["place", "size", "logs", "coverage", "standard error", "verdict"]
    return Table("Bounds on the value of the default policy, nominal coverage 90 %", heads, rows)


def _span(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{low:+.3f} to {high:+.3f}"
