"""Claims about the known threshold m: Figures 3 and 7 to 10."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.claim import Claim, Part, Selection
from gim.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim.experiments.parts import greater, longer, told

HIGH, WORSE = 0.95, 0.01  # of the optimum


class MoreReward(Claim):
    """At every m of Figure 3."""

    statement = "For the same m GIM gains more than RMax."
    source = "Fig. 3a"
    rule = "GIM's score is above RMax's, interval included."
    needs = ("fig3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _by_m(self.runs(results, setting), "rank 2", "score")


class Sooner(Claim):
    """At every m of Figure 3."""

    statement = "For the same m GIM finishes exploring sooner."
    source = "Fig. 3b"
    rule = "GIM's TotalEps is below RMax's, interval included."
    needs = ("fig3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _by_m(self.runs(results, setting), "rank 2", "total_eps")


class SlightlyWorse(Claim):
    """GIM's PostAvgReward against RMax's, on the seeds on which both finished."""

    statement = "For the same m GIM's policy is less than 1 % worse than RMax's."
    source = "Fig. 3c, Fig. 9"
    rule = (
        "RMax's PostAvgReward is above GIM's by less than 0.01 of the optimum, at every m at "
        "which both finished on at least half of the seeds."
    )
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            lost, pairs = [], 0
            for ours, theirs in zip(runs.at(panel, GREEDY), runs.at(panel, RMAX), strict=True):
                both = runs.of(theirs, "post_score") - runs.of(ours, "post_score")
                ended = both[np.isfinite(both)]
                if 2 * ended.size >= both.size:
                    lost.append(float(ended.mean()))
                    pairs += ended.size
            if lost:
                numbers = f"worse by {min(lost):+.3f} to {max(lost):+.3f}"
                numbers += f" at {len(lost)} values of m, on {pairs} pairs of runs that finished"
                parts.append(Part(panel, max(lost) < WORSE, numbers))
            else:
                parts.append(Part(panel, None, "at no m have both finished on half of the seeds"))
        return parts


class AlwaysHigh(Claim):
    """GIM's AvgReward at its worst m."""

    statement = "GIM keeps above 95 % of the optimal reward whatever m."
    source = "Fig. 7"
    rule = "GIM's AvgReward at its worst m is above 0.95."
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            means = runs.means(panel, GREEDY, "score")
            numbers = f"from {means.min():.3f} to {means.max():.3f} over m"
            parts.append(Part(panel, told(means.min() > HIGH, means), numbers))
        return parts


class LessSensitive(Claim):
    """How far AvgReward and TotalEps move over m."""

    statement = "GIM is less sensitive to m than RMax."
    source = "Figs. 3, 7, 8"
    rule = "The spread of the means over m is smaller for GIM."
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            for measure, what, digits in (("score", "AvgReward", 3), ("total_eps", "TotalEps", 0)):
                means = [runs.means(panel, agent, measure) for agent in MODEL_BASED]
                ours, theirs = (float(np.ptp(each)) for each in means)
                numbers = f"spread over m: GIM {ours:,.{digits}f}, RMax {theirs:,.{digits}f}"
                done = [runs.finished(c) for agent in MODEL_BASED for c in runs.at(panel, agent)]
                many = len(runs.at(panel, RMAX)[0].trials)
                if measure == "total_eps" and min(done) < many:  # then the means are lower bounds
                    numbers += f", at some m with {min(done)} of {many} runs finished"
                    parts.append(Part(f"{panel}: {what}", None, numbers))
                else:
                    parts.append(Part(f"{panel}: {what}", told(ours < theirs, means), numbers))
        return parts


class Grids(Claim):
    """Both, on both grids."""

    statement = "On grid worlds, too, GIM gains more and explores sooner for the same m."
    source = "Fig. 10"
    rule = "As above, at every m."
    needs = ("fig10",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            for measure, what in (("score", "gains more"), ("total_eps", "explores sooner")):
                parts.append(_all(f"{panel}: GIM {what}", _by_m(runs, panel, measure)))
        return parts


def _by_m(runs: Selection, panel: str, measure: str) -> list[Part]:
    """GIM ahead of RMax, m by m: more reward, or fewer episodes."""
    parts = []
    for ours, theirs in zip(runs.at(panel, GREEDY), runs.at(panel, RMAX), strict=True):
        parts.append(_ahead(runs, ours, theirs, measure))
    return parts


def _ahead(runs: Selection, ours: Cell, theirs: Cell, measure: str) -> Part:
    what = f"m = {ours.x:g}"
    if measure == "total_eps":
        return longer(runs, what, theirs, ours, (RMAX, GREEDY))
    return greater(what, runs.of(ours, measure), runs.of(theirs, measure), (GREEDY, RMAX))


def _all(what: str, parts: Sequence[Part]) -> Part:
    """Several parts as one."""
    told = [part for part in parts if part.holds is not None]
    holding = [part.what for part in told if part.holds]
    numbers = f"at {len(holding)} of {len(parts)} values of m"
    if not told:
        return Part(what, None, "no run finished exploring")
    return Part(what, len(holding) == len(parts), numbers)
