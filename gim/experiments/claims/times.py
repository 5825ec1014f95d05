"""Claims about time and dynamic programming: Tables 2 and 3, Section 5.1."""

from __future__ import annotations

import numpy as np

from gim.experiments.cells import Floats, ResultsByCell
from gim.experiments.claim import Claim, Part, Selection
from gim.experiments.paper.settings import DOUBLE_Q, GREEDY, MODEL_BASED, MODEL_FREE, RMAX
from gim.experiments.parts import at_least, at_most, greater, told

COMPARABLE = 2.5  # times the model-free mean; the paper's own largest ratio is 2.05
GROWTH, STAYS = 4.0, 1.5  # the paper: 8.2 and 1.12


class FasterThanRmax(Claim):
    """GIM is faster on three tasks, RMax on RiverSwim."""

    statement = "GIM is faster than RMax, but on RiverSwim."
    source = "Table 2"
    rule = "The mean time of a run is lower, interval included (on RiverSwim RMax's)."
    needs = ("table2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            slow, fast = (GREEDY, RMAX) if panel == "RiverSwim" else (RMAX, GREEDY)
            what = f"{panel}: {fast} is faster (ms)"
            times = _ms(runs, panel, slow), _ms(runs, panel, fast)
            parts.append(greater(what, *times, (slow, fast), 1))
        return parts


class ComparableTime(Claim):
    """GIM takes no more than a few times as long as the model-free learners."""

    statement = "GIM's running time is comparable to that of model-free learners."
    source = "Table 2"
    rule = f"Its time is at most {COMPARABLE} times the mean of the three."
    needs = ("table2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            others = np.mean([_ms(runs, panel, agent) for agent in MODEL_FREE], axis=0)
            ratio = _ms(runs, panel, GREEDY) / others
            parts.append(at_most(f"{panel}: times the model-free mean", ratio, COMPARABLE, 2))
        return parts


class Growth(Claim):
    """From S=20 to S=50."""

    statement = "From S=20 to S=50 RMax's time grows eightfold, GIM's hardly."
    source = "Table 3"
    rule = f"RMax takes at least {GROWTH:g} times as long, GIM at most {STAYS:g} times."
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        small, large = runs.panels[0], runs.panels[-1]
        times = {agent: _ms(runs, large, agent) / _ms(runs, small, agent) for agent in MODEL_BASED}
        return [
            at_least(f"RMax: time at {large} over that at {small}", times[RMAX], GROWTH, 2),
            at_most(f"GIM: time at {large} over that at {small}", times[GREEDY], STAYS, 2),
        ]


class MuchFaster(Claim):
    """GIM below RMax and Double-Q at every size."""

    statement = "In larger environments GIM is faster than RMax and Double-Q."
    source = "Table 3"
    rule = "The mean time of a run is lower, interval included."
    needs = ("table3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [
            greater(
                f"{panel}: below {other} (ms)",
                _ms(runs, panel, other),
                _ms(runs, panel, GREEDY),
                (other, GREEDY),
                1,
            )
            for panel in runs.panels
            for other in (RMAX, DOUBLE_Q)
        ]


class Plans(Claim):
    """GIM plans once; RMax once per state that becomes known, and once at the start."""

    statement = "GIM needs one dynamic-programming operation, RMax one per known state."
    source = "Section 5.1"
    rule = "GIM's finished runs planned once; RMax's planned at least twice and at most S+1 times."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            explored = runs(panel, GREEDY, "explored") > 0
            ours = runs(panel, GREEDY, "plans")
            once = bool((ours[explored] == 1).all()) if explored.any() else None
            parts.append(Part(f"{panel}: GIM plans once", once, f"{ours.mean():.1f} plans"))
            theirs, S = runs(panel, RMAX, "plans"), runs(panel, RMAX, "S")
            numbers = f"{theirs.mean():.1f} plans, {S.mean():.0f} states"
            many = told(((theirs >= 2) & (theirs <= S + 1)).all(), theirs)
            parts.append(Part(f"{panel}: RMax plans once per known state", many, numbers))
        return parts


def _ms(runs: Selection, panel: str, agent: str) -> Floats:
    return 1000 * runs(panel, agent, "seconds_total")
