"""Claims about time and dynamic programming: Tables 2 and 3, Theorem 1.

Times are processor times of single runs without compiling. Ratios of two learners on the same seed
are averaged as logarithms, so that neither a slow run nor the choice of the denominator matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from gim.agents.gim import GIM
from gim.envs import make
from gim.runs.run import prepare
from gim_lab.claims.claim import Part, Selection, states
from gim_lab.claims.parts import at_most, greater, inside
from gim_lab.experiments.cells import Floats
from gim_lab.experiments.paper.settings import DOUBLE_Q, GREEDY, MODEL_FREE, RMAX
from gim_lab.experiments.statistics import mean_interval

COMPARABLE = 2.5  # times the model-free mean; the paper's own largest ratio is 2.05
GROWTH, STAYS = 4.0, 1.5  # the paper: 8.2 and 1.12
NEGLIGIBLE = 0.05  # of the time of a run
SIDES, STEPS = (10, 100), 200_000  # of the grids in which a step is timed
STEP = 2.0  # times: what caches may add to the cost of a step
RIVER = "RiverSwim"


@states(
    "GIM is faster than RMax on Synthetic, GridWorld and CasinoLand.",
    "Table 2, Section 7.1",
    "RMax's time of a run over GIM's is above 1, in the geometric mean.",
    "table2",
)
def faster_than_rmax(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM is faster on three tasks."""
    for panel in runs.panels:
        if panel != RIVER:
            yield _faster(runs, panel, RMAX, GREEDY)


@states(
    "On RiverSwim GIM is slightly slower than RMax, for its completion.",
    "Table 2, Section 7.1",
    f"GIM's time of a run over RMax's is above 1 and at most {COMPARABLE}.",
    "table2",
)
def slower_on_riverswim(runs: Selection, setting: str) -> Iterator[Part]:
    """RMax is faster on RiverSwim."""
    part = _faster(runs, RIVER, GREEDY, RMAX, COMPARABLE)
    completing = _ms(runs, RIVER, GREEDY, "completing").mean()
    yield replace(part, numbers=f"{part.numbers}; completion {completing:.2f} ms")


