"""Claims about the known threshold m: Figures 3 and 7 to 10."""

from __future__ import annotations

import numpy as np

from gim_lab.claims.claim import Claim, Part, Selection
from gim_lab.claims.parts import at_least, at_most, greater, longer
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim_lab.experiments.paper.thresholds import SHORT

HIGH, WORSE = 0.95, 0.01  # of the optimum


class MoreReward(Claim):
    """At every m of Figure 3."""

    statement = "For the same m GIM gains more than RMax."
    source = "Fig. 3a, Section 7.2"
    rule = "GIM's score is above RMax's."
    needs = ("fig3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _gains(self.runs(results, setting), "rank 2")


class Sooner(Claim):
    """At every m of Figure 3."""

    statement = "For the same m GIM finishes exploring sooner."
    source = "Fig. 3b, Section 7.2, Appendix C.2"
    rule = "GIM's TotalEps is below RMax's."
    needs = ("fig3",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _sooner(self.runs(results, setting), "rank 2")


class SlightlyWorse(Claim):
    """GIM's PostAvgReward against RMax's, at the values of m at which all runs of both finished."""

    statement = "For the same m GIM's policy is less than 1 % worse than RMax's."
    source = "Figs. 3c and 9, Section 7.2, Appendix C.2"
    rule = (
        f"RMax's PostAvgReward exceeds GIM's by at most {WORSE} of the optimum, in the mean over "
        "the values of m at which every run of both finished."
    )
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            theirs, ours = (runs.sweep(panel, a, "post_score") for a in (RMAX, GREEDY))
            worse = theirs - ours
            ended = np.isfinite(worse).all(axis=1)
            if ended.any():
                part = at_most(panel, worse[ended].mean(axis=0), WORSE)
                numbers = f"worse by {part.numbers} over {ended.sum()} of {ended.size} values of m"
                parts.append(Part(panel, part.holds, numbers))
            else:
                parts.append(Part(panel, None, "at no m have all runs of both finished"))
        return parts


class LowerWithM(Claim):
    """AvgReward at the smallest and the largest m."""

    statement = "A higher m gives less reward within the same episodes."
    source = "Fig. 7, Appendix C.2"
    rule = "AvgReward at the smallest m is above that at the largest."
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for agent in MODEL_BASED:
            for panel in runs.panels:
                low, *_, high = runs.at(panel, agent)
                scores = runs.of(low, "score"), runs.of(high, "score")
                names = f"m {low.x:g}", f"m {high.x:g}"
                parts.append(greater(f"{agent}, {panel}", *scores, names))
        return parts


class AlwaysHigh(Claim):
    """GIM's AvgReward at its worst m."""

    statement = "GIM keeps above 95 % of the optimal reward whatever m."
    source = "Fig. 7, Appendix C.2"
    rule = f"GIM's AvgReward at its worst m is above {HIGH}."
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            cells = runs.at(panel, GREEDY)
            worst = min(
                cells, key=lambda cell: np.nan_to_num(runs.of(cell, "score").mean(), nan=-9)
            )
            part = at_least(panel, runs.of(worst, "score"), HIGH)
            numbers = f"{part.numbers} at m {worst.x:g}{_early(runs, worst)}"
            parts.append(Part(panel, part.holds, numbers))
        return parts


class LessSensitive(Claim):
    """How far AvgReward moves over m."""

    statement = "GIM's reward is less sensitive to m than RMax's."
    source = "Figs. 3a and 7, Section 7.2, Appendix C.2"
    rule = "The largest less the smallest AvgReward over m is smaller for GIM, run by run."
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            spreads = [np.ptp(runs.sweep(panel, agent, "score"), axis=0) for agent in MODEL_BASED]
            parts.append(greater(panel, spreads[1], spreads[0], (RMAX, GREEDY)))
        return parts


class RobustExploring(Claim):
    """How far TotalEps moves over m."""

    statement = "As m grows GIM's exploration grows less than RMax's."
    source = "Figs. 3b and 8, Section 7.2, Appendix C.2"
    rule = "TotalEps at the largest m less that at the smallest is smaller for GIM, run by run."
    needs = ("fig7to9",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            ends = {a: (runs.at(panel, a)[0], runs.at(panel, a)[-1]) for a in MODEL_BASED}
            grown = {
                a: runs.of(b, "total_eps") - runs.of(s, "total_eps") for a, (s, b) in ends.items()
            }
            part = greater(panel, grown[RMAX], grown[GREEDY], (RMAX, GREEDY), 0)
            many = len(ends[RMAX][0].trials)
            # Unfinished runs of RMax at the largest m make its growth a lower bound; no others may.
            rest = [ends[GREEDY][0], ends[GREEDY][1], ends[RMAX][0]]
            if min(map(runs.finished, rest)) < many:
                part = Part(panel, None, f"{part.numbers}; not all runs finished")
            elif (done := runs.finished(ends[RMAX][1])) < many:
                holds = part.holds or None
                part = Part(panel, holds, f"{part.numbers}; RMax finished in {done} of {many} runs")
            parts.append(part)
        return parts


class GridsGain(Claim):
    """AvgReward on both grids."""

    statement = "On grid worlds, too, GIM gains more than RMax for the same m."
    source = "Fig. 10, Appendix C.2"
    rule = "GIM's score is above RMax's."
    needs = ("fig10",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [part for panel in runs.panels for part in _gains(runs, panel, f"{panel}, ")]


class GridsSooner(Claim):
    """TotalEps on both grids."""

    statement = "On grid worlds, too, GIM finishes exploring sooner for the same m."
    source = "Fig. 10, Appendix C.2"
    rule = "GIM's TotalEps is below RMax's."
    needs = ("fig10",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [part for panel in runs.panels for part in _sooner(runs, panel, f"{panel}, ")]


def _pairs(runs: Selection, panel: str) -> list[tuple[Cell, Cell]]:
    """GIM's and RMax's cell at every m."""
    return list(zip(runs.at(panel, GREEDY), runs.at(panel, RMAX), strict=True))


def _gains(runs: Selection, panel: str, where: str = "") -> list[Part]:
    parts = []
    for ours, theirs in _pairs(runs, panel):
        scores = runs.of(ours, "score"), runs.of(theirs, "score")
        part = greater(f"{where}m = {ours.x:g}", *scores, (GREEDY, RMAX))
        early = _early(runs, ours, theirs)
        parts.append(Part(part.what, part.holds, part.numbers + early))
    return parts


def _sooner(runs: Selection, panel: str, where: str = "") -> list[Part]:
    return [
        longer(runs, f"{where}m = {ours.x:g}", theirs, ours, (RMAX, GREEDY))
        for ours, theirs in _pairs(runs, panel)
    ]


def _early(runs: Selection, *cells: Cell) -> str:
    """The scores of the first episodes of longer runs, as text."""
    if max(cell.trials[0].episodes for cell in cells) <= SHORT:
        return ""
    means = ", ".join(f"{cell.agent} {runs.early(cell, SHORT).mean():.3f}" for cell in cells)
    return f"; first {SHORT:,} episodes: {means}"
