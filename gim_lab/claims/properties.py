"""Claims about rank, mu0, mu1 and kappa: Figures 4 and 11 to 14."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gim_lab.claims.claim import Part, Selection, states
from gim_lab.claims.parts import at_least, between, greater, inside
from gim_lab.experiments.cells import Floats
from gim_lab.experiments.figures import LABELS
from gim_lab.experiments.paper.settings import GREEDY, MODEL_BASED, RMAX
from gim_lab.experiments.statistics import mean_interval

HIGH, SLIGHT = 0.95, 0.05  # of the optimum
SAME_EPISODES = 0.2  # of the mean TotalEps
MORE, MORE_EPISODES = 0.02, 0.1  # than RMax: of the optimum; of the mean TotalEps
ALONE, ALONE_EPISODES = 0.05, 0.2  # where RMax's runs did not all finish


@states(
    "Rewards of both GIM and RMax drop slightly as the rank grows.",
    "Fig. 4a, Section 7.2, Appendix C.2",
    f"AvgReward at rank 10 is below that at rank 2, by at most {SLIGHT} of the optimum.",
    "fig4",
)
def rank_drop(runs: Selection, setting: str) -> Iterator[Part]:
    """AvgReward at the lowest and at the highest rank."""
    for agent in MODEL_BASED:
        low, *_, high = runs.at("rank", agent)
        scores = runs.of(low, "score"), runs.of(high, "score")
        names = f"rank {low.x:g}", f"rank {high.x:g}"
        yield greater(agent, *scores, names, at_most=SLIGHT)


@states(
    "Even at full rank GIM's policy obtains a high reward.",
    "Fig. 4a, Section 7.2, Appendix C.3",
    f"The exact value of its last policy at rank 10 is above {HIGH} of the optimum.",
    "fig4",
)
def full_rank(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's last policy at the highest rank."""
    last = runs.at("rank", GREEDY)[-1]
    yield at_least(f"rank {last.x:g}", runs.of(last, "final_score"), HIGH)


@states(
    "GIM is ahead of RMax for every μ₀ and κ.",
    "Fig. 4b, c, Section 7.2",
    "GIM's score is above RMax's.",
    "fig4",
)
def ahead(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM against RMax at every value of mu0 and kappa."""
    for name in ("mu0", "kappa"):
        for ours, theirs in zip(runs.at(name, GREEDY), runs.at(name, RMAX), strict=True):
            scores = runs.of(ours, "score"), runs.of(theirs, "score")
            yield greater(f"{name} = {ours.x:g}", *scores, (GREEDY, RMAX))


@states(
    "As the rank grows GIM's TotalEps stays.",
    "Fig. 11, Appendix C.3",
    f"TotalEps at rank 10 is within {100 * SAME_EPISODES:.0f} % of that at rank 2, interval "
    "included.",
    "fig11",
)
def rank_episodes(runs: Selection, setting: str) -> Iterator[Part]:
    """TotalEps at the lowest and at the highest rank."""
    low, *_, high = runs.at("rank", GREEDY)
    first, last = runs.of(low, "total_eps"), runs.of(high, "total_eps")
    what = f"rank {low.x:g} to {high.x:g}"
    if np.isnan(first).any() or min(runs.finished(low), runs.finished(high)) < len(low.trials):
        yield Part(what, None, "not all runs finished")
        return
    change = mean_interval((last - first) / first.mean())
    numbers = f"{first.mean():,.0f} to {last.mean():,.0f} episodes, relative {between(change, 2)}"
    yield Part(what, inside(change, -SAME_EPISODES, SAME_EPISODES), numbers)


@states(
    "As the rank grows GIM's PostAvgReward drops: it prefers tasks of low rank.",
    "Figs. 9 and 11, Appendix C.3",
    "PostAvgReward at rank 2 is above that at rank 10.",
    "fig11",
)
def rank_post(runs: Selection, setting: str) -> Iterator[Part]:
    """PostAvgReward at the lowest and at the highest rank."""
    low, *_, high = runs.at("rank", GREEDY)
    names = f"rank {low.x:g}", f"rank {high.x:g}"
    posts = runs.of(low, "post_score"), runs.of(high, "post_score")
    yield greater(" to ".join(names), *posts, names)


@states(
    "GIM does not change much with μ₀, μ₁ and κ.",
    "Figs. 4 and 12 to 14, Section 7.2, Appendix C.3",
    "From the lowest to the highest value it changes by no more than RMax does, which infers "
    f"nothing, and {MORE} of the optimum (TotalEps: {100 * MORE_EPISODES:.0f} % of the mean); "
    f"where RMax's runs did not all finish, by at most {ALONE} ({100 * ALONE_EPISODES:.0f} %).",
    "fig12to14",
)
def unchanged(runs: Selection, setting: str) -> Iterator[Part]:
    """How the three measures change from the lowest to the highest value of each property."""
    for panel in runs.panels:
        for measure in LABELS:
            yield _no_more(runs, panel, measure)


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
    first, last = runs.of(low, measure), runs.of(high, measure)
    if measure != "total_eps":
        return last - first
    if min(runs.finished(low), runs.finished(high)) < len(low.trials):
        return np.full(len(low.trials), np.nan)
    return np.asarray((last - first) / (0.5 * (first.mean() + last.mean())))
