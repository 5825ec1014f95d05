"""Active analogy: the gain by the letter, the walk by hand, the same bits however it runs."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim._compile.jit import plain
from gim.analogy.base import no_prior, prior_of
from gim.belief.knowledge import knowledge_of
from gim.mdp.tabular import TabularMDP
from gim.model.counts import new_counts, new_known
from gim.paper.walks import active
from gim.paper.walks.active import Active, Walk, collect, gains, reduction, worth
from gim.paper.walks.base import new_choices
from gim.runs.agent import agents
from gim.testing import check_agent


def trace(K, alone, n):
    """The trace of the posterior covariance in one case, as the docstring of the rule has it."""
    return np.trace(np.linalg.inv(np.linalg.inv(K + np.diag(1 / alone)) + np.diag(n)))


@pytest.mark.parametrize("seed", range(5))
def test_a_gain_is_what_one_more_visit_takes_from_the_variance(seed):
    rng = np.random.default_rng(seed)
    B, X = 3, 6
    factors = rng.normal(size=(X, 2))
    K, alone = factors @ factors.T, rng.uniform(1, 50, (B, X))
    n = rng.integers(0, 9, (B, X))
    found = reduction(K, alone, n)
    for b in range(B):
        for x in range(X):
            more = trace(K, alone[b], n[b]) - trace(K, alone[b], n[b] + (np.arange(X) == x))
            assert found[b, x] == pytest.approx(more, rel=1e-8)


def test_tables_up_to_the_limit_are_taken(monkeypatch):
    given = new_counts(3, 2), new_known(np.ones((3, 2), bool), 1, 1.0), 0.0
    monkeypatch.setattr(active, "DENSE_LIMIT", 18)
    assert Active().start(*given, np.random.default_rng(0)).choices is not None
    monkeypatch.setattr(active, "DENSE_LIMIT", 17)
    with pytest.raises(ValueError, match="tables of 18 numbers: use planned"):
        Active().start(*given, np.random.default_rng(0))


def test_what_is_said_of_pairs_that_it_is_worth_nothing_for_does_not_count():
    rng = np.random.default_rng(3)
    n, n0 = rng.integers(0, 5, (4, 3)), rng.integers(1, 9, (4, 3)).astype(float)
    q, other = rng.dirichlet(np.ones(4), (2, 4, 3))
    n0[1, 2] = n0[3, 0] = 0.0
    other[n0 > 0] = q[n0 > 0]
    found = [gains(n, each, n0, np.full((4, 3), 2.0)) for each in (q, other)]
    assert np.array_equal(*found)


def test_gains_add_what_is_told_of_the_action_and_of_the_state():
    rng = np.random.default_rng(1)
    S, A = 5, 4
    q, n0 = rng.dirichlet(np.ones(S), (S, A)), rng.uniform(1, 30, (S, A))
    n = rng.integers(0, 6, (S, A))
    f = (q - q.mean(axis=(0, 1))) / np.sqrt(1 - (q**2).sum(axis=2).mean())
    states = sum(f[:, a] @ f[:, a].T for a in range(A)) / A
    actions = sum(f[s] @ f[s].T for s in range(S)) / S
    found = gains(n, q, n0, n0)
    for s in range(S):
        for a in range(A):
            here, there = np.arange(S) == s, np.arange(A) == a
            of_action = trace(states, n0[:, a], n[:, a]) - trace(states, n0[:, a], n[:, a] + here)
            of_state = trace(actions, n0[s], n[s]) - trace(actions, n0[s], n[s] + there)
            assert found[s, a] == pytest.approx(of_action + of_state, rel=1e-8)


def test_where_nothing_is_inferred_the_pair_met_least_gains_most():
    n = np.array([[0, 1, 5], [2, 9, 30]])
    alone = np.ones((2, 3))
    found = gains(n, np.zeros((2, 3, 2)), np.zeros((2, 3)), alone)
    assert found == pytest.approx(2 / ((n + 1.0) * (n + 2.0)))  # 1/(n+1) - 1/(n+2), in both views


def test_a_pair_from_which_others_are_inferred_gains_more():
    """States 0 to 3 behave alike, state 4 like none: met equally often, the four tell more."""
    S, A = 5, 2
    kinds = np.array([[0.8, 0.1, 0.1, 0, 0], [0.1, 0.8, 0.1, 0, 0]])
    q = np.empty((S, A, S))
    q[:4] = kinds
    q[4] = q[:4].mean(axis=(0, 1))
    found = gains(np.full((S, A), 3), q, np.full((S, A), 20.0), np.full((S, A), 20.0))
    assert found[:4].min() > 1.2 * found[4].max()


def test_collected_gain_is_the_discounted_value():
    """A gain of 1 two certain steps away: 0.9^2 here; an unknown pair leads to the best state."""
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[1, 0, 2] = P[2, 0, 0] = P[:, 1, 0] = 1.0
    gain = np.zeros((3, 2))
    gain[2, 0] = 1.0
    available, blank = np.ones((3, 2), bool), np.zeros((3, 2), bool)
    value, later = collect(P, gain, available, blank, 0.9)
    lap = 1 / (1 - 0.9**3)
    assert value == pytest.approx(lap * np.array([0.81, 0.9, 1.0]), rel=0.02)
    assert later[0, 0] > later[0, 1]
    blank[0, 1] = True
    value, later = collect(P, gain, available, blank, 0.9)
    assert later[0, 1] == pytest.approx(0.9 * value.max(), rel=0.02)


def corridor(length=6):
    """Steps right are certain, and so is the way back to the start from anywhere."""
    P = np.zeros((length, 2, length))
    P[:, 0, 0] = 1.0
    P[np.arange(length), 1, np.minimum(np.arange(length) + 1, length - 1)] = 1.0
    return TabularMDP(P, np.zeros((length, 2)), start=0, horizon=10, name="corridor")


def test_it_walks_to_the_end_of_a_corridor_that_balanced_wandering_never_sees():
    visits = {}
    for walk in ("active", "balanced"):
        agent = gim.TwoPhase(40, 0.8, 0.0, exploration=walk, learn_on=False, budget=120)
        run = gim.run(agent, corridor(), 15, seed=0)
        visits[walk] = run.memory.belief.counts.n
    assert visits["active"].min() >= 2
    assert visits["balanced"][-1].sum() < visits["active"][-1].sum() / 2


def test_known_pairs_are_no_goals_and_nothing_to_reach_is_a_stall():
    counts, known = new_counts(2, 2), new_known(np.ones((2, 2), bool), 1, 1.0)
    counts.n[:], known.mask[:] = 1, True
    counts.next[:] = 0.5
    walk = Active().start(counts, known, 0.0, np.random.default_rng(0))
    belief = knowledge_of(counts, known.terminal, no_prior(0, 0))
    assert not Active().plan(walk, belief, known)
    known.mask[1, 0] = False
    assert Active().plan(walk, belief, known)
    assert walk.gain[1, 0] > 0
    assert np.count_nonzero(walk.gain) == 1


def test_the_plan_uses_what_is_inferred():
    """Of two actions never tried, the inference says that one leads to the state with gain."""
    S, A = 3, 2
    q = np.zeros((S, A, S))
    q[:, 0, 1], q[:, 1, 2] = 1.0, 1.0
    counts, known = new_counts(S, A), new_known(np.ones((S, A), bool), 40, 1.0)
    counts.n[1], counts.next.reshape(S, A, S)[1, :, 1] = 30, 30
    walk = Active().start(counts, known, 0.0, np.random.default_rng(0))
    prior = prior_of(q, np.full((S, A), 5.0))
    assert Active().plan(walk, knowledge_of(counts, known.terminal, prior), known)
    assert walk.later[0, 1] > walk.later[0, 0]


def planned(visits, doubt=0.0, n0=5.0):
    """A plan where all pairs are said to lead to the first state, and (1, 0) was seen not to."""
    S, A = 3, 2
    q = np.zeros((S, A, S))
    q[:, :, 0] = 1.0
    counts, known = new_counts(S, A), new_known(np.ones((S, A), bool), 40, 1.0)
    counts.n[1, 0], counts.next.reshape(S, A, S)[1, 0, 2] = visits, visits
    walk = Active().start(counts, known, 0.0, np.random.default_rng(0))
    prior = prior_of(q, np.full((S, A), n0), doubt=np.full((S, A), doubt))
    with np.errstate(all="raise"):
        Active().plan(walk, knowledge_of(counts, known.terminal, prior), known)
    return walk


def test_visits_that_contradict_a_doubted_prediction_overrule_it():
    """(1, 0) has led to state 2 four times: it is worth its own visits, as if nothing were said."""
    believed, doubted = planned(4), planned(4, doubt=0.1)
    assert believed.base[1, 0] == 4 + 5
    assert 4 + 1 <= doubted.base[1, 0] < 4 + 1.01
    assert doubted.gain[1, 0] > believed.gain[1, 0]
    assert believed.base[0, 0] == 5
    assert doubted.base[0, 0] == pytest.approx(0.9 * 5)  # nothing was met: the doubt alone


def test_a_prediction_that_replaces_data_leaves_nothing_to_ask():
    walk = planned(4, n0=np.inf)
    assert not walk.gain.any()
    assert not walk.later.any()
    assert np.isfinite(walk.base).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "word",
    ["two_phase:exploration=active,budget=150", "gim:m=3,exploration=active(gamma=0.8)"],
)
def test_same_bits_compiled_plain_stepwise_and_resumed(word):
    check_agent(agents.make(word))


def test_bad_words_are_named():
    with pytest.raises(ValueError, match=r"gamma = 2\.0: must be at most"):
        agents.make("gim:exploration=active(gamma=2)")
    with pytest.raises(ValueError, match="did you mean 'active'"):
        agents.make("gim:exploration=activ")
    with pytest.raises(ValueError, match="no parameter 'horizon'"):
        agents.make("gim:exploration=active(horizon=3)")


def test_what_a_pair_is_worth_falls_with_its_visits_since_the_plan():
    rng = np.random.default_rng(2)
    counts, available = new_counts(3, 2), np.ones((3, 2), bool)
    gain, later, n0 = rng.random((3, 3, 2))
    counts.n[:] = planned = rng.integers(0, 5, (3, 2))
    walk = Walk(new_choices(available, 0.0, rng), gain, later, planned + n0, planned.copy())
    for s, a in np.ndindex(3, 2):
        assert plain(worth)(walk, counts, s, a) == pytest.approx(gain[s, a] + later[s, a])
    counts.n[1, 0] += 4
    share = (planned[1, 0] + n0[1, 0]) / (planned[1, 0] + n0[1, 0] + 4)
    expected = gain[1, 0] * share**2 + later[1, 0]
    assert plain(worth)(walk, counts, 1, 0) == pytest.approx(expected)
