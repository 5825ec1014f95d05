"""Claims about reward and convergence: Figures 1 and 2."""

from __future__ import annotations

import math

import numpy as np

from gim_lab.claims.claim import Claim, Part, Selection
from gim_lab.claims.parts import at_least, below, greater
from gim_lab.claims.readings import BESIDES, THREE, Ours
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.paper.higher_m import HIGHER, name
from gim_lab.experiments.paper.settings import GREEDY, LEARNERS, MODEL_FREE, RANDOM, RMAX, TODAY, Q
from gim_lab.experiments.settings import FAIR, KINDEST, STRONG

NEAR = 0.95  # of the optimum, what we call near-optimal
SHARE = f"{100 * NEAR:.0f} %"
SLIGHT = 0.1  # of the optimum: how far "slightly worse" may be


class GainsMost(Claim):
    """GIM against the best other learner of Figure 1."""

    statement = "GIM gains the most reward on all four tasks."
    source = "Fig. 1, Sections 1 and 7.1"
    rule = "GIM's score is above that of the best other learner of the paper."
    needs = ("fig1",)
    settings, besides = THREE, BESIDES

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, _theirs(setting))
        return _against_best(Ours(results, setting, "fig1"), runs, LEARNERS[1:])


class NearOptimal(Claim):
    """The policy that GIM settles on."""

    statement = "The policy that GIM returns is near-optimal."
    source = "Fig. 1, Section 7.1"
    rule = f"The exact value of its last policy is above {SHARE} of the optimum."
    needs = ("fig1",)
    settings, besides = THREE, BESIDES

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        ours = Ours(results, setting, "fig1")
        return [ours.noted(at_least(p, ours(p, "final_score"), NEAR), p) for p in ours.panels]


class RmaxNearOptimal(Claim):
    """The policy that RMax settles on."""

    statement = "RMax finds a near-optimal policy."
    source = "Fig. 1, Section 7.1"
    rule = f"The exact value of its last policy is above {SHARE} of the optimum."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [at_least(panel, runs(panel, RMAX, "final_score"), NEAR) for panel in runs.panels]


class Trapped(Claim):
    """On some task the last policy of a model-free learner is far from optimal."""

    statement = "Model-free learners are sometimes trapped in local optima."
    source = "Fig. 1, Sections 1 and 7.1"
    rule = f"On its worst task the greedy policy at the end is below {SHARE} of the optimum."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for agent in MODEL_FREE:
            final = {panel: runs(panel, agent, "final_score") for panel in runs.panels}
            worst = min(final, key=lambda panel: _or_least(final[panel].mean()))
            part = below(agent, final[worst], NEAR)
            parts.append(Part(agent, part.holds, f"{worst} {part.numbers}"))
        return parts


class AboveRandom(Claim):
    """No learner of Figure 1 is worse than random play."""

    statement = "Random play is the worst that any agent could do."
    source = "Section 7.1"
    rule = "The score of each of the five learners is above that of the random agent."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [
            greater(
                f"{panel}, {agent}",
                runs(panel, agent, "score"),
                runs(panel, RANDOM, "score"),
                (agent, RANDOM),
            )
            for panel in runs.panels
            for agent in LEARNERS
        ]


class BeatsToday(Claim):
    """GIM against the best learner of the second panel."""

    statement = "GIM gains more than UCBVI, PSRL and MBIE-EB."
    source = "not claimed: the paper's rivals are those of Figure 1"
    rule = "GIM's score is above that of the best of them."
    section = "Beside learners that the paper did not compare with"
    needs = ("fig1",)
    settings, besides = THREE, BESIDES

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _against_best(Ours(results, setting, "fig1"), self.runs(results, STRONG), TODAY)


class ScalesUp(Claim):
    """GIM beside the others in larger environments."""

    statement = "In larger environments GIM does well beside the others."
    source = "Fig. 2, Section 7.1"
    rule = "GIM's score is above the mean of the four other learners."
    needs = ("fig2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [
            greater(
                panel,
                runs(panel, GREEDY, "score"),
                np.mean([runs(panel, agent, "score") for agent in LEARNERS[1:]], axis=0),
                (GREEDY, "mean of the others"),
            )
            for panel in runs.panels
        ]


class QAhead(Claim):
    """The policies that Q-learning and GIM learn in Figure 2."""

    statement = (
        "In larger environments with m 100 GIM's policy is slightly worse than Q-learning's."
    )
    source = "Fig. 2, Section 7.1"
    rule = (
        "The exact value of Q-learning's last greedy policy is above that of GIM's, by no more "
        f"than {SLIGHT} of the optimum."
    )
    needs = ("fig2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [
            greater(
                panel,
                runs(panel, Q, "final_score"),
                runs(panel, GREEDY, "final_score"),
                (Q, GREEDY),
                at_most=SLIGHT,
            )
            for panel in runs.panels
        ]


class HigherMLifts(Claim):
    """GIM's policy with four times the m of Figure 2."""

    statement = "In larger environments a higher m lifts GIM's rewards."
    source = "Section 7.1"
    rule = (
        f"The exact value of its last policy is higher with m {HIGHER[-1]} than with {HIGHER[0]}."
    )
    needs = ("higher_m",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        low, high = name(HIGHER[0]), name(HIGHER[-1])
        parts = []
        for panel in runs.panels:
            finals = runs(panel, high, "final_score"), runs(panel, low, "final_score")
            part = greater(panel, *finals, (f"m {HIGHER[-1]}", f"m {HIGHER[0]}"))
            paid = [runs(panel, agent, "score").mean() for agent in (high, low)]
            text = f"{part.numbers}; all episodes {paid[0]:.3f} and {paid[1]:.3f}"
            parts.append(Part(panel, part.holds, text))
        return parts


class RmaxNotConverged(Claim):
    """At the end of Figure 2 RMax's policy is not near-optimal."""

    statement = "RMax does not converge within 200,000 episodes in larger environments."
    source = "Fig. 2, Section 7.1"
    rule = f"The exact value of its last policy is below {SHARE} of the optimum."
    needs = ("fig2",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [below(panel, runs(panel, RMAX, "final_score"), NEAR) for panel in runs.panels]


def _theirs(setting: str) -> str:
    """The setting of the others: a reading of the text is GIM's."""
    return FAIR if setting == KINDEST else setting


def _against_best(ours: Ours, theirs: Selection, rivals: tuple[str, ...]) -> list[Part]:
    """Against the rival whose mean is the highest; one that has none might be that."""
    parts = []
    for panel in ours.panels:
        scores = {rival: theirs(panel, rival, "score") for rival in rivals}
        means = {rival: float(each.mean()) for rival, each in scores.items()}
        best = max(means, key=lambda rival: math.inf if math.isnan(means[rival]) else means[rival])
        part = greater(panel, ours(panel, "score"), scores[best], (ours.name(panel), best))
        parts.append(ours.noted(part, panel))
    return parts


def _or_least(mean: float) -> float:
    """A mean that is missing might be the least."""
    return -math.inf if math.isnan(mean) else mean
