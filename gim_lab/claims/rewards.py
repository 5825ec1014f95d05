"""Claims about reward and convergence: Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gim_lab.claims.claim import Part, Selection, states
from gim_lab.claims.parts import at_least, below, greater, more
from gim_lab.claims.readings import THREE, Ours, best, others
from gim_lab.experiments.paper.higher_m import HIGHER, name
from gim_lab.experiments.paper.settings import GREEDY, LEARNERS, MODEL_FREE, RANDOM, RMAX, TODAY, Q
from gim_lab.experiments.settings import STRONG

NEAR = 0.95  # of the optimum, what we call near-optimal
SHARE = f"{100 * NEAR:.0f} %"
SLIGHT = 0.1  # of the optimum: how far "slightly worse" may be


@states(
    "GIM gains the most reward on all four tasks.",
    "Fig. 1, Sections 1 and 7.1",
    "GIM's score is above that of the best other learner of the paper.",
    "fig1",
    **THREE,
)
def gains_most(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM against the best other learner of Figure 1."""
    return _against_best(runs, setting, others(setting), LEARNERS[1:])


@states(
    "The policy that GIM returns is near-optimal.",
    "Fig. 1, Section 7.1",
    f"The exact value of its last policy is above {SHARE} of the optimum.",
    "fig1",
    **THREE,
)
def near_optimal(runs: Selection, setting: str) -> Iterator[Part]:
    """The policy that GIM settles on."""
    ours = Ours(runs.results, setting, "fig1")
    for panel in ours.panels:
        yield ours.noted(at_least(panel, ours(panel, "final_score"), NEAR), panel)


@states(
    "RMax finds a near-optimal policy.",
    "Fig. 1, Section 7.1",
    f"The exact value of its last policy is above {SHARE} of the optimum.",
    "fig1",
)
def rmax_near_optimal(runs: Selection, setting: str) -> Iterator[Part]:
    """The policy that RMax settles on."""
    for panel in runs.panels:
        yield at_least(panel, runs(panel, RMAX, "final_score"), NEAR)


@states(
    "Model-free learners are sometimes trapped in local optima.",
    "Fig. 1, Sections 1 and 7.1",
    f"On its worst task the greedy policy at the end is below {SHARE} of the optimum.",
    "fig1",
)
def trapped(runs: Selection, setting: str) -> Iterator[Part]:
    """On some task the last policy of a model-free learner is far from optimal."""
    for agent in MODEL_FREE:
        final = {panel: -runs(panel, agent, "final_score") for panel in runs.panels}
        worst = best(final, final.__getitem__)
        part = below(agent, -final[worst], NEAR)
        yield replace(part, numbers=f"{worst} {part.numbers}")


@states(
    "Random play is the worst that any agent could do.",
    "Section 7.1",
    "The score of each of the five learners is above that of the random agent.",
    "fig1",
)
def above_random(runs: Selection, setting: str) -> Iterator[Part]:
    """No learner of Figure 1 is worse than random play."""
    for panel in runs.panels:
        for agent in LEARNERS:
            yield more(runs, panel, agent, RANDOM, "score", what=f"{panel}, {agent}")


@states(
    "GIM gains more than UCBVI, PSRL and MBIE-EB.",
    "not claimed: the paper's rivals are those of Figure 1",
    "GIM's score is above that of the best of them.",
    "fig1",
    section="Beside learners that the paper did not compare with",
    **THREE,
)
def beats_today(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM against the best learner of the second panel."""
    return _against_best(runs, setting, STRONG, TODAY)


@states(
    "In larger environments GIM does well beside the others.",
    "Fig. 2, Section 7.1",
    "GIM's score is above the mean of the four other learners.",
    "fig2",
)
def scales_up(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM beside the others in larger environments."""
    for panel in runs.panels:
        rest = np.mean([runs(panel, agent, "score") for agent in LEARNERS[1:]], axis=0)
        names = GREEDY, "mean of the others"
        yield greater(panel, runs(panel, GREEDY, "score"), rest, names)


@states(
    "In larger environments with m 100 GIM's policy is slightly worse than Q-learning's.",
    "Fig. 2, Section 7.1",
    "The exact value of Q-learning's last greedy policy is above that of GIM's, by no more than "
    f"{SLIGHT} of the optimum.",
    "fig2",
)
def q_ahead(runs: Selection, setting: str) -> Iterator[Part]:
    """The policies that Q-learning and GIM learn in Figure 2."""
    for panel in runs.panels:
        yield more(runs, panel, Q, GREEDY, "final_score", at_most=SLIGHT)


@states(
    "In larger environments a higher m lifts GIM's rewards.",
    "Section 7.1",
    f"The exact value of its last policy is higher with m {HIGHER[-1]} than with {HIGHER[0]}.",
    "higher_m",
)
def higher_m_lifts(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's policy with four times the m of Figure 2."""
    low, high = name(HIGHER[0]), name(HIGHER[-1])
    for panel in runs.panels:
        names = f"m {HIGHER[-1]}", f"m {HIGHER[0]}"
        part = more(runs, panel, high, low, "final_score", names=names)
        paid = [runs(panel, agent, "score").mean() for agent in (high, low)]
        text = f"{part.numbers}; all episodes {paid[0]:.3f} and {paid[1]:.3f}"
        yield replace(part, numbers=text)


@states(
    "RMax does not converge within 200,000 episodes in larger environments.",
    "Fig. 2, Section 7.1",
    f"The exact value of its last policy is below {SHARE} of the optimum.",
    "fig2",
)
def rmax_not_converged(runs: Selection, setting: str) -> Iterator[Part]:
    """At the end of Figure 2 RMax's policy is not near-optimal."""
    for panel in runs.panels:
        yield below(panel, runs(panel, RMAX, "final_score"), NEAR)


def _against_best(
    runs: Selection, setting: str, under: str, rivals: tuple[str, ...]
) -> Iterator[Part]:
    """Against the rival whose mean is the highest; one that has none might be that."""
    ours, theirs = (
        Ours(runs.results, setting, "fig1"),
        Selection(runs.results, "fig1", under),
    )
    for panel in ours.panels:
        scores = {rival: theirs(panel, rival, "score") for rival in rivals}
        first = best(scores, scores.__getitem__)
        part = greater(panel, ours(panel, "score"), scores[first], (ours.name(panel), first))
        yield ours.noted(part, panel)
