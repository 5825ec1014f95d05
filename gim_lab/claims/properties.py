"""Claims about rank, mu0, mu1 and kappa: Figures 4 and 11 to 14."""

from __future__ import annotations

import numpy as np

from gim_lab.claims.claim import Claim, Part, Selection
from gim_lab.claims.parts import at_least, between, greater, inside
from gim_lab.experiments.cells import Floats, ResultsByCell
from gim_lab.experiments.figures import LABELS
from gim_lab.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim_lab.experiments.statistics import mean_interval

HIGH, SLIGHT = 0.95, 0.05  # of the optimum
SAME_EPISODES = 0.2  # of the mean TotalEps
MORE, MORE_EPISODES = 0.02, 0.1  # than RMax: of the optimum; of the mean TotalEps
ALONE, ALONE_EPISODES = 0.05, 0.2  # where RMax's runs did not all finish


class RankDrop(Claim):
    """AvgReward at the lowest and at the highest rank."""

    statement = "Rewards of both GIM and RMax drop slightly as the rank grows."
    source = "Fig. 4a, Section 7.2, Appendix C.2"
    rule = f"AvgReward at rank 10 is below that at rank 2, by at most {SLIGHT} of the optimum."
    needs = ("fig4",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for agent in MODEL_BASED:
            low, *_, high = runs.at("rank", agent)
            scores = runs.of(low, "score"), runs.of(high, "score")
            names = f"rank {low.x:g}", f"rank {high.x:g}"
            parts.append(greater(agent, *scores, names, at_most=SLIGHT))
        return parts


class FullRank(Claim):
    """GIM's last policy at the highest rank."""

    statement = "Even at full rank GIM's policy obtains a high reward."
    source = "Fig. 4a, Section 7.2, Appendix C.3"
    rule = f"The exact value of its last policy at rank 10 is above {HIGH} of the optimum."
    needs = ("fig4",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        last = runs.at("rank", GREEDY)[-1]
        return [at_least(f"rank {last.x:g}", runs.of(last, "final_score"), HIGH)]


class Ahead(Claim):
    """GIM against RMax at every value of mu0 and kappa."""

    statement = "GIM is ahead of RMax for every μ₀ and κ."
    source = "Fig. 4b, c, Section 7.2"
    rule = "GIM's score is above RMax's."
    needs = ("fig4",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for name in ("mu0", "kappa"):
            for ours, theirs in zip(runs.at(name, GREEDY), runs.at(name, RMAX), strict=True):
                scores = runs.of(ours, "score"), runs.of(theirs, "score")
                parts.append(greater(f"{name} = {ours.x:g}", *scores, (GREEDY, RMAX)))
        return parts


class RankEpisodes(Claim):
    """TotalEps at the lowest and at the highest rank."""

    statement = "As the rank grows GIM's TotalEps stays."
    source = "Fig. 11, Appendix C.3"
    rule = (
        f"TotalEps at rank 10 is within {100 * SAME_EPISODES:.0f} % of that at rank 2, "
        "interval included."
    )
    needs = ("fig11",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        low, *_, high = runs.at("rank", GREEDY)
        first, last = runs.of(low, "total_eps"), runs.of(high, "total_eps")
        what = f"rank {low.x:g} to {high.x:g}"
        many = len(low.trials)
        if np.isnan(first).any() or min(runs.finished(low), runs.finished(high)) < many:
            return [Part(what, None, "not all runs finished")]
        change = mean_interval((last - first) / first.mean())
        numbers = f"{first.mean():,.0f} to {last.mean():,.0f} episodes, relative "
        return [
            Part(what, inside(change, -SAME_EPISODES, SAME_EPISODES), numbers + between(change, 2))
        ]


class RankPost(Claim):
    """PostAvgReward at the lowest and at the highest rank."""

    statement = "As the rank grows GIM's PostAvgReward drops: it prefers tasks of low rank."
    source = "Figs. 9 and 11, Appendix C.3"
    rule = "PostAvgReward at rank 2 is above that at rank 10."
    needs = ("fig11",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        low, *_, high = runs.at("rank", GREEDY)
        names = f"rank {low.x:g}", f"rank {high.x:g}"
        posts = runs.of(low, "post_score"), runs.of(high, "post_score")
        return [greater(" to ".join(names), *posts, names)]


class Unchanged(Claim):
    """How the three measures change from the lowest to the highest value of each property."""

    statement = "GIM does not change much with μ₀, μ₁ and κ."
    source = "Figs. 4 and 12 to 14, Section 7.2, Appendix C.3"
    rule = (
        "From the lowest to the highest value it changes by no more than RMax does, which infers "
        f"nothing, and {MORE} of the optimum (TotalEps: {100 * MORE_EPISODES:.0f} % of the mean); "
        f"where RMax's runs did not all finish, by at most {ALONE} "
        f"({100 * ALONE_EPISODES:.0f} %)."
    )
    needs = ("fig12to14",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [_no_more(runs, panel, measure) for panel in runs.panels for measure in LABELS]


def _no_more(runs: Selection, panel: str, measure: str) -> Part:
    """GIM's change over a sweep is no larger than RMax's, in absolute terms, by much."""
    what = f"{panel}, {LABELS[measure].split(' ')[0]}"
    ours, theirs = (_change(runs, panel, agent, measure) for agent in MODEL_BASED)
    if np.isnan(ours).any():
        return Part(what, None, "not all runs finished")
    counts = measure == "total_eps"
    digits, margin = (2, MORE_EPISODES) if counts else (3, MORE)
    if np.isnan(theirs).any():
        most, change = ALONE_EPISODES if counts else ALONE, mean_interval(ours)
        return Part(what, inside(change, -most, most), f"GIM alone, {between(change, digits)}")
    # |mean| of one less |mean| of the other, as a mean over runs.
    more = mean_interval(ours * np.sign(ours.mean()) - theirs * np.sign(theirs.mean()))
    text = f"GIM changes by {ours.mean():+.{digits}f}, RMax by {theirs.mean():+.{digits}f}, "
    return Part(what, inside(more, high=margin), f"{text}in size {between(more, digits)}")


def _change(runs: Selection, panel: str, agent: str, measure: str) -> Floats:
    """From the lowest to the highest value, run by run; TotalEps relative to its mean."""
    low, *_, high = runs.at(panel, agent)
    if measure == "total_eps":
        if min(runs.finished(low), runs.finished(high)) < len(low.trials):
            return np.full(len(low.trials), np.nan)
        first, last = runs.of(low, measure), runs.of(high, measure)
        return np.asarray((last - first) / (0.5 * (first.mean() + last.mean())))
    return runs.of(high, measure) - runs.of(low, measure)
