"""Claims about reward and convergence: Figures 1 and 2."""

from __future__ import annotations

import numpy as np

from gim.experiments.cells import ResultsByCell
from gim.experiments.ledger import Claim, Part
from gim.experiments.paper import figure1, figure2
from gim.experiments.paper.settings import GREEDY, LEARNERS, MODEL_FREE, RMAX, TODAY, Q
from gim.experiments.parts import Selection, at_least, greater, longer
from gim.experiments.settings import STRONG

NEAR = 0.95  # of the optimum, what we call near-optimal
SHARE = f"{100 * NEAR:.0f} %"


def gains_most(results: ResultsByCell, setting: str) -> list[Part]:
    """GIM against the best other learner of Figure 1."""
    return _against_best(results, setting, setting, LEARNERS[1:])


def beats_today(results: ResultsByCell, setting: str) -> list[Part]:
    """GIM against the best learner of the second panel."""
    return _against_best(results, setting, STRONG, TODAY)


def _against_best(
    results: ResultsByCell, setting: str, others: str, rivals: tuple[str, ...]
) -> list[Part]:
    found = figure1.cells(results.scale)
    ours, theirs = Selection(results, found, setting), Selection(results, found, others)
    parts = []
    for panel in ours.panels:
        scores = {rival: theirs(panel, rival, "score") for rival in rivals}
        best = max(scores, key=lambda rival: float(scores[rival].mean()))
        parts.append(greater(panel, ours(panel, GREEDY, "score"), scores[best], (GREEDY, best)))
    return parts


def near_optimal(results: ResultsByCell, setting: str) -> list[Part]:
    """The policy that GIM settles on."""
    runs = Selection(results, figure1.cells(results.scale), setting)
    return [at_least(panel, runs(panel, GREEDY, "final_score"), NEAR) for panel in runs.panels]


def rmax_late(results: ResultsByCell, setting: str) -> list[Part]:
    """RMax's last policy is near-optimal, and it explores for longer than GIM."""
    runs = Selection(results, figure1.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        final = runs(panel, RMAX, "final_score")
        parts.append(at_least(f"{panel}: RMax's policy is near-optimal", final, NEAR))
        cells = runs.at(panel, RMAX)[0], runs.at(panel, GREEDY)[0]
        parts.append(longer(runs, f"{panel}: RMax explores longer", *cells, (RMAX, GREEDY)))
    return parts


def trapped(results: ResultsByCell, setting: str) -> list[Part]:
    """On some task the last policy of a model-free learner is far from optimal."""
    runs = Selection(results, figure1.cells(results.scale), setting)
    parts = []
    for agent in MODEL_FREE:
        final = {panel: runs(panel, agent, "final_score").mean() for panel in runs.panels}
        numbers = ", ".join(f"{panel} {mean:.3f}" for panel, mean in final.items())
        parts.append(Part(agent, bool(min(final.values()) < NEAR), numbers))
    return parts


def q_ahead(results: ResultsByCell, setting: str) -> list[Part]:
    """Q-learning gains more than GIM in Figure 2, by no more than a tenth of the optimum."""
    runs = Selection(results, figure2.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        ours, theirs = runs(panel, GREEDY, "score"), runs(panel, Q, "score")
        part = greater(panel, theirs, ours, (Q, GREEDY))
        slight = float((theirs - ours).mean()) <= 0.1
        parts.append(Part(panel, part.holds and slight, part.numbers))
    return parts


def rmax_not_converged(results: ResultsByCell, setting: str) -> list[Part]:
    """At the end of Figure 2 RMax's policy is not near-optimal."""
    runs = Selection(results, figure2.cells(results.scale), setting)
    parts = []
    for panel in runs.panels:
        cell = runs.at(panel, RMAX)[0]
        final = float(np.mean(runs.of(cell, "final_score")))
        numbers = f"last policy {final:.3f} of the optimum; exploration finished in "
        numbers += f"{runs.finished(cell)} of {len(cell.trials)} runs"
        parts.append(Part(panel, final < NEAR, numbers))
    return parts


CLAIMS = (
    Claim(
        "gains_most",
        "GIM gains the most reward on all four tasks.",
        "Fig. 1",
        "GIM's score is above that of the best other learner, interval included.",
        ("fig1",),
        gains_most,
    ),
    Claim(
        "near_optimal",
        "GIM converges to a near-optimal policy.",
        "Fig. 1",
        f"The exact value of its last policy is at least {SHARE} of the optimum.",
        ("fig1",),
        near_optimal,
    ),
    Claim(
        "rmax_late",
        "RMax finds a near-optimal policy, but late.",
        "Fig. 1",
        f"Its last policy has at least {SHARE} of the optimum; it explores longer than GIM.",
        ("fig1",),
        rmax_late,
    ),
    Claim(
        "trapped",
        "Model-free learners are sometimes trapped in local optima.",
        "Fig. 1",
        f"The greedy policy at the end has less than {SHARE} of the optimum on some task.",
        ("fig1",),
        trapped,
    ),
    Claim(
        "beats_today",
        "GIM outperforms the state of the art (here UCBVI, PSRL and MBIE-EB).",
        "Section 1",
        "GIM's score is above that of the best of them, interval included.",
        ("fig1",),
        beats_today,
    ),
    Claim(
        "q_ahead",
        "In larger environments with m 100 Q-learning is slightly ahead of GIM.",
        "Fig. 2",
        "Q-learning's score is above GIM's, interval included, by 0.1 at the most.",
        ("fig2",),
        q_ahead,
    ),
    Claim(
        "rmax_not_converged",
        "RMax does not converge within 200,000 episodes in larger environments.",
        "Fig. 2",
        f"The exact value of its last policy is below {SHARE} of the optimum.",
        ("fig2",),
        rmax_not_converged,
    ),
)
