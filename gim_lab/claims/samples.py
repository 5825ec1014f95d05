"""Claims about sample complexity: Definition 2, counted."""

from __future__ import annotations

import math

import numpy as np

from gim_lab.claims.claim import Claim, Part, Selection
from gim_lab.claims.parts import greater
from gim_lab.claims.readings import BESIDES, THREE, Ours
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell
from gim_lab.experiments.paper.framework import COMBINED, completed
from gim_lab.experiments.paper.samples import ALL_KNOWN, EPSILON
from gim_lab.experiments.paper.settings import LEARNERS, MODEL_FREE, RMAX
from gim_lab.experiments.settings import FAIR, KINDEST

COUNT = f"episodes with a policy more than {100 * EPSILON:.0f} % below the optimum (Definition 2)"
SETTLED = 0.05  # of the optimum: how near to its last value a policy must be
MEASURE = "sample_complexity"


class FewerSamples(Claim):
    """GIM's sample complexity against the lowest other one."""

    statement = "GIM has a lower sample complexity than methods that infer nothing."
    source = "Abstract, Sections 1 and 6.2"
    rule = f"Fewer {COUNT} than the best other learner."
    needs = ("samples",)
    settings, besides = THREE, BESIDES

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _fewer(self, results, setting, LEARNERS[1:])


class RmaxLate(Claim):
    """RMax's sample complexity against GIM's."""

    statement = "RMax takes more episodes than GIM to a near-optimal policy."
    source = "Fig. 1, Sections 6.2 and 7.1, Appendix C.2"
    rule = f"More {COUNT} than GIM."
    needs = ("samples",)
    settings, besides = THREE, BESIDES

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        return _fewer(self, results, setting, (RMAX,))


class SavesSamples(Claim):
    """GIM with rho = 1 against RMax."""

    statement = "With ρ = 1, nothing completed, curious walking still saves samples against RMax."
    source = "Sections 5.3 and 6.2"
    rule = f"Fewer {COUNT} than RMax."
    needs = ("samples",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [
            greater(
                panel,
                runs(panel, RMAX, MEASURE),
                runs(panel, ALL_KNOWN, MEASURE),
                (RMAX, ALL_KNOWN),
                0,
            )
            for panel in runs.panels
        ]


class ModelBasedSamples(Claim):
    """RMax against the best model-free learner."""

    statement = "Model-based learners need fewer samples than model-free ones."
    source = "Section 1"
    rule = f"RMax has fewer {COUNT} than the best of the three model-free learners."
    needs = ("samples",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            best, counts = _least(runs, panel, MODEL_FREE)
            parts.append(greater(panel, counts, runs(panel, RMAX, MEASURE), (best, RMAX), 0))
        return parts


class ModelFreeQuick(Claim):
    """Episodes until the policies of model-free learners are what they will be, and RMax's."""

    statement = "Model-free learners converge to a good policy quickly."
    source = "Fig. 1, Section 7.1"
    rule = (
        "Fewer episodes than RMax until the exact value of the policy is first within "
        f"{100 * SETTLED:.0f} % of the optimum of what it is in the end, good or not."
    )
    needs = ("samples",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            late = settled(results, runs.at(panel, RMAX)[0])
            for agent in MODEL_FREE:
                early = settled(results, runs.at(panel, agent)[0])
                parts.append(greater(f"{panel}, {agent}", late, early, (RMAX, agent), 0))
        return parts


class FrameworkSaves(Claim):
    """RMax, MBIE and UCRL2 with completion against themselves."""

    statement = "Completion, put into other model-based learners, saves them samples."
    source = "Sections 1, 5.4 and 8"
    rule = f"Fewer {COUNT} with completion than without."
    needs = ("framework",)
    settings = (FAIR,)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        return [
            greater(
                f"{panel}, {agent}",
                runs(panel, agent, MEASURE),
                runs(panel, completed(agent), MEASURE),
                ("without", "with"),
                0,
            )
            for panel in runs.panels
            for agent in COMBINED
        ]


def settled(results: ResultsByCell, cell: Cell) -> Floats:
    """Episodes until the policy is about as good as in the end, [runs]; NaN: it has no value."""
    episode, values = results.curves(cell, "value")
    near = SETTLED * np.abs(results.values(cell, "optimal_return"))
    found = np.full(len(values), math.nan)
    for i, value in enumerate(values):
        reached = value >= value[-1] - near[i]  # NaN: never
        if reached.any():
            found[i] = episode[np.argmax(reached)]
    return found


def _fewer(
    claim: Claim, results: ResultsByCell, setting: str, rivals: tuple[str, ...]
) -> list[Part]:
    ours = Ours(results, setting, "samples")
    theirs = claim.runs(results, FAIR if setting == KINDEST else setting)
    parts = []
    for panel in ours.panels:
        best, counts = _least(theirs, panel, rivals)
        part = greater(panel, counts, ours(panel, MEASURE), (best, ours.name(panel)), 0)
        parts.append(ours.noted(part, panel))
    return parts


def _least(runs: Selection, panel: str, agents: tuple[str, ...]) -> tuple[str, Floats]:
    """Who has the fewest, on average; one that has no mean might be it."""
    counts = {agent: runs(panel, agent, MEASURE) for agent in agents}
    best = min(counts, key=lambda agent: np.nan_to_num(counts[agent].mean(), nan=-math.inf))
    return best, counts[best]
