"""Claims about rank, mu0, mu1 and kappa: Figures 4 and 11 to 14."""

from __future__ import annotations

import numpy as np

from gim.experiments.cells import ResultsByCell
from gim.experiments.ledger import Claim, Part
from gim.experiments.paper import figure4, figure11, figures12to14
from gim.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim.experiments.parts import Selection, at_least, greater, spread

SLIGHT, MUCH, MUCH_EPISODES = 0.05, 0.05, 0.2  # of the optimum; of the mean TotalEps
EPISODES = f"{100 * MUCH_EPISODES:.0f} %"


def rank_drop(results: ResultsByCell, setting: str) -> list[Part]:
    """From the lowest rank to the highest, AvgReward drops by a little."""
    runs = Selection(results, figure4.cells(results.scale), setting)
    parts = []
    for agent in MODEL_BASED:
        low, *_, high = runs.at("rank", agent)
        a, b = runs.of(low, "score"), runs.of(high, "score")
        part = greater(f"{agent} drops", a, b, (f"rank {low.x:g}", f"rank {high.x:g}"))
        parts.append(part)
        little = float((a - b).mean()) <= SLIGHT
        parts.append(Part(f"{agent}: the drop is slight", little, f"{(a - b).mean():+.3f}"))
    final = runs.of(runs.at("rank", GREEDY)[-1], "final_score")
    return [*parts, at_least("GIM's policy at full rank", final, 0.95)]


def rank_explores(results: ResultsByCell, setting: str) -> list[Part]:
    """TotalEps stays with the rank, PostAvgReward drops."""
    runs = Selection(results, figure11.cells(results.scale), setting)
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


def unchanged(results: ResultsByCell, setting: str) -> list[Part]:
    """The three measures of GIM over each property."""
    runs = Selection(results, figures12to14.cells(results.scale), setting)
    parts = []
    for name in runs.panels:
        for measure in ("score", "post_score"):
            what = f"{name}: {'AvgReward' if measure == 'score' else 'PostAvgReward'}"
            parts.append(spread(what, runs.means(name, GREEDY, measure), MUCH))
        lengths = runs.means(name, GREEDY, "total_eps")
        parts.append(spread(f"{name}: TotalEps", lengths, MUCH_EPISODES, 0, share=True))
    return parts


def ahead(results: ResultsByCell, setting: str) -> list[Part]:
    """GIM against RMax at every value of mu0 and kappa."""
    runs = Selection(results, figure4.cells(results.scale), setting)
    parts = []
    for name in ("mu0", "kappa"):
        for ours, theirs in zip(runs.at(name, GREEDY), runs.at(name, RMAX), strict=True):
            scores = runs.of(ours, "score"), runs.of(theirs, "score")
            parts.append(greater(f"{name} = {ours.x:g}", *scores, (GREEDY, RMAX)))
    return parts


CLAIMS = (
    Claim(
        "rank_drop",
        "Rewards drop slightly as the rank grows; GIM's policy is still good at full rank.",
        "Fig. 4a",
        f"AvgReward drops, interval included, by {SLIGHT} at the most; GIM's last policy has at "
        "least 95 % of the optimum at rank 10.",
        ("fig4",),
        rank_drop,
    ),
    Claim(
        "ahead",
        "GIM is ahead of RMax for every μ₀ and κ.",
        "Fig. 4b, c",
        "GIM's score is above RMax's, interval included.",
        ("fig4",),
        ahead,
    ),
    Claim(
        "rank_explores",
        "With the rank GIM's TotalEps stays, its PostAvgReward drops.",
        "Fig. 11",
        f"TotalEps moves by at most {EPISODES}; PostAvgReward is lower at rank 10, "
        "interval included.",
        ("fig11",),
        rank_explores,
    ),
    Claim(
        "unchanged",
        "GIM does not change much with μ₀, μ₁ and κ.",
        "Figs. 4, 12 to 14",
        f"Means over the sweep differ by at most {MUCH} of the optimum ({EPISODES} in TotalEps).",
        ("fig12to14",),
        unchanged,
    ),
)
