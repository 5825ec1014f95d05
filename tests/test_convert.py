"""Ways in: outcomes and step functions."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gim

# -- outcomes


def test_outcomes_by_hand():
    mdp = gim.from_outcomes(
        [
            (0, 0, 1, 0.5, 1.0),
            (0, 0, 1, 0.25, 4.0),  # the same successor again: expectation (0.5 + 1) / 0.75
            (0, 0, 0, 0.25, -1.0),
            (0, 1, 2, 1.0, 7.0),
            (1, 0, 0, 1.0, 0.0),
            (1, 0, 2, 0.0, 99.0),  # never happens
        ],
        terminal=[2],
        horizon=3,
        start=1,
        action_labels=("walk", "jump"),
    )
    assert (mdp.S, mdp.A, mdp.horizon, mdp.sparse) == (3, 2, 3, False)
    assert mdp.transitions[0, 0].tolist() == [0.25, 0.75, 0]
    assert mdp.rewards_next[0, 0].tolist() == [-1, 2, 0]
    assert mdp.rewards[0].tolist() == [1.25, 7]
    assert mdp.available.tolist() == [[True, True], [True, False], [True, True]]
    assert mdp.transitions[1, 1].sum() == 0
    assert mdp.start.tolist() == [0, 1, 0]


def test_rewards_stay_by_pair_where_the_successor_does_not_matter():
    alike = gim.from_outcomes([(0, 0, 0, 0.5, 2), (0, 0, 1, 0.5, 2), (1, 0, 1, 1, 0)])
    assert alike.rewards_next is None
    assert alike.rewards.tolist() == [[2], [0]]


def test_equal_rewards_merge_exactly():
    third = 1 / 3
    mdp = gim.from_outcomes([(0, 0, 0, third, 0.1)] * 3)
    assert mdp.rewards[0, 0] == 0.1


def test_more_states_than_are_met():
    mdp = gim.from_outcomes([(0, 0, 0, 1, 0)], S=3, A=2, terminal=[1, 2])
    assert (mdp.S, mdp.A) == (3, 2)


@pytest.mark.parametrize(("S", "sparse"), [(100, False), (300, True)])
def test_large_tables_are_sparse(S, sparse):
    outcomes = [(s, a, (s + a) % S, 1.0, float(s == a)) for s in range(S) for a in range(2)]
    mdp = gim.from_outcomes(outcomes, horizon=5)
    assert mdp.sparse == sparse
    assert mdp.optimal_return() == mdp.to_dense().optimal_return()
    dense = np.random.default_rng(0).dirichlet(np.ones(S), (S, 2))
    full = [(s, a, t, dense[s, a, t], t) for s, a, t in np.ndindex(dense.shape)]
    assert not gim.from_outcomes(full).sparse  # sparse would be larger


@pytest.mark.parametrize(
    ("outcomes", "options", "message"),
    [
        ([], {}, "must be a list of (s, a, s', p, r)"),
        ([(0, 0, 0, 1)], {}, "must be a list of (s, a, s', p, r)"),
        ([(0, 0, "x", 1, 1)], {}, "must be a list of (s, a, s', p, r)"),
        ([(0, 0, 0, 1, 0), (0, 1, 0.5, 1, 0)], {}, "outcome 1, (0, 1, 0.5, 1, 0), needs whole"),
        ([(0, 0, -1, 1, 0)], {}, "outcome 0, (0, 0, -1, 1, 0), needs whole s, a, s' from 0 on"),
        ([(0, 0, 0, float("nan"), 0)], {}, "holds NaN or an infinite number"),
        ([(0, 0, 0, 1, float("inf"))], {}, "holds NaN or an infinite number"),
        ([(0, 0, 0, -0.5, 0), (0, 0, 0, 1.5, 0)], {}, "has a negative probability"),
        ([(0, 0, 0, 0.7, 0)], {}, "P[0, 0] sums to 0.7, not 1"),
        ([(0, 0, 1, 1, 0)], {}, "state 1 has no available action"),
        ([(0, 0, 0, 1, 0)], {"S": 0}, "state 0 is out of range: S = 0"),
        ([(0, 3, 0, 1, 0)], {"A": 2}, "action 3 is out of range: A = 2"),
    ],
)
def test_bad_outcomes(outcomes, options, message):
    with pytest.raises(ValueError) as error:
        gim.from_outcomes(outcomes, **options)
    assert message in str(error.value)


def test_outcomes_of_named_states_and_actions():
    mdp = gim.from_outcomes(
        [
            ((0, 1), "go", (0, 2), 0.5, 1.0),
            ((0, 1), "go", (0, 1), 0.5, 0.0),
            ((0, 2), "go", (5, 2), 1.0, 3.0),
            ((0, 2), "stop", (0, 2), 1.0, 0.0),
        ],
        start={(0, 2): 1.0},
        terminal=[(5, 2)],
        horizon=4,
    )
    assert mdp.state_labels == ((0, 1), (0, 2), (5, 2))  # as they come
    assert mdp.action_labels == ("go", "stop")
    assert mdp.variables.sizes == (2, 2)
    assert mdp.variables.values(2) == (5, 2)
    assert mdp.action_variables is None
    assert mdp.start.tolist() == [0, 1, 0]
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.available.tolist() == [[True, False], [True, True], [True, True]]
    assert mdp.transitions[0, 0].tolist() == [0.5, 0.5, 0]
    numbers = gim.from_outcomes([("a", (1, 0), "b", 1, 0), ("b", (0, 1), "a", 1, 2)])
    assert numbers.variables is None
    assert numbers.action_variables.names == ("a0", "a1")
    assert numbers.start.tolist() == [1, 0]
    with pytest.raises(ValueError, match="terminal state 'c' is not one of the states given"):
        gim.from_outcomes([("a", 0, "b", 1, 0), ("b", 0, "a", 1, 2)], terminal=["c"])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_outcomes_in_any_order_and_in_pieces(seed):
    """Split every outcome in pieces, shuffle: the same MDP."""
    rng = np.random.default_rng(seed)
    S, A = rng.integers(1, 5, 2)
    P, R = rng.dirichlet(np.ones(S), (S, A)), rng.normal(size=(S, A, S))
    pieces = []
    for s, a, t in np.ndindex(P.shape):
        share = rng.dirichlet(np.ones(3))
        spread = rng.normal(size=3)
        spread -= spread @ share  # of mean 0
        pieces += [
            (s, a, t, P[s, a, t] * w, R[s, a, t] + d) for w, d in zip(share, spread, strict=True)
        ]
    mdp = gim.from_outcomes([pieces[k] for k in rng.permutation(len(pieces))], S=S, A=A)
    assert mdp.transitions == pytest.approx(P, abs=1e-12)
    assert mdp.rewards == pytest.approx((P * R).sum(axis=2), abs=1e-9)


# -- step functions


def test_a_step_function_by_hand():
    def step(place, move):
        if (place, move) == ("shore", "down"):
            return None  # does not exist
        if move == "swim":
            return [(0.5, "deep", 1.0), (0.5, "shore", 0.0)]
        return ((1.0, "bottom", -2.0),)

    mdp = gim.from_step(
        step,
        states=["shore", "deep", "bottom"],
        actions=["swim", "down"],
        start={"shore": 0.25, "deep": 0.75},
        terminal=["bottom"],
        horizon=4,
        name="pool",
    )
    assert mdp.state_labels == ("shore", "deep", "bottom")
    assert mdp.action_labels == ("swim", "down")
    assert mdp.start.tolist() == [0.25, 0.75, 0]
    assert mdp.available.tolist() == [[True, False], [True, True], [True, True]]
    assert mdp.transitions[1, 0].tolist() == [0.5, 0.5, 0]
    assert mdp.rewards_next[1].tolist() == [[0, 1, 0], [0, 0, -2]]
    assert mdp.terminal.tolist() == [False, False, True]
    assert (mdp.name, mdp.horizon) == ("pool", 4)
    assert mdp.optimal_return() == pytest.approx(4 * 0.5)


def test_step_functions_take_any_hashable_state():
    cells = [(i, j) for i in range(3) for j in range(3)]

    def step(cell, move):
        target = (cell[0] + move[0], cell[1] + move[1])
        return [(1.0, target if target in cells else cell, -1.0)]

    mdp = gim.from_step(step, cells, [(0, 1), (1, 0)], start=(1, 1), terminal=[(2, 2)], horizon=9)
    assert mdp.optimal_return() == -2
    assert mdp.state_labels[4] == (1, 1)
    assert mdp.state_label(4) == "(1, 1)"
    assert mdp.variables.names == ("x0", "x1")
    assert mdp.variables.codes.tolist() == [list(cell) for cell in cells]
    assert mdp.action_variables.names == ("a0", "a1")


def test_named_tuples_and_numbers_are_variables():
    Queues = namedtuple("Queues", "left right")
    states = [Queues(i, j) for i in range(3) for j in range(2)]
    mdp = gim.from_step(lambda s, a: [(1.0, s, 0.0)], states, actions=range(0, 30, 10))
    assert mdp.variables.names == ("left", "right")
    assert mdp.variables.state(Queues(2, 1)) == 5
    assert mdp.action_variables.names == ("action",)
    assert [mdp.action_variables.values(a) for a in range(3)] == [(0,), (10,), (20,)]
    shop = gim.from_step(lambda s, a: [(1.0, s, 0.0)], states=range(5, 9), actions=["buy"])
    assert shop.variables.names == ("state",)
    assert shop.variables.values(0) == (5,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": []}, "give at least one state"),
        ({"actions": []}, "give at least one action"),
        ({"states": ["a", "b", "a"]}, "state 'a' stands twice"),
        ({"states": ["a", "c"]}, "next state of step('a', 0) 'b' is not one of the states given"),
        ({"terminal": ["bb"]}, "terminal state 'bb' is not one of the states given: did you mean"),
        ({"start": "z"}, "start 'z' is not one of the states given"),
        ({"start": {"a": 0.5}}, "start sums to 0.5, not 1"),
        ({"step": lambda s, a: [(1.0, "b")]}, "step('a', 0) gave (1.0, 'b'): give (probability,"),
        ({"step": lambda s, a: [(0.5, "b", 0)]}, "P[0, 0] sums to 0.5"),
        ({"step": lambda s, a: None}, "must be a list of"),
    ],
)
def test_bad_step_functions(options, message):
    given = {"step": lambda s, a: [(1.0, "b", 0.0)], "states": ["a", "b"], "actions": [0]}
    with pytest.raises(ValueError) as error:
        gim.from_step(**(given | options))
    assert message in str(error.value)
