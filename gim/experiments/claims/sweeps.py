"""Claims about the known threshold m: Figures 3 and 7 to 10."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gim.experiments.cells import Cell, ResultsByCell
from gim.experiments.ledger import Claim, Part
from gim.experiments.paper import figure3, figure10, figures7to9
from gim.experiments.paper.settings import GREEDY, RMAX
from gim.experiments.parts import Selection, greater, longer

HIGH, WORSE = 0.95, 0.01  # of the optimum


def more_reward(results: ResultsByCell, setting: str) -> list[Part]:
    """At every m of Figure 3."""
    return _by_m(Selection(results, figure3.cells(results.scale), setting), "rank 2", "score")


def sooner(results: ResultsByCell, setting: str) -> list[Part]:
    """At every m of Figure 3."""
    return _by_m(Selection(results, figure3.cells(results.scale), setting), "rank 2", "total_eps")


def grids(results: ResultsByCell, setting: str) -> list[Part]:
    """Both, on both grids."""
    runs = Selection(results, figure10.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        for measure, what in (("score", "gains more"), ("total_eps", "explores sooner")):
            parts.append(_all(f"{panel}: GIM {what}", _by_m(runs, panel, measure)))
    return parts


def slightly_worse(results: ResultsByCell, setting: str) -> list[Part]:
    """GIM's PostAvgReward against RMax's, on the seeds on which both finished."""
    runs = Selection(results, figures7to9.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        lost, pairs = [], 0
        for ours, theirs in zip(runs.at(panel, GREEDY), runs.at(panel, RMAX), strict=True):
            both = runs.of(theirs, "post_score") - runs.of(ours, "post_score")
            told = both[np.isfinite(both)]
            if 2 * told.size >= both.size:
                lost.append(float(told.mean()))
                pairs += told.size
        if lost:
            numbers = f"worse by {min(lost):+.3f} to {max(lost):+.3f} at {len(lost)} values of m"
            numbers += f", on {pairs} pairs of runs that finished"
            parts.append(Part(panel, max(lost) < WORSE, numbers))
        else:
            parts.append(Part(panel, None, "at no m have both finished on half of the seeds"))
    return parts


def always_high(results: ResultsByCell, setting: str) -> list[Part]:
    """GIM's AvgReward at its worst m."""
    runs = Selection(results, figures7to9.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        means = runs.means(panel, GREEDY, "score")
        numbers = f"from {means.min():.3f} to {means.max():.3f} over m"
        parts.append(Part(panel, bool(means.min() > HIGH), numbers))
    return parts


def less_sensitive(results: ResultsByCell, setting: str) -> list[Part]:
    """How far AvgReward and TotalEps move over m."""
    runs = Selection(results, figures7to9.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        for measure, what, digits in (("score", "AvgReward", 3), ("total_eps", "TotalEps", 0)):
            ours, theirs = (float(np.ptp(runs.means(panel, a, measure))) for a in (GREEDY, RMAX))
            numbers = f"spread over m: GIM {ours:,.{digits}f}, RMax {theirs:,.{digits}f}"
            done = [runs.finished(cell) for a in (GREEDY, RMAX) for cell in runs.at(panel, a)]
            many = len(runs.at(panel, RMAX)[0].trials)
            if measure == "total_eps" and min(done) < many:  # then the means are lower bounds
                numbers += f", at some m with {min(done)} of {many} runs finished"
                parts.append(Part(f"{panel}: {what}", None, numbers))
            else:
                parts.append(Part(f"{panel}: {what}", ours < theirs, numbers))
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


CLAIMS = (
    Claim(
        "more_reward",
        "For the same m GIM gains more than RMax.",
        "Fig. 3a",
        "GIM's score is above RMax's, interval included.",
        ("fig3",),
        more_reward,
    ),
    Claim(
        "sooner",
        "For the same m GIM finishes exploring sooner.",
        "Fig. 3b",
        "GIM's TotalEps is below RMax's, interval included.",
        ("fig3",),
        sooner,
    ),
    Claim(
        "slightly_worse",
        "For the same m GIM's policy is less than 1 % worse than RMax's.",
        "Fig. 3c, Fig. 9",
        "RMax's PostAvgReward is above GIM's by less than 0.01 of the optimum, at every m at "
        "which both finished on at least half of the seeds.",
        ("fig7to9",),
        slightly_worse,
    ),
    Claim(
        "always_high",
        "GIM keeps above 95 % of the optimal reward whatever m.",
        "Fig. 7",
        "GIM's AvgReward at its worst m is above 0.95.",
        ("fig7to9",),
        always_high,
    ),
    Claim(
        "less_sensitive",
        "GIM is less sensitive to m than RMax.",
        "Figs. 3, 7, 8",
        "The spread of the means over m is smaller for GIM.",
        ("fig7to9",),
        less_sensitive,
    ),
    Claim(
        "grids",
        "On grid worlds, too, GIM gains more and explores sooner for the same m.",
        "Fig. 10",
        "As above, at every m.",
        ("fig10",),
        grids,
    ),
)
