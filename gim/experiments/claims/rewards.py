"""Claims about reward and convergence: Figures 1 and 2."""

from __future__ import annotations

import math

import numpy as np

from gim.experiments.cells import ResultsByCell
from gim.experiments.claim import Claim, Part, Selection
from gim.experiments.paper.settings import GREEDY, LEARNERS, MODEL_FREE, RMAX, TODAY, Q
from gim.experiments.parts import at_least, greater, longer, told
from gim.experiments.settings import STRONG

NEAR = 0.95  # of the optimum, what we call near-optimal
SHARE = f"{100 * NEAR:.0f} %"


class GainsMost(Claim):
    """GIM against the best other learner of Figure 1."""

    statement = "GIM gains the most reward on all four tasks."
    source = "Fig. 1"
    rule = "GIM's score is above that of the best other learner, interval included."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return _against_best(runs, runs, LEARNERS[1:])


class NearOptimal(Claim):
    """The policy that GIM settles on."""

    statement = "GIM converges to a near-optimal policy."
    source = "Fig. 1"
    rule = f"The exact value of its last policy is at least {SHARE} of the optimum."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [at_least(panel, runs(panel, GREEDY, "final_score"), NEAR) for panel in runs.panels]


class RmaxLate(Claim):
    """RMax's last policy is near-optimal, and it explores for longer than GIM."""

    statement = "RMax finds a near-optimal policy, but late."
    source = "Fig. 1"
    rule = f"Its last policy has at least {SHARE} of the optimum; it explores longer than GIM."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            final = runs(panel, RMAX, "final_score")
            parts.append(at_least(f"{panel}: RMax's policy is near-optimal", final, NEAR))
            cells = runs.at(panel, RMAX)[0], runs.at(panel, GREEDY)[0]
            parts.append(longer(runs, f"{panel}: RMax explores longer", *cells, (RMAX, GREEDY)))
        return parts


class Trapped(Claim):
    """On some task the last policy of a model-free learner is far from optimal."""

    statement = "Model-free learners are sometimes trapped in local optima."
    source = "Fig. 1"
    rule = f"The greedy policy at the end has less than {SHARE} of the optimum on some task."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for agent in MODEL_FREE:
            final = {panel: runs(panel, agent, "final_score").mean() for panel in runs.panels}
            numbers = ", ".join(f"{panel} {mean:.3f}" for panel, mean in final.items())
            holds = told(min(final.values()) < NEAR, list(final.values()))
            parts.append(Part(agent, holds, numbers))
        return parts


class BeatsToday(Claim):
    """GIM against the best learner of the second panel."""

    statement = "GIM outperforms the state of the art (here UCBVI, PSRL and MBIE-EB)."
    source = "Section 1"
    rule = "GIM's score is above that of the best of them, interval included."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _against_best(self.runs(results, setting), self.runs(results, STRONG), TODAY)


class QAhead(Claim):
    """Q-learning gains more than GIM in Figure 2, by no more than a tenth of the optimum."""

    statement = "In larger environments with m 100 Q-learning is slightly ahead of GIM."
    source = "Fig. 2"
    rule = "Q-learning's score is above GIM's, interval included, by 0.1 at the most."
    needs = ("fig2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            ours, theirs = runs(panel, GREEDY, "score"), runs(panel, Q, "score")
            part = greater(panel, theirs, ours, (Q, GREEDY))
            slight = float((theirs - ours).mean()) <= 0.1
            parts.append(Part(panel, part.holds and slight, part.numbers))
        return parts


class RmaxNotConverged(Claim):
    """At the end of Figure 2 RMax's policy is not near-optimal."""

    statement = "RMax does not converge within 200,000 episodes in larger environments."
    source = "Fig. 2"
    rule = f"The exact value of its last policy is below {SHARE} of the optimum."
    needs = ("fig2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            cell = runs.at(panel, RMAX)[0]
            final = float(np.mean(runs.of(cell, "final_score")))
            numbers = f"last policy {final:.3f} of the optimum; exploration finished in "
            numbers += f"{runs.finished(cell)} of {len(cell.trials)} runs"
            parts.append(Part(panel, told(final < NEAR, final), numbers))
        return parts


def _against_best(ours: Selection, theirs: Selection, rivals: tuple[str, ...]) -> list[Part]:
    """Against the rival whose mean is the highest; one that has none might be that."""
    parts = []
    for panel in ours.panels:
        scores = {rival: theirs(panel, rival, "score") for rival in rivals}
        means = {rival: float(each.mean()) for rival, each in scores.items()}
        best = max(means, key=lambda rival: math.inf if math.isnan(means[rival]) else means[rival])
        parts.append(greater(panel, ours(panel, GREEDY, "score"), scores[best], (GREEDY, best)))
    return parts