@states(
    "GIM's running time is comparable to that of model-free learners.",
    "Table 2, Section 7.1",
    f"Its time is at most {COMPARABLE} times the mean of the three (the paper's: 2.05).",
    "table2",
)
def comparable_time(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM takes no more than a few times as long as the model-free learners."""
    for panel in runs.panels:
        others = np.mean([_ms(runs, panel, agent) for agent in MODEL_FREE], axis=0)
        yield at_most(panel, _ms(runs, panel, GREEDY) / others, COMPARABLE, 2)


@states(
    "RMax spends much more time as the environment grows.",
    "Table 3, Section 7.1",
    f"From S=20 to S=50 its time grows more than {GROWTH:g} times (the paper's: 8.2).",
    "table3",
)
def rmax_grows(runs: Selection, setting: str) -> Iterator[Part]:
    """RMax's time from S=20 to S=50."""
    yield _grown(runs, RMAX, low=GROWTH)


@states(
    "As the environment grows GIM takes only slightly longer.",
    "Table 3, Section 7.1",
    f"From S=20 to S=50 its time grows at most {STAYS:g} times (the paper's: 1.12).",
    "table3",
)
def gim_stays(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's time from S=20 to S=50."""
    yield _grown(runs, GREEDY, high=STAYS)


@states(
    "In larger environments GIM is faster than RMax and Double-Q.",
    "Table 3, Section 7.1",
    "The other's time of a run over GIM's is above 1, in the geometric mean.",
    "table3",
)
def much_faster(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM below RMax and Double-Q at every size."""
    for panel in runs.panels:
        for other in (RMAX, DOUBLE_Q):
            yield replace(_faster(runs, panel, other, GREEDY), what=f"{panel}, {other}")


@states(
    "The one completion is a negligible cost in a long learning process.",
    "Section 6.1",
    f"It takes at most {100 * NEGLIGIBLE:.0f} % of a run of 200,000 episodes. (A step takes some "
    "20 ns here; where it takes 10 microseconds, as in plain Python, the share is below 1 %.)",
    "table3",
)
def completion_negligible(runs: Selection, setting: str) -> Iterator[Part]:
    """What completion takes of the time of a long run."""
    for panel in runs.panels:
        part = at_most(panel, _completing(runs, panel), NEGLIGIBLE, 4)
        ms, whole = (_ms(runs, panel, GREEDY, of).mean() for of in ("completing", "total"))
        yield replace(part, numbers=f"share {part.numbers}; {ms:.1f} of {whole:.1f} ms")


@states(
    "The cost of completion weighs less in tasks that take longer.",
    "Section 7.1",
    "Its share of a run of Table 3 is below that of a run on RiverSwim.",
    "table2",
    "table3",
)
def completion_fades(runs: Selection, setting: str) -> Iterator[Part]:
    """The share of completion where time is the bottleneck, and on RiverSwim."""
    river, long = _completing(runs, RIVER), Selection(runs.results, "table3", setting)
    for panel in long.panels:
        names = f"share on {RIVER}", "here"
        yield greater(panel, river, _completing(long, panel), names, 4)


@states(
    "A step of GIM takes the same time however large the environment (Theorem 1).",
    "Theorem 1, Section 6.1",
    f"With {SIDES[1] ** 2 // SIDES[0] ** 2} times the states a step of curious walking takes at "
    f"most {STEP:g} times as long: caches may be missed, but not more be done.",
    "table3",
)
def theorem1_step(runs: Selection, setting: str) -> Iterator[Part]:
    """An exploring step in small and large grids, measured anew: results do not tell it apart."""
    small, large = (np.array([step_seconds(side, k) for k in range(5)]) for side in SIDES)
    part = at_most("grids", large / small, STEP, 2)
    took = f"{1e9 * small.mean():.0f} ns at {SIDES[0]} x {SIDES[0]}, "
    took += f"{1e9 * large.mean():.0f} ns at {SIDES[1]} x {SIDES[1]}"
    yield replace(part, numbers=f"{part.numbers} times; {took}")


@states(
    "GIM needs one dynamic-programming operation, whatever the size (Lemma 1).",
    "Abstract, Theorem 1, Lemma 1, Section 6.1",
    "Every run that finished exploring planned once.",
    "fig1",
    "fig2",
)
def plans_once(runs: Selection, setting: str) -> Iterator[Part]:
    """How often GIM plans, at every size."""
    for each in (runs, Selection(runs.results, "fig2", setting)):
        for panel in each.panels:
            plans = each(panel, GREEDY, "plans")[each(panel, GREEDY, "explored") > 0]
            if plans.size:
                numbers = f"{plans.min():.0f} to {plans.max():.0f} plans in {plans.size} runs"
                yield Part(panel, bool((plans == 1).all()), numbers)
            else:
                yield Part(panel, None, "no run finished exploring")


@states(
    "RMax needs a dynamic-programming operation per known state (Lemma 1).",
    "Lemma 1, Section 6.1",
    "Every run planned at least twice and at most S + 1 times.",
    "fig1",
)
def plans_of_rmax(runs: Selection, setting: str) -> Iterator[Part]:
    """How often RMax plans."""
    for panel in runs.panels:
        plans, S = runs(panel, RMAX, "plans"), runs(panel, RMAX, "S")
        if np.isnan(plans).any():
            yield Part(panel, None, "not all runs are there")
        else:
            numbers = f"{plans.min():.0f} to {plans.max():.0f} plans, {S.mean():.0f} states"
            yield Part(panel, bool(((plans >= 2) & (plans <= S + 1)).all()), numbers)


def _ms(runs: Selection, panel: str, agent: str, of: str = "total") -> Floats:
    return 1000 * runs(panel, agent, f"seconds_{of}")


@cache
def step_seconds(side: int, seed: int) -> float:
    """Seconds of a step of Algorithm 1 in a square grid, half of which becomes known meanwhile."""
    mdp = make(f"gridworld:height={side},width={side},horizon=100")
    run = prepare(GIM.paper(m=2 * STEPS // (mdp.S * mdp.A)), mdp, STEPS, seed)
    run.pause_at(STEPS // 8)  # the first steps meet cold caches
    before, steps = run.seconds["interacting"], run.steps
    run.pause_at(STEPS)
    return (run.seconds["interacting"] - before) / (run.steps - steps)


def _completing(runs: Selection, panel: str) -> Floats:
    """The share of completion."""
    return np.asarray(_ms(runs, panel, GREEDY, "completing") / _ms(runs, panel, GREEDY))


def _faster(runs: Selection, panel: str, slow: str, fast: str, most: float = math.inf) -> Part:
    """The geometric mean of the ratio of two times is above 1 (and at most `most`)."""
    times = {agent: _ms(runs, panel, agent) for agent in (slow, fast)}
    part, ratio = _ratio(panel, times[slow], times[fast], 0.0, math.log(most))
    medians = ", ".join(
        f"{agent} {np.median(times[agent]):.1f} ms (planning "
        f"{np.median(_ms(runs, panel, agent, 'planning')):.1f})"
        for agent in times
    )
    text = f"{slow} over {fast} {ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f}); medians: "
    return part if part.numbers else replace(part, numbers=text + medians)


def _grown(runs: Selection, agent: str, low: float = 0.0, high: float = math.inf) -> Part:
    """The geometric mean of the ratio of times at the largest and the smallest size."""
    small, large = runs.panels[0], runs.panels[-1]
    times = _ms(runs, large, agent), _ms(runs, small, agent)
    bounds = math.log(low) if low else -math.inf, math.log(high)
    part, ratio = _ratio(f"{small} to {large}", *times, *bounds)
    numbers = f"{ratio[0]:.2f} times ({ratio[1]:.2f} to {ratio[2]:.2f})"
    return part if part.numbers else replace(part, numbers=numbers)


def _ratio(
    what: str, slow: Floats, fast: Floats, low: float, high: float
) -> tuple[Part, list[float]]:
    """A part without its numbers, unless runs are missing; and the ratio with its interval."""
    if np.isnan([slow, fast]).any():
        return Part(what, None, "not all runs are there"), [math.nan] * 3
    ratio = mean_interval(np.log(slow / fast))
    return Part(what, inside(ratio, low, high), ""), [math.exp(x) for x in ratio[:3]]
