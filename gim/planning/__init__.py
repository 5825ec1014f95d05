"""Exact planning in finite MDPs: the best policy, what a policy is worth, and where it leads."""

from gim.planning.choose import plan
from gim.planning.discounted import (
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)
from gim.planning.evaluation import evaluate, expected_visits
from gim.planning.finite import (
    backward_induction,
    backward_induction_into,
    optimistic_induction_into,
)
from gim.planning.graph import diameter, reachable
from gim.planning.types import Dynamics, Plan

__all__ = [
    "Dynamics",
    "Plan",
    "backward_induction",
    "backward_induction_into",
    "diameter",
    "evaluate",
    "expected_visits",
    "modified_policy_iteration",
    "optimistic_induction_into",
    "plan",
    "policy_iteration",
    "reachable",
    "value_iteration",
]
