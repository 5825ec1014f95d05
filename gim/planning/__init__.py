"""Exact planning in finite MDPs: the best policy, what a policy is worth, and where it leads.

Imports _compile and what is below. Begin with `choose.py`, which picks the method, then
`finite.py`, backward induction.
"""

from gim.planning.average import AveragePlan, average_plan, gain_and_bias
from gim.planning.choose import plan
from gim.planning.discounted import (
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)
from gim.planning.evaluation import evaluate, expected_visits, first_values
from gim.planning.finite import (
    backward_induction,
    backward_induction_into,
    optimal_values,
    optimistic_induction_into,
)
from gim.planning.graph import diameter, reachable
from gim.planning.inexact import inexact_policy_iteration
from gim.planning.types import Dynamics, Plan

__all__ = [
    "AveragePlan",
    "Dynamics",
    "Plan",
    "average_plan",
    "backward_induction",
    "backward_induction_into",
    "diameter",
    "evaluate",
    "expected_visits",
    "first_values",
    "gain_and_bias",
    "inexact_policy_iteration",
    "modified_policy_iteration",
    "optimal_values",
    "optimistic_induction_into",
    "plan",
    "policy_iteration",
    "reachable",
    "value_iteration",
]
