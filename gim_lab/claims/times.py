"""Claims about time and dynamic programming: Tables 2 and 3, Theorem 1.

Times are processor times of single runs without compiling. Ratios of two learners on the same seed
are averaged as logarithms, so that neither a slow run nor the choice of the denominator matters.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gim.agents.gim import GIM
from gim.envs import make
from gim.runs.run import prepare
from gim_lab.claims.claim import Claim, Part, Selection
from gim_lab.claims.parts import at_most, counted, greater, inside
from gim_lab.experiments.cells import Floats, ResultsByCell
from gim_lab.experiments.paper.settings import DOUBLE_Q, GREEDY, MODEL_FREE, RMAX
from gim_lab.experiments.statistics import mean_interval

COMPARABLE = 2.5  # times the model-free mean; the paper's own largest ratio is 2.05
GROWTH, STAYS = 4.0, 1.5  # the paper: 8.2 and 1.12
NEGLIGIBLE = 0.05  # of the time of a run
SIDES, STEPS = (10, 100), 200_000  # of the grids in which a step is timed
STEP = 2.0  # times: what caches may add to the cost of a step
RIVER = "RiverSwim"


class FasterThanRmax(Claim):
    """GIM is faster on three tasks."""

    statement = "GIM is faster than RMax on Synthetic, GridWorld and CasinoLand."
    source = "Table 2, Section 7.1"
    rule = "RMax's time of a run over GIM's is above 1, in the geometric mean."
    needs = ("table2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [_faster(runs, panel, RMAX, GREEDY) for panel in runs.panels if panel != RIVER]


class SlowerOnRiverswim(Claim):
    """RMax is faster on RiverSwim."""

    statement = "On RiverSwim GIM is slightly slower than RMax, for its completion."
    source = "Table 2, Section 7.1"
    rule = f"GIM's time of a run over RMax's is above 1 and at most {COMPARABLE}."
    needs = ("table2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        part = _faster(runs, RIVER, GREEDY, RMAX, COMPARABLE)
        completing = 1000 * runs(RIVER, GREEDY, "seconds_completing").mean()
        return [Part(part.what, part.holds, f"{part.numbers}; completion {completing:.2f} ms")]


class ComparableTime(Claim):
    """GIM takes no more than a few times as long as the model-free learners."""

    statement = "GIM's running time is comparable to that of model-free learners."
    source = "Table 2, Section 7.1"
    rule = f"Its time is at most {COMPARABLE} times the mean of the three (the paper's: 2.05)."
    needs = ("table2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            others = np.mean([_ms(runs, panel, agent) for agent in MODEL_FREE], axis=0)
            parts.append(at_most(panel, _ms(runs, panel, GREEDY) / others, COMPARABLE, 2))
        return parts


class RmaxGrows(Claim):
    """RMax's time from S=20 to S=50."""

    statement = "RMax spends much more time as the environment grows."
    source = "Table 3, Section 7.1"
    rule = f"From S=20 to S=50 its time grows more than {GROWTH:g} times (the paper's: 8.2)."
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return [_grown(self.runs(results, setting), RMAX, low=GROWTH)]


class GimStays(Claim):
    """GIM's time from S=20 to S=50."""

    statement = "As the environment grows GIM takes only slightly longer."
    source = "Table 3, Section 7.1"
    rule = f"From S=20 to S=50 its time grows at most {STAYS:g} times (the paper's: 1.12)."
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return [_grown(self.runs(results, setting), GREEDY, high=STAYS)]


class MuchFaster(Claim):
    """GIM below RMax and Double-Q at every size."""

    statement = "In larger environments GIM is faster than RMax and Double-Q."
    source = "Table 3, Section 7.1"
    rule = "The other's time of a run over GIM's is above 1, in the geometric mean."
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        found = []
        for panel in runs.panels:
            for other in (RMAX, DOUBLE_Q):
                part = _faster(runs, panel, other, GREEDY)
                found.append(Part(f"{panel}, {other}", part.holds, part.numbers))
        return found


class CompletionNegligible(Claim):
    """What completion takes of the time of a long run."""

    statement = "The one completion is a negligible cost in a long learning process."
    source = "Section 6.1"
    rule = (
        f"It takes at most {100 * NEGLIGIBLE:.0f} % of a run of 200,000 episodes. (A step takes "
        "some 20 ns here; where it takes 10 microseconds, as in plain Python, the share is below "
        "1 %.)"
    )
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            part = at_most(panel, _completing(runs, panel), NEGLIGIBLE, 4)
            ms = 1000 * runs(panel, GREEDY, "seconds_completing").mean()
            numbers = f"share {part.numbers}; {ms:.1f} of {_ms(runs, panel, GREEDY).mean():.1f} ms"
            parts.append(Part(panel, part.holds, numbers))
        return parts


