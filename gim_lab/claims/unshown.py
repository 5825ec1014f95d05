"""Claims that no figure shows: the walks, and rho."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gim_lab.claims.claim import Claim, Part, Selection
from gim_lab.claims.parts import greater, longer
from gim_lab.experiments.cells import Floats, ResultsByCell
from gim_lab.experiments.paper import sweep_rho_beta
from gim_lab.experiments.paper.settings import RMAX, TITLES
from gim_lab.experiments.paper.sweep_rho_beta import RELATED, UNRELATED
from gim_lab.experiments.paper.walks import BALANCED, CURIOUS, PUBLISHED, UNIFORM, unevenness
from gim_lab.experiments.settings import AUTHORS, FAIR

BETA = 0.2  # of the paper's experiments
LOOKED_AT = 10  # runs whose known pairs are counted state by state


class FewerSteps(Claim):
    """Curious walking against balanced and uniform wandering, by TotalEps."""

    statement = "Curious walking needs fewer steps to explore than other ways."
    source = "Abstract, Sections 1 and 5.2"
    rule = (
        "Episodes until ρSA pairs are known are fewer. The authors' setting has the walk of the "
        "published code."
    )
    needs = ("walks",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs, ours = self.runs(results, FAIR), _walk(setting)
        parts = []
        for panel in runs.panels:
            for other in (BALANCED, UNIFORM):
                cells = runs.at(panel, other)[0], runs.at(panel, ours)[0]
                parts.append(longer(runs, f"{panel}, {other}", *cells, (other, ours)))
        return parts


class SpreadsEvenly(Claim):
    """How evenly the known pairs are spread over the states when exploration ends."""

    statement = "Curious walking spreads knowledge more evenly over the states."
    source = "Abstract, Section 5.2"
    rule = (
        "When exploration ends, the standard deviation over states of the number of known actions "
        "is lower than with the balanced wandering of E3 and RMax."
    )
    needs = ("walks",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`; computed anew, since the results do not have it."""
        ours, seeds = _walk(setting), results.scale.seeds()[:LOOKED_AT]
        parts = []
        for task, title in TITLES.items():
            names = (BALANCED, ours)
            found = [np.array([unevenness(task, walk, k) for k in seeds]) for walk in names]
            parts.append(greater(title, found[0], found[1], names, 2))
        return parts


class SmallerRho(Claim):
    """GIM's advantage over RMax, from one rho to the next; RMax itself does not depend on it."""

    statement = "GIM's advantage over RMax is larger for smaller ρ."
    source = "Section 5.3"
    rule = "The advantage in score grows with every step down in ρ."
    needs = ("rho_beta",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        cells = runs.at(RELATED, sweep_rho_beta.name(BETA))
        rmax = runs.of(runs.at(RELATED, RMAX)[0], "score")
        parts = []
        for small, large in pairwise(cells):
            gains = runs.of(small, "score") - rmax, runs.of(large, "score") - rmax
            names = (f"advantage at ρ = {small.x:g}", f"at {large.x:g}")
            parts.append(greater(f"from {large.x:g} to {small.x:g}", *gains, names))
        return parts


class RelatedRho(Claim):
    """What a small rho costs the policy at low and at high rank."""

    statement = "The more the dynamics are related, the smaller ρ can be."
    source = "Section 5.3"
    rule = (
        "What GIM's last policy loses against that of the largest ρ with which all runs finished "
        "is smaller at rank 2 than at rank 10."
    )
    needs = ("rho_beta",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        finals = {panel: _finals(runs, panel) for panel in (UNRELATED, RELATED)}
        done = [x for x in finals[RELATED] if all(np.isfinite(f[x]).all() for f in finals.values())]
        if len(done) < 2:
            return [Part("ρ", None, "with hardly any ρ all runs finished")]
        *smaller, most = sorted(done)
        parts = []
        for x in smaller:
            lost = [found[most] - found[x] for found in finals.values()]
            names = f"loss at {UNRELATED}", f"at {RELATED}"
            parts.append(greater(f"ρ = {x:g} instead of {most:g}", lost[0], lost[1], names))
        return parts


def _walk(setting: str) -> str:
    return PUBLISHED if setting == AUTHORS else CURIOUS


def _finals(runs: Selection, panel: str) -> dict[float, Floats]:
    """The value of the last policy at each rho, [runs]."""
    cells = runs.at(panel, sweep_rho_beta.name(BETA))
    return {cell.x: runs.of(cell, "final_score") for cell in cells}
