"""What certificates take for the rewards of pairs: certain, noisy, given, inferred, unknown."""

from __future__ import annotations

import numpy as np
import pytest
from gim.belief.certificate.draws import Rows, join, no_ways
from gim.belief.certificate.dynamics import dynamics
from gim.belief.certificate.judges import Judges, parts_of
from gim.belief.certificate.payments import known, payments
from scipy import sparse

import gim
from gim.analogy.prior import no_prior, prior_of
from gim.belief.knowledge import knowledge_of
from gim.model.counts import new_counts
from gim.model.rewards import by_triple
from tests.certificates import KINDS, facts


def paid(mdp, belief, unlike=None):
    """What is believed of rewards if nothing is said of transitions."""
    given = facts(mdp, belief)
    rows = dynamics(given, None, 1, np.random.default_rng(0)).along
    none = np.zeros((mdp.S, mdp.A), bool)
    return payments(given, rows, none if unlike is None else unlike), rows


def test_rewards_are_certain_noisy_given_inferred_or_unknown():
    mdp = gim.TabularMDP(np.full((4, 2, 4), 0.25), np.zeros((4, 2)))
    counts = new_counts(4, 2)
    counts.n[:, 0], counts.R[:, 0], counts.R2[:, 0] = 4, 2.0, 1.0
    counts.next.reshape(4, 2, 4)[:, 0, 0] = 4
    prior = prior_of(
        np.full((4, 2, 4), 0.25),
        np.ones((4, 2)),
        r=np.full((4, 2), 0.3),
        r_n0=np.array([[0.0, 2.0], [0.0, 2.0], [0.0, 0.0], [np.inf, np.inf]]),
        r_doubt=np.full((4, 2), 0.1),
    )
    unlike = np.zeros((4, 2), bool)
    unlike[1] = True
    belief = knowledge_of(counts, np.zeros(4, bool), prior)
    found, _ = paid(mdp, belief, unlike)
    assert found.mean[1].tolist() == [0.5, 0.3, 0.5, 0.0, 0.5, 0.0, 0.3, 0.3]
    assert not found.sd.any()
    assert not found.by_next.size
    assert found.free.tolist() == [0, 0.1, 0, 1, 0, 1, 0, 0]
    counts.R2[0, 0] = 2.0  # 1, 1, 0, 0 instead of halves
    found, _ = paid(mdp, belief, unlike)
    pooled = 1.0 / 12  # scatter 1 over 16 - 4 degrees of freedom
    assert found.sd[0, 0] == pytest.approx(np.sqrt((1.0 + pooled) / 4 / 4))
    assert found.sd[0, 2] == pytest.approx(np.sqrt(pooled / 4 / 4))
    assert found.sd[1, 1] == pytest.approx(np.sqrt(pooled / 2))
    assert found.sd[1, 7] == 0.0


def test_rewards_kept_by_next_state_have_no_noise_of_their_own():
    run = gim.run("analogist", "gridworld", episodes=300)
    belief, mdp = run.memory.belief, run.mdp
    assert belief.counts.paid.size
    found, rows = paid(mdp, belief)
    assert not found.sd.any()
    goals = np.flatnonzero(mdp.rewards_next.reshape(-1, 16).max(axis=0) > 0)
    met = rows.n > 0
    expected = np.where(np.isin(rows.next[met], goals), 0.8, -0.2)
    assert np.allclose(found.by_next[:, met], expected)
    plain = gim.run("ucbvi", "gridworld", episodes=300)
    found, _ = paid(mdp, plain.memory.belief)
    assert found.by_next.size == 0
    assert found.sd[0].any()


def test_successors_that_are_predicted_pay_what_is_predicted():
    mdp = gim.TabularMDP(np.full((3, 1, 3), 1 / 3), np.zeros((3, 1)))
    counts = new_counts(3, 1, by_triple=True)
    counts.n[0], counts.R[0], counts.R2[0] = 2, 4.0, 8.0
    counts.next[0], counts.paid[0], counts.paid2[0] = 2, 4.0, 8.0
    rows = sparse.csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]]))
    prior = prior_of(
        rows,
        np.ones((3, 1)),
        r=np.full((3, 1), 3.0),
        r_n0=np.array([[1.0], [1.0], [0.0]]),
        r_next=np.array([9.0, 7.0, 6.0, 5.0, 8.0]),
    )
    given = facts(mdp, knowledge_of(counts, np.zeros(3, bool), prior))
    drawn = join(*parts_of(given.judges.all), *parts_of(prior.rows()))
    drawn = Rows(*drawn, np.zeros(3), np.zeros(3), np.ones((1, 3)), 1.0, *no_ways(1, 3))
    found = payments(given, drawn, np.zeros((3, 1), bool))
    assert drawn.next.tolist() == [0, 1, 1, 2, 0]
    assert found.by_next[1].tolist() == [2.0, 7.0, 6.0, 5.0, 0.0]  # met, predicted, nothing told
    assert found.by_next[0].tolist() == [2.0, 2.0, 3.0, 3.0, 2.0]  # of state 0 all were paid 2


