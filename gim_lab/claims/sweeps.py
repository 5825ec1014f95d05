"""Claims about the known threshold m: Figures 3 and 7 to 10."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gim_lab.claims.claim import Part, Selection, states
from gim_lab.claims.parts import at_least, at_most, greater, longer
from gim_lab.claims.readings import best
from gim_lab.experiments.cells import Cell
from gim_lab.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim_lab.experiments.paper.thresholds import SHORT

HIGH, WORSE = 0.95, 0.01  # of the optimum


@states(
    "For the same m GIM gains more than RMax.",
    "Fig. 3a, Section 7.2",
    "GIM's score is above RMax's.",
    "fig3",
)
def more_reward(runs: Selection, setting: str) -> Iterator[Part]:
    """At every m of Figure 3."""
    return _gains(runs, "rank 2")


@states(
    "For the same m GIM finishes exploring sooner.",
    "Fig. 3b, Section 7.2, Appendix C.2",
    "GIM's TotalEps is below RMax's.",
    "fig3",
)
def sooner(runs: Selection, setting: str) -> Iterator[Part]:
    """At every m of Figure 3."""
    return _sooner(runs, "rank 2")


@states(
    "For the same m GIM's policy is less than 1 % worse than RMax's.",
    "Figs. 3c and 9, Section 7.2, Appendix C.2",
    f"RMax's PostAvgReward exceeds GIM's by at most {WORSE} of the optimum, in the mean over the "
    "values of m at which every run of both finished.",
    "fig7to9",
)
def slightly_worse(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's PostAvgReward against RMax's, at the values of m at which all runs of both finished."""
    for panel in runs.panels:
        theirs, ours = (runs.sweep(panel, agent, "post_score") for agent in (RMAX, GREEDY))
        ended = np.isfinite(theirs - ours).all(axis=1)
        if ended.any():
            part = at_most(panel, (theirs - ours)[ended].mean(axis=0), WORSE)
            numbers = f"worse by {part.numbers} over {ended.sum()} of {ended.size} values of m"
            yield replace(part, numbers=numbers)
        else:
            yield Part(panel, None, "at no m have all runs of both finished")


@states(
    "A higher m gives less reward within the same episodes.",
    "Fig. 7, Appendix C.2",
    "AvgReward at the smallest m is above that at the largest.",
    "fig7to9",
)
def lower_with_m(runs: Selection, setting: str) -> Iterator[Part]:
    """AvgReward at the smallest and the largest m."""
    for agent in MODEL_BASED:
        for panel in runs.panels:
            low, *_, high = runs.at(panel, agent)
            scores = runs.of(low, "score"), runs.of(high, "score")
            yield greater(f"{agent}, {panel}", *scores, (f"m {low.x:g}", f"m {high.x:g}"))


@states(
    "GIM keeps above 95 % of the optimal reward whatever m.",
    "Fig. 7, Appendix C.2",
    f"GIM's AvgReward at its worst m is above {HIGH}.",
    "fig7to9",
)
def always_high(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's AvgReward at its worst m."""
    for panel in runs.panels:
        worst = best(runs.at(panel, GREEDY), lambda cell: -runs.of(cell, "score"))
        part = at_least(panel, runs.of(worst, "score"), HIGH)
        yield replace(part, numbers=f"{part.numbers} at m {worst.x:g}{_early(runs, worst)}")


@states(
    "GIM's reward is less sensitive to m than RMax's.",
    "Figs. 3a and 7, Section 7.2, Appendix C.2",
    "The largest less the smallest AvgReward over m is smaller for GIM, run by run.",
    "fig7to9",
)
def less_sensitive(runs: Selection, setting: str) -> Iterator[Part]:
    """How far AvgReward moves over m."""
    for panel in runs.panels:
        ours, theirs = (np.ptp(runs.sweep(panel, a, "score"), axis=0) for a in MODEL_BASED)
        yield greater(panel, theirs, ours, (RMAX, GREEDY))


@states(
    "As m grows GIM's exploration grows less than RMax's.",
    "Figs. 3b and 8, Section 7.2, Appendix C.2",
    "TotalEps at the largest m less that at the smallest is smaller for GIM, run by run.",
    "fig7to9",
)
def robust_exploring(runs: Selection, setting: str) -> Iterator[Part]:
    """How far TotalEps moves over m.

    Unfinished runs of RMax at the largest m make its growth a lower bound; no others may.
    """
    for panel in runs.panels:
        (low, *_, high), (first, *_, last) = (runs.at(panel, agent) for agent in MODEL_BASED)
        ours, theirs = (
            runs.of(large, "total_eps") - runs.of(small, "total_eps")
            for small, large in ((low, high), (first, last))
        )
        part = greater(panel, theirs, ours, (RMAX, GREEDY), 0)
        many, done = len(low.trials), runs.finished(last)
        if min(map(runs.finished, (low, high, first))) < many:
            part = Part(panel, None, f"{part.numbers}; not all runs finished")
        elif done < many:
            numbers = f"{part.numbers}; RMax finished in {done} of {many} runs"
            part = Part(panel, part.holds or None, numbers)
        yield part


@states(
    "On grid worlds, too, GIM gains more than RMax for the same m.",
    "Fig. 10, Appendix C.2",
    "GIM's score is above RMax's.",
    "fig10",
)
def grids_gain(runs: Selection, setting: str) -> Iterator[Part]:
    """AvgReward on both grids."""
    for panel in runs.panels:
        yield from _gains(runs, panel, f"{panel}, ")


@states(
    "On grid worlds, too, GIM finishes exploring sooner for the same m.",
    "Fig. 10, Appendix C.2",
    "GIM's TotalEps is below RMax's.",
    "fig10",
)
def grids_sooner(runs: Selection, setting: str) -> Iterator[Part]:
    """TotalEps on both grids."""
    for panel in runs.panels:
        yield from _sooner(runs, panel, f"{panel}, ")


def _gains(runs: Selection, panel: str, where: str = "") -> Iterator[Part]:
    for ours, theirs in zip(runs.at(panel, GREEDY), runs.at(panel, RMAX), strict=True):
        scores = runs.of(ours, "score"), runs.of(theirs, "score")
        part = greater(f"{where}m = {ours.x:g}", *scores, (GREEDY, RMAX))
        yield replace(part, numbers=part.numbers + _early(runs, ours, theirs))


def _sooner(runs: Selection, panel: str, where: str = "") -> Iterator[Part]:
    for ours, theirs in zip(runs.at(panel, GREEDY), runs.at(panel, RMAX), strict=True):
        yield longer(runs, f"{where}m = {ours.x:g}", theirs, ours, (RMAX, GREEDY))


def _early(runs: Selection, *cells: Cell) -> str:
    """The scores of the first episodes of longer runs, as text."""
    if max(cell.trials[0].episodes for cell in cells) <= SHORT:
        return ""
    means = ", ".join(f"{cell.agent} {runs.early(cell, SHORT).mean():.3f}" for cell in cells)
    return f"; first {SHORT:,} episodes: {means}"