class CompletionFades(Claim):
    """The share of completion where time is the bottleneck, and on RiverSwim."""

    statement = "The cost of completion weighs less in tasks that take longer."
    source = "Section 7.1"
    rule = "Its share of a run of Table 3 is below that of a run on RiverSwim."
    needs = ("table2", "table3")

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        short, long = (self.runs(results, setting, name) for name in self.needs)
        river = _completing(short, RIVER)
        names = f"share on {RIVER}", "here"
        return [greater(p, river, _completing(long, p), names, 4) for p in long.panels]


class Theorem1Step(Claim, name="theorem1_step"):
    """The time of one exploring step in grids of a hundred and of ten thousand states."""

    statement = "A step of GIM takes the same time however large the environment (Theorem 1)."
    source = "Theorem 1, Section 6.1"
    rule = (
        f"With {SIDES[1] ** 2 // SIDES[0] ** 2} times the states a step of curious walking takes "
        f"at most {STEP:g} times as long: caches may be missed, but not more be done."
    )
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`; measured anew, since results do not tell exploring steps from others."""
        small, large = (np.array([step_seconds(side, k) for k in range(5)]) for side in SIDES)
        part = at_most("grids", large / small, STEP, 2)
        took = f"{1e9 * small.mean():.0f} ns at {SIDES[0]} x {SIDES[0]}, "
        took += f"{1e9 * large.mean():.0f} ns at {SIDES[1]} x {SIDES[1]}"
        return [Part("grids", part.holds, f"{part.numbers} times; {took}")]


class PlansOnce(Claim):
    """How often GIM plans, at every size."""

    statement = "GIM needs one dynamic-programming operation, whatever the size (Lemma 1)."
    source = "Abstract, Theorem 1, Lemma 1, Section 6.1"
    rule = "Every run that finished exploring planned once."
    needs = ("fig1", "fig2")

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        parts = []
        for name in self.needs:
            runs = self.runs(results, setting, name)
            for panel in runs.panels:
                done = runs(panel, GREEDY, "explored") > 0
                plans = runs(panel, GREEDY, "plans")[done]
                if plans.size:
                    numbers = f"{plans.min():.0f} to {plans.max():.0f} plans in {plans.size} runs"
                    parts.append(counted(panel, bool((plans == 1).all()), numbers))
                else:
                    parts.append(Part(panel, None, "no run finished exploring"))
        return parts


class PlansOfRmax(Claim):
    """How often RMax plans."""

    statement = "RMax needs a dynamic-programming operation per known state (Lemma 1)."
    source = "Lemma 1, Section 6.1"
    rule = "Every run planned at least twice and at most S + 1 times."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            plans, S = runs(panel, RMAX, "plans"), runs(panel, RMAX, "S")
            if np.isnan(plans).any():
                parts.append(Part(panel, None, "not all runs are there"))
                continue
            numbers = f"{plans.min():.0f} to {plans.max():.0f} plans, {S.mean():.0f} states"
            parts.append(counted(panel, bool(((plans >= 2) & (plans <= S + 1)).all()), numbers))
        return parts


def _ms(runs: Selection, panel: str, agent: str) -> Floats:
    return 1000 * runs(panel, agent, "seconds_total")


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
    taken = runs(panel, GREEDY, "seconds_completing"), runs(panel, GREEDY, "seconds_total")
    return np.asarray(taken[0] / taken[1])


def _faster(runs: Selection, panel: str, slow: str, fast: str, most: float = math.inf) -> Part:
    """The geometric mean of the ratio of two times is above 1 (and at most `most`)."""
    times = {agent: _ms(runs, panel, agent) for agent in (slow, fast)}
    if np.isnan(list(times.values())).any():
        return Part(panel, None, "not all runs are there")
    ratio = mean_interval(np.log(times[slow] / times[fast]))
    middle, low, high = (math.exp(x) for x in ratio[:3])
    medians = ", ".join(
        f"{agent} {np.median(times[agent]):.1f} ms (planning "
        f"{1000 * np.median(runs(panel, agent, 'seconds_planning')):.1f})"
        for agent in times
    )
    numbers = f"{slow} over {fast} {middle:.2f} ({low:.2f} to {high:.2f}); medians: {medians}"
    return Part(panel, inside(ratio, 0.0, math.log(most)), numbers)


def _grown(runs: Selection, agent: str, low: float | None = None, high: float = math.inf) -> Part:
    """The geometric mean of the ratio of times at the largest and the smallest size."""
    small, large = runs.panels[0], runs.panels[-1]
    times = _ms(runs, large, agent), _ms(runs, small, agent)
    what = f"{small} to {large}"
    if np.isnan(times).any():
        return Part(what, None, "not all runs are there")
    ratio = mean_interval(np.log(times[0] / times[1]))
    middle, least, most = (math.exp(x) for x in ratio[:3])
    bounds = -math.inf if low is None else math.log(low), math.log(high)
    return Part(what, inside(ratio, *bounds), f"{middle:.2f} times ({least:.2f} to {most:.2f})")
