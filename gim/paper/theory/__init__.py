"""The paper's bounds as numbers.

Every bound is stated up to an unknown constant; here it is the parameter `constant`, 1 by default,
so that values compare and scale but promise nothing. `docs/theory.md` lists what they come to on
the tasks, and the steps of the proofs that do not hold as printed; functions whose name ends in
``_repaired`` give what does hold.

S and A are the numbers of states and actions, H the horizon, D the diameter, r, kappa, mu0 and mu1
the suprema over the dynamic matrices (`gim.model.matrices.spectrum`), rho the share of known
pairs, m the visits that make a pair known, beta the share of random actions.

Definitions, theorems and lemmas are numbered by kind in the order of the text: Definition 2 is
sample complexity, 3 incoherence, 4 the mask, 5 rho-known states; Theorem 1 is computation, 2
sample complexity; Lemma 1 counts plans, 2 bounds exploration, 3 is the Simulation Lemma, 4 the
perturbation bound, 5 the theorem of Keshavan, Montanari and Oh.
"""

from gim.paper.theory.costs import (
    Computation,
    PlanningOperations,
    Space,
    computation,
    computation_repaired,
    planning_operations,
    space,
)
from gim.paper.theory.samples import (
    Scenario,
    exploration_bound,
    known_fraction,
    known_threshold,
    known_threshold_worst,
    noise,
    perturbation_bound,
    sample_complexity,
    sample_complexity_rmax,
    sample_complexity_worst,
    scenario,
)
from gim.paper.theory.simulation import (
    Distance,
    average_value,
    distance,
    simulation_bound,
    simulation_bound_repaired,
    value_gap,
)
from gim.paper.theory.table import (
    Row,
    table,
)

__all__ = [
    "Computation",
    "Distance",
    "PlanningOperations",
    "Row",
    "Scenario",
    "Space",
    "average_value",
    "computation",
    "computation_repaired",
    "distance",
    "exploration_bound",
    "known_fraction",
    "known_threshold",
    "known_threshold_worst",
    "noise",
    "perturbation_bound",
    "planning_operations",
    "sample_complexity",
    "sample_complexity_rmax",
    "sample_complexity_worst",
    "scenario",
    "simulation_bound",
    "simulation_bound_repaired",
    "space",
    "table",
    "value_gap",
]
