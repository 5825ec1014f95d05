"""Planning: the best way to act in a known finite MDP, and exact facts about policies."""

from gim.planning.discounted import (
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)
from gim.planning.evaluation import evaluate, expected_visits
from gim.planning.finite import backward_induction, backward_induction_into, optimistic_induction_into
from gim.planning.plan import Dynamics, Plan

try:
    from gim.planning.choose import plan
except ImportError:
    def plan(mdp, discount=None, horizon=None, tolerance=1e-8, **k):
        return backward_induction(mdp, horizon) if discount is None else policy_iteration(mdp, discount, tolerance)
try:
    from gim.planning.graph import diameter, reachable
except ImportError:
    pass
