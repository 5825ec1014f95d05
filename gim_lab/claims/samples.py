"""Claims about sample complexity: Definition 2, counted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gim_lab.claims.claim import Part, Selection, states
from gim_lab.claims.parts import greater, more
from gim_lab.claims.readings import THREE, Ours, best, others
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell
from gim_lab.experiments.paper.framework import COMBINED, completed
from gim_lab.experiments.paper.samples import ALL_KNOWN, EPSILON
from gim_lab.experiments.paper.settings import LEARNERS, MODEL_FREE, RMAX
from gim_lab.experiments.settings import FAIR

COUNT = f"episodes with a policy more than {100 * EPSILON:.0f} % below the optimum (Definition 2)"
SETTLED = 0.05  # of the optimum: how near to its last value a policy must be
MEASURE = "sample_complexity"


@states(
    "GIM has a lower sample complexity than methods that infer nothing.",
    "Abstract, Sections 1 and 6.2",
    f"Fewer {COUNT} than the best other learner.",
    "samples",
    **THREE,
)
def fewer_samples(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM's sample complexity against the lowest other one."""
    return _fewer(runs, setting, LEARNERS[1:])


@states(
    "RMax takes more episodes than GIM to a near-optimal policy.",
    "Fig. 1, Sections 6.2 and 7.1, Appendix C.2",
    f"More {COUNT} than GIM.",
    "samples",
    **THREE,
)
def rmax_late(runs: Selection, setting: str) -> Iterator[Part]:
    """RMax's sample complexity against GIM's."""
    return _fewer(runs, setting, (RMAX,))


@states(
    "With ρ = 1, nothing completed, curious walking still saves samples against RMax.",
    "Sections 5.3 and 6.2",
    f"Fewer {COUNT} than RMax.",
    "samples",
)
def saves_samples(runs: Selection, setting: str) -> Iterator[Part]:
    """GIM with rho = 1 against RMax."""
    for panel in runs.panels:
        yield more(runs, panel, RMAX, ALL_KNOWN, MEASURE, 0)


@states(
    "Model-based learners need fewer samples than model-free ones.",
    "Section 1",
    f"RMax has fewer {COUNT} than the best of the three model-free learners.",
    "samples",
)
def model_based_samples(runs: Selection, setting: str) -> Iterator[Part]:
    """RMax against the best model-free learner."""
    for panel in runs.panels:
        yield more(runs, panel, _least(runs, panel, MODEL_FREE), RMAX, MEASURE, 0)


@states(
    "Model-free learners converge to a good policy quickly.",
    "Fig. 1, Section 7.1",
    "Fewer episodes than RMax until the exact value of the policy is first within "
    f"{100 * SETTLED:.0f} % of the optimum of what it is in the end, good or not.",
    "samples",
)
def model_free_quick(runs: Selection, setting: str) -> Iterator[Part]:
    """Episodes until the policies of model-free learners are what they will be, and RMax's."""
    for panel in runs.panels:
        late = settled(runs.results, runs.at(panel, RMAX)[0])
        for agent in MODEL_FREE:
            early = settled(runs.results, runs.at(panel, agent)[0])
            yield greater(f"{panel}, {agent}", late, early, (RMAX, agent), 0)


@states(
    "Completion, put into other model-based learners, saves them samples.",
    "Sections 1, 5.4 and 8",
    f"Fewer {COUNT} with completion than without.",
    "framework",
    settings=(FAIR,),
)
def framework_saves(runs: Selection, setting: str) -> Iterator[Part]:
    """RMax, MBIE and UCRL2 with completion against themselves."""
    for panel in runs.panels:
        for agent in COMBINED:
            what, names = f"{panel}, {agent}", ("without", "with")
            yield more(runs, panel, agent, completed(agent), MEASURE, 0, what, names)


def settled(results: ResultsByCell, cell: Cell) -> Floats:
    """Episodes until the policy is about as good as in the end, [runs]; NaN: it has no value."""
    episode, values = results.curves(cell, "value")
    near = SETTLED * np.abs(results.values(cell, "optimal_return"))
    reached = values >= values[:, -1:] - near[:, None]  # NaN: never
    return np.where(reached.any(axis=1), episode[reached.argmax(axis=1)], math.nan)


def _fewer(runs: Selection, setting: str, rivals: tuple[str, ...]) -> Iterator[Part]:
    ours = Ours(runs.results, setting, "samples")
    theirs = Selection(runs.results, "samples", others(setting))
    for panel in ours.panels:
        rival = _least(theirs, panel, rivals)
        names = rival, ours.name(panel)
        part = greater(panel, theirs(panel, rival, MEASURE), ours(panel, MEASURE), names, 0)
        yield ours.noted(part, panel)


def _least(runs: Selection, panel: str, agents: tuple[str, ...]) -> str:
    """Who has the fewest, on average; one that has no mean might be it."""
    rival: str = best(agents, lambda agent: -runs(panel, agent, MEASURE))
    return rival
