"""`run.analogies()`: what was learned, in the user's own words."""

import gymnasium
import numpy as np
import pytest
from scipy import sparse

import gim
from gim.analogy.analogy import Analogy
from gim.belief.analogies import anything, better
from tests.sampled_counts import frame_of, sampled


def told(rule):
    return {tuple(change.items()): chance for change, chance in rule.outcomes}


def test_a_grid_is_named_with_its_slip_after_a_hundred_episodes():
    run = gim.run("analogist", "gridworld:height=8,width=8,horizon=40,slip=0.2", 100, seed=4)
    rules = {rule.action: rule for rule in run.analogies()}
    assert set(rules) == {"up", "down", "left", "right"}
    ways = {"up": ("row", -1), "down": ("row", 1), "left": ("col", -1), "right": ("col", 1)}
    for action, rule in rules.items():
        sides = [way for way in ways.values() if way[0] != ways[action][0]]
        true = {(ways[action],): 0.8} | {(side,): 0.1 for side in sides}
        found = told(rule)
        assert set(found) == set(true)
        assert all(abs(found[change] - chance) < 0.05 for change, chance in true.items())
        assert rule.edges in ((), ("blocked moves stay",))
        assert rule.explained > 0.95
        assert not rule.exceptions
        assert str(rule).startswith(
            f"{action}: {ways[action][0]} {'+' if ways[action][1] > 0 else '-'} 1"
        )
    assert any(rule.edges for rule in rules.values())
    assert sum(rule.support for rule in rules.values()) == run.steps


def test_rows_and_columns_are_read_off_bare_numbers():
    mdp = gim.make("gridworld:height=8,width=8,horizon=40,slip=0.2").with_(variables=None)
    run = gim.run("analogist", mdp, 60, seed=3)
    first = {rule.action: rule.outcomes[0][0] for rule in run.analogies()}
    assert first == {
        "up": {"row": -1},
        "down": {"row": 1},
        "left": {"column": -1},
        "right": {"column": 1},
    }


def test_walls_of_four_rooms_are_listed():
    run = gim.run("analogist", "four_rooms", 200, seed=1)
    mdp, cells = run.mdp, run.mdp.variables
    free = {cells.values(s) for s in range(mdp.S)}
    ways = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    met = run.agent.belief(run.memory).counts.n
    listed = 0
    for rule in run.analogies():
        (dr, dc), listed = ways[rule.action], listed + len(rule.exceptions)
        for s, a in rule.exceptions:
            r, c = cells.values(s)
            assert mdp.action_labels[a] == rule.action
            assert (r + dr, c + dc) not in free  # there is a wall
            assert met[s, a] > 0
    assert listed >= 10


def test_amounts_speak_in_the_units_of_the_user():
    outcomes = []
    for stock in range(0, 120, 10):
        outcomes.append(((stock,), "wait", (max(stock - 10, 0),), 0.7, 1.0))
        outcomes.append(((stock,), "wait", (min(stock + 20, 110),), 0.3, 0.0))
    mdp = gim.from_outcomes(outcomes, start=(50,), horizon=30)
    (rule,) = gim.run("psrl", mdp, 60).analogies()
    assert [change for change, _ in rule.outcomes] == [{"state": -10}, {"state": 20}]
    assert "state - 10 (.7" in str(rule)


def test_environments_speak_in_their_own_numbers():
    env = gymnasium.make("CliffWalking-v1")
    rules = gim.run("analogist", env, 60, horizon=100).analogies()
    assert {rule.action for rule in rules} <= {0, 1, 2, 3, "any action"}
    assert len(rules) >= 4


def test_who_does_not_count_has_no_rules():
    with pytest.raises(ValueError, match=r"q_learning.* counts no transitions"):
        gim.run("q_learning", "riverswim", 5).analogies()


def test_nothing_is_told_of_what_nothing_explains():
    rng = np.random.default_rng(0)
    P = np.zeros((30, 6, 30))  # deterministic and without any order
    P[np.arange(30)[:, None], np.arange(6), rng.integers(30, size=(30, 6))] = 1.0
    run = gim.run("psrl", gim.TabularMDP(P, rng.random((30, 6)), horizon=20), 30)
    assert run.analogies() == []
    assert gim.run("psrl", "riverswim", 1, horizon=1).analogies() == []  # and of what is too little


def test_who_knows_nothing_says_each_state_alike_and_is_no_better_than_itself():
    mdp = gim.make("garnet", S=8, A=3, seed=1)
    counts, _, _ = sampled(mdp, 5)
    split = Analogy().split(counts, frame_of(mdp), np.random.default_rng(0))
    nothing = anything(split)
    # ||p - 1/S||^2 - ||p||^2 = 1/S - 2/S, whatever p is
    assert np.allclose(split.errors(nothing), -1 / 8)
    seen = sparse.csr_array(split.data.rows[split.pairs] / split.n[:, None])
    level = np.zeros(split.pairs.size, np.int64)
    exact = split.read(seen, level, level + np.inf)
    assert better(split, exact, nothing)
    assert not better(split, nothing, exact)
    assert not better(split, nothing, nothing)
