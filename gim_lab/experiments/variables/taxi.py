"""Taxi by the published protocol: steps until the plan is optimal from six probes."""

from __future__ import annotations

import numpy as np

from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell
from gim_lab.experiments.plain_learners import BONUSES, SWEEP
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.tables import estimate_of, spoken
from gim_lab.experiments.variables.settings import (
    ANALOGIST,
    TWIN,
    VariablesStudy,
)
from gim_lab.trials.seeds import seeds

LEARNERS = {
    "R-MAX": "rmax:m=1",
    TWIN: SWEEP[BONUSES[0]],
    ANALOGIST: "analogist",
    "factored R-MAX": "factored_rmax:m=1",
    "Met-Rmax": "met_rmax:m=1,trials=1",
    "relocatable R-MAX": "relocatable_rmax:m=1",
}
KNOWN = ", rewards known"  # those who are told them stand beside those who learn them
PUBLISHED = {  # Diuk, Cohen and Littman (2008), mean of 100 runs, rewards known
    "R-MAX": "4,151",
    f"factored R-MAX{KNOWN}": "1,676",
}
EPISODES = {"smoke": 1, "quick": 60, "paper": 100, "full": 100}
EPSILON = 0.1  # any share asks for the measure; the probes themselves are to be exactly optimal


class TaxiProbes(VariablesStudy):
    """Taxi 5x5: steps until the best policy is optimal from the six probes and stays so."""

    place = 114
    title = "Study: Taxi by the published protocol"
    statement = (
        "How many steps does it take until the plan on what is known is optimal from six probe "
        "states, and stays so? Published, with rewards known: R-MAX 4,151, factored R-MAX 1,676, "
        "DOORmax, which is told of objects and relations, 529."
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """All learners on Taxi."""
        n, mine = EPISODES[scale.name], seeds(scale)
        return [
            Cell.of("", "Taxi 5x5", name + more, "taxi", spec, n, mine, 0.0, EPSILON, rewards)
            for name, spec in LEARNERS.items()
            for rewards, more in (("learn", ""), ("known", KNOWN))
        ]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Steps of the runs that came to it, and how many did."""
        rows = []
        for cell in self.cells(results.scale):
            steps = results.values(cell, "probe_steps")
            done = steps[np.isfinite(steps)]
            rows.append(
                [
                    cell.agent,
                    f"{done.size} of {steps.size}",
                    spoken(estimate_of(done), 0),
                    _range(done),
                    PUBLISHED.get(cell.agent, ""),
                ]
            )
        heads = ["learner", "runs that came to it", "steps, mean", "least to most", "published"]
        note = (
            "Looked at every 25 steps. The mean is of the runs that came to it within their "
            "episodes; R-MAX and its kin with m = 1, since nothing is random."
        )
        return self.artefact(
            tables=[Table("Steps until optimal from six probes", heads, rows, note)],
            notes=[
                "The Analogist, told the rewards, reads them as a feature of pairs: that pickup "
                "pays -1 in a few places says where it works. The others do not.",
                "R-MAX was published with rewards known; what is not known of a pair leads to a "
                "heaven whatever its reward, so to know it changes little. In the world of the "
                "publication a passenger can be set down at the destination only, here, as in "
                "Gymnasium, at any depot: then the next passenger depends on the destination, too.",
            ],
        )


def _range(steps: Floats) -> str:
    return f"{steps.min():,.0f} to {steps.max():,.0f}" if steps.size else ""
