"""What planning is asked, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from gim import planning
from tests.naive_planning import random_tiny, tiny


def test_plan_chooses_by_what_it_is_given():
    mdp = random_tiny(2, S=4)
    assert planning.plan(mdp).method == "backward_induction"
    assert planning.plan(mdp).v.shape == (mdp.horizon, 4)
    assert planning.plan(mdp, horizon=3).v.shape == (3, 4)
    assert planning.plan(mdp, discount=0.9).v.shape == (4,)
    assert planning.plan(random_tiny(2, S=20), 0.9).method == "modified_policy_iteration"
    both = planning.plan(mdp, discount=0.9, horizon=3)
    assert (both.v == planning.backward_induction(mdp, 3, 0.9).v).all()
    mdp.discount = 0.5
    assert planning.plan(mdp).method == "backward_induction"
    own = planning.plan(mdp, method="policy_iteration")
    assert (own.v == planning.policy_iteration(mdp, 0.5).v).all()


MDP = tiny(np.array([[[0.5, 0.5], [0, 0]], [[1, 0], [0, 1.0]]]), [[0, 0], [0, 1]], [[1, 0], [1, 1]])


def induct(P, steps):
    """Backward induction over three steps, into values [steps, S]; there should be four."""
    q, v, policy = np.empty((3, 2, 2)), np.empty((steps, 2)), np.empty((3, 2), int)
    planning.backward_induction_into(P, MDP.rewards, MDP.available, q, v, policy)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planning.plan(MDP, 1.0), r"discount = 1.0 is not in \[0, 1\)"),
        (lambda: planning.plan(MDP, -0.1), r"discount = -0.1 is not in \[0, 1\)"),
        (lambda: planning.plan(MDP, np.nan), r"discount = nan is not in \[0, 1\)"),
        (lambda: planning.plan(MDP, 1.5, horizon=3), r"discount = 1.5 is not in \[0, 1\]"),
        (lambda: planning.evaluate(MDP, [0, 0], discount=1), r"discount = 1 is not in"),
        (lambda: planning.plan(MDP, method="valu_iteration"), "did you mean 'value_iteration'?"),
        (lambda: planning.plan(MDP, method="magic"), "choose from auto, backward_induction"),
        (lambda: planning.plan(MDP, method="value_iteration"), "needs a discount"),
        (lambda: planning.plan(MDP, 0.9, 3, method="value_iteration"), "has no horizon"),
        (lambda: planning.plan(MDP, 0.9, tolerance=0), "tolerance 0 is not positive"),
        (lambda: planning.plan(MDP, horizon=5, max_iter=4), "more than max_iter 4"),
        (lambda: planning.value_iteration(MDP, 0.9, v0=[1]), r"v0 has shape \(1,\), not \(2,\)"),
        (lambda: planning.value_iteration(MDP, 0.9, v0=[1, np.inf]), r"v0\[1\] is inf"),
        (lambda: planning.evaluate(MDP, [0, 2]), r"policy\[1\] = 2 is no action: 0 to 1 are"),
        (lambda: planning.evaluate(MDP, [0, -1]), r"policy\[1\] = -1 is no action"),
        (
            lambda: planning.evaluate(MDP, [1, 0]),
            r"policy\[0\] = 1, but action 1 is not available in state 0: choose from 0",
        ),
        (
            lambda: planning.evaluate(MDP, [[0.5, 0.5], [1, 0]]),
            r"policy\[0, 1\] = 0.5, but action 1 is not available in state 0",
        ),
        (lambda: planning.evaluate(MDP, [[1, 0], [0.5, 0.4]]), r"policy\[1\] sums to 0.9, not 1"),
        (lambda: planning.evaluate(MDP, [[1, 0], [-0.5, 1.5]]), r"policy\[1, 0\] = -0.5 is no"),
        (lambda: planning.evaluate(MDP, [[1, 0], [np.nan, 1]]), "is no probability"),
        (lambda: planning.evaluate(MDP, [0]), r"actions has shape \(1,\), not \(2,\) or \(5, 2\)"),
        (
            lambda: planning.evaluate(MDP, np.zeros((5, 2), int), discount=0.9),
            r"actions has shape \(5, 2\), not \(2,\)",
        ),
        (lambda: planning.expected_visits(MDP, np.ones(2)), r"probabilities has shape \(2,\)"),
        (lambda: planning.diameter(MDP, tolerance=-1), "tolerance -1 is not positive"),
        (lambda: induct(MDP.transitions, steps=3), r"v \(3, 2\).*do not fit"),
        (
            lambda: induct(MDP.transitions[:, :1], steps=4),
            r"P has shape \(2, 1, 2\), not \(2, 2, 2\)",
        ),
        (
            lambda: planning.optimistic_induction_into(
                MDP.transitions,
                MDP.rewards,
                MDP.rewards,
                np.ones(3),
                MDP.available,
                np.empty((3, 2, 2)),
                np.empty((4, 2)),
                np.empty((3, 2), int),
            ),
            r"bonus \(2, 2\)",
        ),
    ],
)
def test_errors_name_the_culprit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planning.evaluate(MDP, ["a", "b"]), "neither actions"),
        (lambda: planning.evaluate(MDP, [True, False]), "neither actions"),
    ],
)
def test_types_are_checked(call, message):
    with pytest.raises(TypeError, match=message):
        call()
