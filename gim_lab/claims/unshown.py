"""Claims that no figure shows: the walks, and rho."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gim_lab.claims.claim import Part, Selection, states
from gim_lab.claims.parts import greater, longer
from gim_lab.experiments.paper import sweep_rho_beta
from gim_lab.experiments.paper.settings import RMAX, TITLES
from gim_lab.experiments.paper.sweep_rho_beta import RELATED, UNRELATED
from gim_lab.experiments.paper.walks import BALANCED, CURIOUS, PUBLISHED, UNIFORM, unevenness
from gim_lab.experiments.settings import AUTHORS, FAIR

RHOS = sweep_rho_beta.name(0.2)  # GIM with the β of the paper's experiments, over ρ
LOOKED_AT = 10  # runs whose known pairs are counted state by state


@states(
    "Curious walking needs fewer steps to explore than other ways.",
    "Abstract, Sections 1 and 5.2",
    "Episodes until ρSA pairs are known are fewer. The authors' setting has the walk of the "
    "published code.",
    "walks",
)
def fewer_steps(runs: Selection, setting: str) -> Iterator[Part]:
    """Curious walking against balanced and uniform wandering, by TotalEps."""
    runs, ours = Selection(runs.results, "walks", FAIR), _walk(setting)
    for panel in runs.panels:
        for other in (BALANCED, UNIFORM):
            cells = runs.at(panel, other)[0], runs.at(panel, ours)[0]
            yield longer(runs, f"{panel}, {other}", *cells, (other, ours))


@states(
    "Curious walking spreads knowledge more evenly over the states.",
    "Abstract, Section 5.2",
    "When exploration ends, the standard deviation over states of the number of known actions is "
    "lower than with the balanced wandering of E3 and RMax.",
    "walks",
)
def spreads_evenly(runs: Selection, setting: str) -> Iterator[Part]:
    """How evenly known pairs are spread in the end; computed anew, since no result has it."""
    names, seeds = (BALANCED, _walk(setting)), runs.results.scale.seeds()[:LOOKED_AT]
    for task, title in TITLES.items():
        before, now = (np.array([unevenness(task, walk, k) for k in seeds]) for walk in names)
        yield greater(title, before, now, names, 2)


@states(
    "GIM's advantage over RMax is larger for smaller ρ.",
    "Section 5.3",
    "The advantage in score grows with every step down in ρ.",
    "rho_beta",
)
def smaller_rho(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's advantage over RMax, from one rho to the next; RMax itself does not depend on it."""
    rmax = runs.of(runs.at(RELATED, RMAX)[0], "score")
    for small, large in pairwise(runs.at(RELATED, RHOS)):
        gains = runs.of(small, "score") - rmax, runs.of(large, "score") - rmax
        names = (f"advantage at ρ = {small.x:g}", f"at {large.x:g}")
        yield greater(f"from {large.x:g} to {small.x:g}", *gains, names)


@states(
    "The more the dynamics are related, the smaller ρ can be.",
    "Section 5.3",
    "What GIM's last policy loses against that of the largest ρ with which all runs finished is "
    "smaller at rank 2 than at rank 10.",
    "rho_beta",
)
def related_rho(runs: Selection, setting: str) -> Iterator[Part]:
    """What a small rho costs the policy at low and at high rank."""
    finals = [
        {cell.x: runs.of(cell, "final_score") for cell in runs.at(panel, RHOS)}
        for panel in (UNRELATED, RELATED)
    ]
    done = sorted(x for x in finals[1] if all(np.isfinite(found[x]).all() for found in finals))
    if len(done) < 2:
        yield Part("ρ", None, "with hardly any ρ all runs finished")
    for x in done[:-1]:
        low, high = (found[done[-1]] - found[x] for found in finals)
        names = f"loss at {UNRELATED}", f"at {RELATED}"
        yield greater(f"ρ = {x:g} instead of {done[-1]:g}", low, high, names)


def _walk(setting: str) -> str:
    return PUBLISHED if setting == AUTHORS else CURIOUS
