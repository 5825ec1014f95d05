"""GIM beyond the paper: a budget, inference in place of completion, learning that goes on."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gim
from gim.agent import agents
from gim.agents.estimates import blended, hoped
from gim.exploration.base import explorations
from gim.inference.base import Prior
from gim.model.counts import new_counts, new_known
from gim.run import prepare
from gim.testing import check_agent

SHARED = {"S": 20, "A": 12, "J": 2, "K": 5}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "agent",
    [
        gim.GIM(infer="analogy", budget=101),
        gim.GIM(m=3, learn_on=True),
        gim.GIM.analogy(m=2),
        gim.GIM.paper(m=2, learn_on=True),
    ],
    ids=str,
)
def test_same_bits_compiled_plain_stepwise_and_resumed(agent):
    check_agent(agent)


@pytest.mark.parametrize("walk", explorations.names())
def test_a_budget_ends_exploration_at_the_step_asked_for(walk):
    world = gim.make("gridworld")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is what was asked for: no warning
        run = prepare(gim.GIM(exploration=walk, infer="analogy", budget=123), world, 50, 0)
        run.pause_at(122)
        assert run.policy is None
        run.pause_at(123)
        assert run.policy is not None
        assert run.explored_at == 12
        run.go()
    assert run.memory.counts.n.sum() == 123  # counting stopped there
    assert run.plans == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_learning_on_counts_every_step_and_plans_when_visits_double():
    run = gim.run(gim.GIM(m=2, learn_on=True), gim.make("riverswim"), 200, seed=1)
    n = run.memory.counts.n
    assert n.sum() == run.steps
    doublings = np.floor(np.log2(np.maximum(n, 1))).sum() + n.size
    assert 1 < run.plans <= doublings + np.log2(run.steps) + 1
    assert np.array_equal(run.memory.known.mask, n >= 2)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_known_pairs_keep_up_with_their_counts_between_completions():
    run = gim.run(gim.GIM(m=5, rho=0.8, learn_on=True), gim.make("casinoland"), 300, seed=0)
    P, _ = run.agent._dynamics(run.memory)
    known, n = run.memory.known.mask, run.memory.counts.n
    N = run.memory.counts.next.reshape(P.shape)
    assert known.any()
    assert np.allclose(P[known], N[known] / n[known][:, None], rtol=1e-12)
    assert np.allclose(P.sum(axis=2), 1)


def test_the_model_is_counts_and_prior():
    S, A = 2, 2
    counts, known = new_counts(S, A), new_known(np.ones((S, A), bool), 5, 0.8)
    counts.n[0], counts.R[0] = [3, 1], [3.0, 0.0]
    counts.next.reshape(S, A, S)[0] = [[3, 0], [0, 1]]
    q = np.full((S, A, S), 0.5)
    n0 = np.array([[1.0, 1.0], [4.0, 0.0]])
    P, r = blended(counts, known, Prior(q, n0, np.zeros((S, A)), np.zeros((S, A))))
    assert P[0] == pytest.approx(np.array([[3.5, 0.5], [0.5, 1.5]]) / np.array([[4], [2]]))
    assert P[1] == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]))  # inferred; not: it stays
    assert r == pytest.approx(np.array([[1.0, 0.0], [0.5, 0.5]]))  # unseen: the mean of the others


def test_hope_is_one_visit_that_paid_the_most():
    counts, known = new_counts(1, 3), new_known(np.ones((1, 3), bool), 5, 0.8)
    counts.n[:] = [0, 1, 1]
    n0 = np.array([[8.0, 0.0, 8.0]])
    prior = Prior(np.ones((1, 3, 1)), n0, np.zeros((1, 3)), np.zeros((1, 3)))
    task = gim.agent.Task(1, 3, 10, known.available, (0.0, 10.0))
    r = hoped(np.zeros((1, 3)), counts, known, prior, task)
    assert r == pytest.approx(np.array([[10.0, 5.0, 1.0]]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_two_phases_by_analogy_beat_plain_gim_where_dynamics_are_shared():
    gains = []
    for seed in range(3):
        world = gim.make("shared_factors", **SHARED, seed=seed)
        plain, ours = (
            gim.run(a, world, 3_000, seed=seed).score for a in (gim.GIM(), gim.GIM.analogy())
        )
        gains.append(ours - plain)
        assert ours > 0.9
    assert min(gains) > 0.1


def test_two_phases_by_analogy_find_the_reward_at_the_end_of_the_river():
    assert gim.run(gim.GIM.analogy(), gim.make("riverswim"), 3_000, seed=0).score > 0.95


@pytest.mark.parametrize(
    "word",
    [
        "gim:infer=analogy,learn_on=true",
        "gim:exploration=active,infer=analogy(folds=3),budget=500",
        "gim:m=5,rho=0.3,infer=by_completion,learn_on=true",
    ],
)
def test_words_come_back(word):
    assert str(agents.make(word)) == word


def test_bad_words_are_named():
    with pytest.raises(ValueError, match="did you mean 'analogy'"):
        agents.make("gim:infer=analogie")
    with pytest.raises(ValueError, match="budget = 0: must be at least 1"):
        gim.GIM(budget=0)
    with pytest.raises(ValueError, match="learn_on = 3: must be true or false"):
        agents.make("gim:learn_on=3")


def test_presets_differ_from_gim_only_as_they_say():
    assert str(gim.GIM.analogy()) == "gim:m=5,rho=0.3,infer=analogy,learn_on=true"
    assert gim.GIM.analogy(budget=9).budget == 9
    assert gim.GIM().infer is None
    assert not gim.GIM().learn_on
    assert gim.GIM().budget is None