def test_a_state_may_pay_what_it_pays_all_who_come_to_it():
    """Nothing is predicted to pay, but the goal paid the one pair that has led to it."""
    mdp = gim.TabularMDP(np.full((4, 1, 4), 0.25), np.zeros((4, 1)))
    counts = new_counts(4, 1, by_triple=True)
    for s, t, n, pays in ((0, 1, 2, 0.0), (0, 3, 3, 1.0), (1, 2, 1, 0.0), (2, 1, 1, 0.0)):
        counts.n[s] += n
        counts.R[s] += n * pays
        counts.R2[s] += n * pays
        for each, many in ((counts.next, n), (counts.paid, n * pays), (counts.paid2, n * pays)):
            each.reshape(4, 4)[s, t] += many
    rows = sparse.csr_array(np.full((4, 4), 0.25))
    one, zero = np.ones((4, 1)), np.zeros(16)
    prior = prior_of(rows, one, r=0 * one, r_n0=one, r_doubt=0.01 * one, r_next=zero)
    given = facts(mdp, knowledge_of(counts, np.zeros(4, bool), prior))
    drawn = join(*parts_of(given.judges.all), *parts_of(prior.rows()))
    drawn = Rows(*drawn, np.zeros(4), np.zeros(4), np.ones((1, 4)), 1.0, *no_ways(1, 4))
    found = payments(given, drawn, np.zeros((4, 1), bool))
    goal = found.by_next.reshape(2, 4, 4)[:, :, 3]
    assert goal.tolist() == [[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    assert not found.by_next.reshape(2, 4, 4)[1, 1:].any()
    assert found.holds[1:3] == pytest.approx(0.5, abs=0.01)  # no triple tells which is right
    assert found.holds[3] == 0.5
    # a second pair that led there was paid as well: now two of two triples say that all are
    counts.n[1], counts.R[1], counts.R2[1] = 2, 1.0, 1.0
    for each in (counts.next, counts.paid, counts.paid2):
        each.reshape(4, 4)[1, 3] = 1
    found = payments(
        given._replace(judges=Judges(given.belief, given.playable)), drawn, np.zeros((4, 1), bool)
    )
    assert found.holds[3] == pytest.approx(1 - 3 / 4)


@pytest.mark.parametrize("world", ["riverswim", "gridworld"])
def test_known_rewards_are_certain(world):
    run = gim.run("ucbvi", world, episodes=100, rewards="known")
    mdp, belief = run.mdp, run.memory.belief
    found, rows = paid(mdp, belief)
    assert not found.sd.any()
    assert not found.free.any()
    if mdp.rewards_next is None:
        assert np.allclose(found.mean, mdp.rewards.ravel())
    else:
        pair = np.repeat(np.arange(mdp.S * mdp.A), np.diff(rows.first))
        met = rows.n > 0
        true = mdp.rewards_next.reshape(-1, mdp.S)[pair[met], rows.next[met]]
        assert np.allclose(found.by_next[:, met], true)
    for kind in KINDS:
        assert gim.certify(run, kind=kind).upper >= mdp.optimal_return()


def test_a_pair_that_led_to_the_better_state_is_no_exception():
    """It paid 2 once, where 2 and 0 are predicted, and 1 on average: what is predicted holds."""
    counts = new_counts(2, 1, by_triple=True)
    counts.n[:], counts.R[:], counts.R2[:] = 1, 2.0, 4.0
    for s in range(2):
        counts.next[2 * s], counts.paid[2 * s], counts.paid2[2 * s] = 1, 2.0, 4.0
    one = np.ones((2, 1))
    prior = prior_of(
        np.full((2, 1, 2), 0.5), one, r=one, r_n0=one, r_doubt=0.1 * one,
        r_next=np.array([2.0, 0.0, 1.0, 0.0]),
    )  # fmt: skip
    mdp = gim.TabularMDP(np.full((2, 1, 2), 0.5), one)
    found, _ = paid(mdp, knowledge_of(counts, np.zeros(2, bool), prior))
    assert found.holds == pytest.approx([1.0, 0.0])  # the other was predicted to pay 1 there


def test_known_rewards_reach_as_far_as_what_no_list_names():
    """One triple is listed and pays 5; all else pays what its pair does, -1 and 9 among it."""
    listed = sparse.csr_array((np.array([5.0]), np.array([1]), np.array([0, 1, 1])), shape=(2, 2))
    found = known(by_triple(listed, [[-1.0], [9.0]]), no_rows())
    assert (found.low, found.high) == (-1.0, 9.0)
    assert found.pays.tolist() == [-1.0, 9.0]


def no_rows():
    """Nothing is believed of transitions."""
    mdp = gim.TabularMDP(np.full((2, 1, 2), 0.5), np.zeros((2, 1)), horizon=2)
    belief = knowledge_of(new_counts(2, 1), np.zeros(2, bool), no_prior(2, 1))
    return dynamics(facts(mdp, belief), None, 1, np.random.default_rng(0)).along
