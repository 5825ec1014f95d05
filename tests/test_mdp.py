"""TabularMDP: what enters is checked, what is known of it is exact, ways in and out agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import gim
from gim import TabularMDP
from gim.mdp import tables, validation
from tests.random_mdps import random_mdp

P2 = np.array([[[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.0, 1.0]]])
R2 = np.array([[0.0, 0.0], [0.0, 1.0]])


def changed(array, place, value):
    copy = np.array(array, float)
    copy[place] = value
    return copy


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"transitions": changed(P2, (1, 0, 0), 0.93)}, r"P\[1, 0\] sums to 0.93, not 1: normal"),
        ({"transitions": changed(P2, (0, 1, 1), np.nan)}, r"P\[0, 1, 1\] is NaN"),
        ({"transitions": changed(P2, (0, 1, 1), -0.2)}, r"P\[0, 1, 1\] is negative"),
        ({"transitions": P2[0]}, r"shape \(2, 2\): they need \[S, A, S\]"),
        ({"transitions": np.zeros((0, 2, 0))}, "at least one state"),
        ({"transitions": np.zeros((3, 2, 2))}, 'pass axes="ASS"'),
        ({"transitions": [["a"]]}, "not an array of numbers"),
        ({"rewards": np.zeros((3, 2))}, r"need \(2, 2\) \(by pair\) or \(2, 2, 2\)"),
        ({"rewards": changed(R2, (0, 0), np.inf)}, r"rewards\[0, 0\] is NaN or infinite"),
        ({"start": 2}, "start = 2 is out of range: states are 0 to 1"),
        ({"start": [0.5, 0.6]}, "start sums to 1.1, not 1"),
        ({"start": [0.5, 0.2, 0.3]}, "give a state, or 2 probabilities"),
        ({"horizon": 0}, "horizon = 0"),
        ({"horizon": 2.5}, "horizon = 2.5"),
        ({"discount": 1.2}, "discount = 1.2"),
        ({"terminal": [5]}, "terminal = 5 is out of range"),
        ({"terminal": [1]}, r"state 1 is terminal but P\[1, 0\] leads to 0"),
        (
            {"terminal": [1], "transitions": changed(P2, 1, 0)},
            r"rewards\[1, 1\] = 1 but state 1 is terminal",
        ),
        ({"terminal": [0]}, "state 0 is terminal but an episode may start there"),
        ({"available": [[True, True], [False, False]]}, "state 1 has no available action"),
        ({"available": [1, 0]}, "give bool"),
        ({"noise": -1}, "not below 0"),
        ({"noise": np.ones(3)}, "give a number or"),
        ({"state_labels": ["a"]}, "1 labels for 2"),
        ({"action_labels": ["a", "a"]}, "'a' stands twice"),
        ({"axes": "AS"}, "must be"),
    ],
)
def test_bad_input_is_named_with_place_and_fix(given, message):
    arguments = {"transitions": P2, "rewards": R2} | given
    with pytest.raises(ValueError, match=message):
        TabularMDP(**arguments)


def test_docstring_example():
    assert TabularMDP(P2, R2, horizon=10).optimal_return() == pytest.approx(8.75, abs=5e-7)


def test_sparse_errors_name_the_place():
    rows = sparse.csr_array(changed(P2, (0, 1, 1), -0.2).reshape(4, 2))
    with pytest.raises(ValueError, match=r"P\[0, 1, 1\] is negative"):
        TabularMDP(rows, R2)
    with pytest.raises(ValueError, match=r"S\*A rows"):
        TabularMDP(sparse.csr_array(np.ones((3, 2))), R2)


def test_all_ways_of_writing_the_same_mdp_agree():
    by_next = np.arange(8.0).reshape(2, 2, 2)
    action_first = by_next.transpose(1, 0, 2)
    forms = [
        TabularMDP(P2, by_next),
        TabularMDP(sparse.csr_array(P2.reshape(4, 2)), by_next),
        TabularMDP(P2, sparse.csr_array(by_next.reshape(4, 2))),
        TabularMDP(P2.transpose(1, 0, 2), action_first, axes="ASS"),
        TabularMDP([sparse.csr_array(P2[:, a]) for a in range(2)], action_first, axes="ASS"),
    ]
    for one, two in itertools.pairwise(forms):
        assert np.array_equal(one.to_dense().transitions, two.to_dense().transitions)
        assert np.array_equal(one.rewards, two.rewards)
        assert np.array_equal(one.to_dense().rewards_next, two.to_dense().rewards_next)
    assert forms[0].rewards[0, 1] == pytest.approx(0.2 * 2 + 0.8 * 3)


def test_unavailable_and_terminal_rows_are_made_canonical():
    available = np.array([[True, False], [True, True]])
    P = changed(P2, 1, 0)
    mdp = TabularMDP(P, changed(R2, (1, 1), 0), terminal=[1], available=available, start=0)
    assert not mdp.transitions[0, 1].any()
    assert np.array_equal(mdp.transitions[1], [[0, 1], [0, 1]])
    assert (mdp.plan().policy[:, 0] == 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_exact_facts_agree_with_enumeration(seed):
    mdp = random_mdp(seed, S=3, A=2, horizon=3, terminal=seed % 2 == 0)
    best = -np.inf
    for choice in itertools.product(range(2), repeat=9):
        policy = np.array(choice).reshape(3, 3)
        best = max(best, mdp.policy_return(policy))
    assert mdp.optimal_return() == pytest.approx(best, abs=1e-12)
    visits = mdp.expected_visits(mdp.plan().policy)
    assert visits.shape == (3, 3, 2)
    assert visits.sum() == pytest.approx(3)
    assert (visits * mdp.rewards).sum() == pytest.approx(best, abs=1e-12)
    assert mdp.average_reward(mdp.plan().policy) == pytest.approx(best / 3, abs=1e-12)


def test_score_is_share_of_the_optimum_or_of_the_way_up_from_random():
    mdp = TabularMDP(P2, R2, horizon=10)
    assert mdp.score(np.full(3, mdp.optimal_return())) == pytest.approx(1)
    assert mdp.score([0.0]) == 0
    cost = TabularMDP(P2, R2 - 2, horizon=10)
    assert cost.optimal_return() < 0
    assert cost.score(cost.optimal_return()) == pytest.approx(1)
    assert cost.score(cost.random_return()) == pytest.approx(0)


@pytest.mark.parametrize("seed", range(6))
def test_save_and_load_give_the_same_mdp(tmp_path, seed):
    mdp = random_mdp(seed, S=5, A=3, terminal=True, missing=True, sparse=seed % 2 == 0)
    labels = ["a", 1, (1, "b"), 2.5, "1.0"]
    mdp = mdp.with_(noise=0.1 * (seed % 3), state_labels=labels, info={"seed": seed})
    mdp.save(tmp_path / "my.npz")
    again = gim.load(tmp_path / "my.npz")
    assert again.sparse == mdp.sparse
    for name in ("start", "terminal", "available", "rewards"):
        assert np.array_equal(getattr(again, name), getattr(mdp, name))
    assert (again.rows() != mdp.rows()).nnz == 0
    assert (again.noise is None) == (mdp.noise is None)
    assert again.state_labels == mdp.state_labels == tuple(labels)
    assert again.info == mdp.info
    assert again.horizon == mdp.horizon


def test_reward_range_leaves_out_terminal_and_missing_pairs():
    available = np.array([[True, False], [True, True]])
    mdp = TabularMDP(P2, [[3, 9], [5, 1]], available=available)
    assert mdp.reward_range == (1, 5)


def test_a_packed_mdp_says_that_it_has_no_variables():
    """A reader must not take a file in which they were lost for one that has none."""
    meta = gim.TabularMDP(np.ones((1, 1, 1)), np.zeros((1, 1)), horizon=1, variables=None).pack()[1]
    assert meta["variables"] is None
    assert meta["action_variables"] is None


@pytest.mark.parametrize("zeros", [0.0, 0.4, 0.99])
@pytest.mark.parametrize("block", [1, 50, 1 << 16])
def test_expected_payments_are_those_of_csr_rows_to_the_bit(zeros, block, monkeypatch):
    rng = np.random.default_rng(7)
    P = rng.dirichlet(np.ones(40), (40, 3))
    P[rng.random(P.shape) < zeros] = 0
    paid = rng.normal(size=P.shape)
    monkeypatch.setattr(tables, "BLOCK", block)
    slow = np.asarray(sparse.csr_array((P * paid).reshape(120, 40)).sum(axis=1)).reshape(40, 3)
    assert (tables.expected_payments(paid, P, 40, 3) == slow).all()


def test_faults_of_rows_are_found_in_whatever_block_they_are(monkeypatch):
    monkeypatch.setattr(validation, "BLOCK", 25)
    P = np.random.default_rng(8).dirichlet(np.ones(10), (10, 3))
    for entry, fault in ((-0.25, "negative"), (np.nan, "NaN"), (np.inf, "infinite"), (0.9, "sums")):
        wrong = P.copy()
        wrong[7, 1, 4] = entry
        with pytest.raises(ValueError, match=rf"P\[7, 1.*{fault}"):
            gim.TabularMDP(wrong, np.zeros((10, 3)))
