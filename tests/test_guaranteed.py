"""Certificates of the guaranteed kind: interval iteration, and what counts enclose."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gim
from gim.belief.certificate import Aim
from gim.belief.certificate.certificate import _facts
from gim.belief.certificate.guaranteed import enclosed, of_pairs, rewards_within
from gim.model.counts import new_counts
from tests import naive_certificate as naive
from tests.certificates import believed, certificate_of
from tests.sampled_counts import sampled


@pytest.mark.parametrize("least", [0.0, -0.7])
def test_interval_iteration_agrees_with_loops(least):
    mdp = gim.make("shared_factors", S=6, A=3, seed=4, horizon=5)
    mdp = mdp.with_(rewards=mdp.rewards + least)
    counts, N, _ = sampled(mdp, 300, 1)
    counts.n[0, 0] = counts.n[1, 1] = 0
    N[0, 0] = N[1, 1] = 0
    counts.n[2, 0], N[2, 0] = 1, np.eye(6)[0]
    counts.next[:] = N.ravel()
    counts.R[:], counts.R2[:] = counts.n * mdp.rewards, counts.n * mdp.rewards**2
    belief = believed(mdp, counts, infer=None)
    policy = np.asarray(belief.deployed)
    given = _facts(belief, policy, mdp.reward_range)
    least, most = enclosed(given, 0.9)
    visits = np.maximum(counts.n, 1)
    L = np.log(12 * 6 * 3 * 5 * visits * (visits + 1) / 0.1)
    within = rewards_within(given, L)
    slow = naive.enclosed(given, N, policy, 0.9, within)
    assert np.allclose(least, slow[0], atol=1e-9)
    assert np.allclose(most, slow[1], atol=1e-9)


@pytest.mark.parametrize("visits", [30, 30_000])
def test_guarantees_enclose_the_truth_and_shrink(visits):
    for seed in range(4):
        mdp = gim.make("shared_factors", S=5, A=3, seed=seed, horizon=4)
        found = certificate_of(mdp, visits, kind="guaranteed", seed=seed)
        assert found.lower <= mdp.policy_return(found.policy)
        assert found.upper >= mdp.optimal_return()
        assert found.loss == pytest.approx(found.upper - found.lower)
        assert found.useless == (visits == 30)
        assert visits == 30 or found.loss < 0.5 * found.expected


def of_one_action(counts, range_, aim=None, terminal=None):
    """What is counted of a world of one action, all of it available."""
    S, A = counts.n.shape
    mdp = gim.TabularMDP(np.full((S, A, S), 1 / S), np.zeros((S, A)), horizon=2)
    ends = np.zeros(S, bool) if terminal is None else np.array(terminal)
    return _facts(believed(mdp, counts, ends, None, aim=aim), np.full((S, A), 1.0 / A), range_)


def test_after_the_last_step_anything_may_follow_but_after_an_end():
    """Without a horizon: 2 or -1 a step, of half the weight each, and 0 in a state that ends."""
    counts = new_counts(3, 1)
    counts.n[:2] = 1
    counts.next.reshape(3, 3)[:2, 0] = 1
    given = of_one_action(counts, (-1.0, 2.0), Aim(None, 0.5), [False, False, True])
    least, most = enclosed(given, 0.9)
    assert most[-1].tolist() == [4, 4, 0]
    assert least[-1].tolist() == [-2, -2, 0]


def test_rewards_are_enclosed_by_what_was_paid():
    counts = new_counts(3, 1)
    counts.n[:] = [[4], [4], [0]]
    counts.R[:], counts.R2[:] = [[2.0], [2.0], [0.0]], [[1.0], [2.0], [0.0]]
    given = of_one_action(counts, (-1.0, 5.0))
    low, high = rewards_within(given, np.full((3, 1), 0.5))
    assert (low[2, 0], high[2, 0]) == (-1, 5)
    pooled = 4 * 0.25 / 8  # variances 0 and 1/4, four visits each
    assert high[0, 0] == pytest.approx(0.5 + np.sqrt(pooled / 5 / 4) + 6 * 0.5 / 12)
    assert high[1, 0] == pytest.approx(0.5 + np.sqrt((4 * 0.25 + pooled) / 5 / 4) + 6 * 0.5 / 12)
    counts.R2[1] = 1.0
    low, high = rewards_within(given, np.full((3, 1), 0.5))
    assert (low < high)[:2].all()  # six visits that paid as the first: another may not
    counts.n[:2], counts.R[:2], counts.R2[:2] = 60, 30.0, 15.0
    low, high = rewards_within(given, np.full((3, 1), 0.5))
    assert (low == high)[:2].all()


def test_rewards_that_never_differed_are_certain_but_for_rounding():
    """Fifty times what was paid once, thrice with a last bit that is off, and never."""
    counts = new_counts(1, 3)
    counts.n[:] = [[50, 150, 0]]
    counts.R[:] = [[150.0, 15.0, 0.0]]
    counts.R2[:] = [[450.0, 1.5 * (1 + 1e-12), 0.0]]
    low, high = rewards_within(of_one_action(counts, (-1.0, 5.0)), np.ones((1, 3)))
    assert low[0] == pytest.approx([3.0, 0.1, -1.0], abs=1e-12)
    assert high[0] == pytest.approx([3.0, 0.1, 5.0], abs=1e-12)


def test_bounds_of_a_pair_by_hand():
    """Four visits of the first, three to the second state; the model says one in two of it."""
    counts = new_counts(2, 1)
    counts.n[0] = 4
    counts.next[:2] = [1, 3]
    given = of_one_action(counts, (0.0, 1.0))
    model = given.N.astype(float) * 0.0 + np.full((2, 2), 0.5)
    F = np.array([[0.0, 1.0], [2.0, -1.0]])  # two functions of the next state
    value, l1 = of_pairs(given, model, F, 0.9)
    e = math.sqrt(2 * (2 * math.log(2) + math.log(4 * 5 / 0.1)) / 4)
    assert l1 == pytest.approx([e + 0.5, 2.0 + 1.0])  # two distributions are 2 apart at the most
    assert value[:, 0] == pytest.approx([2.0 * e / 2 + 0.5, 2.0 * e / 2 + 0.5])
    counts.n[0], counts.next[:2] = 400, [100, 300]
    value, l1 = of_pairs(of_one_action(counts, (0.0, 1.0)), model, F, 0.9)
    e = math.sqrt(2 * (2 * math.log(2) + math.log(400 * 401 / 0.1)) / 400)
    assert l1[0] == pytest.approx(e + 0.5)
    assert value[:, 0] == pytest.approx(2.0 * e / 2 + 0.5)


@pytest.mark.parametrize("visits", [3, 40, 600])
def test_bounds_of_pairs_hold_whatever_was_inferred(visits):
    mdp = gim.make("shared_factors", S=12, A=8, J=2, seed=2)
    found = certificate_of(mdp, visits, kind="guaranteed")
    off = np.abs(mdp.rows() - found.model.rows()).sum(axis=1).reshape(12, 8)
    assert (off <= found.l1).all()
    true = found.against(mdp)
    assert true.inferred == 0 or true.value == true.l1 == 1.0
