"""Claims about rank, mu0, mu1 and kappa: Figures 4 and 11 to 14."""

from __future__ import annotations

import numpy as np

from gim.experiments.cells import ResultsByCell
from gim.experiments.claim import Claim, Part
from gim.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim.experiments.parts import at_least, greater, spread, told

SLIGHT, MUCH, MUCH_EPISODES = 0.05, 0.05, 0.2  # of the optimum; of the mean TotalEps
EPISODES = f"{100 * MUCH_EPISODES:.0f} %"


class RankDrop(Claim):
    """From the lowest rank to the highest, AvgReward drops by a little."""

    statement = "Rewards drop slightly as the rank grows; GIM's policy is still good at full rank."
    source = "Fig. 4a"
    rule = (
        f"AvgReward drops, interval included, by {SLIGHT} at the most; GIM's last policy has at "
        "least 95 % of the optimum at rank 10."
    )
    needs = ("fig4",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for agent in MODEL_BASED:
            low, *_, high = runs.at("rank", agent)
            a, b = runs.of(low, "score"), runs.of(high, "score")
            part = greater(f"{agent} drops", a, b, (f"rank {low.x:g}", f"rank {high.x:g}"))
            parts.append(part)
            drop = float((a - b).mean())
            little = told(drop <= SLIGHT, drop)
            parts.append(Part(f"{agent}: the drop is slight", little, f"{drop:+.3f}"))
        final = runs.of(runs.at("rank", GREEDY)[-1], "final_score")
        return [*parts, at_least("GIM's policy at full rank", final, 0.95)]


class Ahead(Claim):
    """GIM against RMax at every value of mu0 and kappa."""

    statement = "GIM is ahead of RMax for every μ₀ and κ."
    source = "Fig. 4b, c"
    rule = "GIM's score is above RMax's, interval included."
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


class RankExplores(Claim):
    """TotalEps stays with the rank, PostAvgReward drops."""

    statement = "With the rank GIM's TotalEps stays, its PostAvgReward drops."
    source = "Fig. 11"
    rule = (
        f"TotalEps moves by at most {EPISODES}; PostAvgReward is lower at rank 10, "
        "interval included."
    )
    needs = ("fig11",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        low, *_, high = runs.at("rank", GREEDY)
        names = (f"rank {low.x:g}", f"rank {high.x:g}")
        posts = runs.of(low, "post_score"), runs.of(high, "post_score")
        lengths = runs.means("rank", GREEDY, "total_eps")
        if not all(map(runs.finished, runs.at("rank", GREEDY))):
            lengths = np.full_like(lengths, np.nan)
        return [
            spread("TotalEps stays", lengths, MUCH_EPISODES, 0, share=True),
            greater("PostAvgReward drops", *posts, names),
        ]


class Unchanged(Claim):
    """The three measures of GIM over each property."""

    statement = "GIM does not change much with μ₀, μ₁ and κ."
    source = "Figs. 4, 12 to 14"
    rule = f"Means over the sweep differ by at most {MUCH} of the optimum ({EPISODES} in TotalEps)."
    needs = ("fig12to14",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for name in runs.panels:
            for measure in ("score", "post_score"):
                what = f"{name}: {'AvgReward' if measure == 'score' else 'PostAvgReward'}"
                parts.append(spread(what, runs.means(name, GREEDY, measure), MUCH))
            lengths = runs.means(name, GREEDY, "total_eps")
            parts.append(spread(f"{name}: TotalEps", lengths, MUCH_EPISODES, 0, share=True))
        return parts
