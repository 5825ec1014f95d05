"""Claims that no figure shows: kappa, rho, rho = 1, and the walks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gim.envs import make
from gim.experiments.cells import ResultsByCell
from gim.experiments.claim import Claim, Part
from gim.experiments.paper import sweep_rho_beta
from gim.experiments.paper.properties import realised
from gim.experiments.paper.settings import RMAX, TITLES
from gim.experiments.parts import greater, longer
from gim.experiments.settings import AUTHORS, FAIR
from gim.experiments.spec import instance
from gim.model.matrices import dynamic_matrices


class FewerSteps(Claim):
    """Curious walking against balanced and uniform wandering, by TotalEps."""

    statement = "Curious walking needs fewer steps to explore than other ways."
    source = "Section 1"
    rule = (
        "Episodes until ρSA pairs are known are fewer, interval included. The authors' setting "
        "has the walk of the published code."
    )
    needs = ("walks",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, FAIR)
        ours = "as published" if setting == AUTHORS else "curious (Alg. 1)"
        parts = []
        for panel in runs.panels:
            for other in ("balanced wandering", "uniform"):
                cells = runs.at(panel, other)[0], runs.at(panel, ours)[0]
                what = f"{panel}: fewer than {other}"
                parts.append(longer(runs, what, *cells, (other, ours)))
        return parts


class SavesSamples(Claim):
    """GIM with rho = 1 against RMax, by Definition 2."""

    statement = "With ρ = 1, nothing completed, curious walking still saves samples against RMax."
    source = "Section 5.2"
    rule = (
        "Fewer episodes with a policy below 90 % of the optimum (Definition 2), interval included."
    )
    needs = ("rho1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        parts = []
        for panel in runs.panels:
            names = (RMAX, "GIM, ρ=1")
            theirs, ours = (runs(panel, agent, "sample_complexity") for agent in names)
            parts.append(greater(panel, theirs, ours, names, 0))
        return parts


class SmallerRho(Claim):
    """GIM's advantage over RMax, from one rho to the next; RMax itself does not depend on it."""

    statement = "GIM's advantage over RMax is larger for smaller ρ."
    source = "Section 4.3"
    rule = "The advantage in score grows with every step down in ρ, interval included."
    needs = ("rho_beta",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        runs = self.runs(results, setting)
        cells = runs.at("Synthetic", sweep_rho_beta.name(0.2))
        parts = []
        for small, large in pairwise(cells):
            rmax = runs.of(runs.at("Synthetic", RMAX)[0], "score")
            gains = runs.of(small, "score") - rmax, runs.of(large, "score") - rmax
            names = (f"advantage at ρ = {small.x:g}", f"at {large.x:g}")
            parts.append(greater(f"from ρ = {large.x:g} to {small.x:g}", *gains, names))
        return parts


class Kappa(Claim):
    """The condition number of the dynamic matrices of the four tasks; no run is needed."""

    statement = "The condition number κ is typically below 2."
    source = "Section 5.2"
    rule = "The median over the dynamic matrices is below 2."
    needs = ("fig1",)

    def check(self, results: ResultsByCell, setting: str) -> list[Part]:
        """See `Claim`."""
        seeds = results.scale.seeds()[:5]
        drawn = [realised(instance("synthetic", k), "kappa") for k in seeds]
        parts = [_kappa("Synthetic, rank 2 (best approximation)", np.array(drawn))]
        for task in ("gridworld", "casinoland", "riverswim"):
            mdp = make(task)
            matrices = dynamic_matrices(mdp.transitions, mdp.rewards)
            sigma = np.linalg.svd(matrices, compute_uv=False)
            kappas = [row[0] / row[row > 1e-9 * row[0]][-1] for row in sigma if row[0] > 0]
            parts.append(_kappa(TITLES[task], np.array(kappas)))
        return parts


def _kappa(what: str, values: np.ndarray) -> Part:
    middle = float(np.median(values))
    return Part(what, middle < 2, f"median {middle:.2f}, largest {values.max():.2f}")
