"""Two phases beyond the paper: a budget, any inference, learning that goes on."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import gim
from gim.agents.two_phase import guessed_rewards, hoped, rewards_of
from gim.analogy.base import prior_of
from gim.belief.knowledge import NEVER, Knowledge, estimate
from gim.model.counts import new_counts
from gim.paper.walks.base import explorations
from gim.runs.agent import agents
from gim.runs.run import prepare

SHARED = {"S": 20, "A": 12, "J": 2, "K": 5}


def ours(walk: str) -> bool:
    """Whether a walk is of gim itself: benchmarks add some that only they can start."""
    return explorations.owns(explorations[walk])


@pytest.mark.parametrize("walk", [name for name in explorations.names() if ours(name)])
def test_a_budget_ends_exploration_at_the_step_asked_for(walk):
    world = gim.make("gridworld")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is what was asked for: no warning
        run = prepare(
            gim.TwoPhase(rho=0.8, exploration=walk, learn_on=False, budget=123), world, 50, 0
        )
        run.pause_at(122)
        assert run.policy is None
        run.pause_at(123)
        assert run.policy is not None
        assert run.explored_at == 12
        run.go()
    assert run.memory.belief.counts.n.sum() == 123  # counting stopped there
    assert run.plans == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_learning_on_counts_every_step_and_plans_when_visits_double():
    run = gim.run(gim.TwoPhase(m=2, rho=0.8, infer=None), gim.make("riverswim"), 200, seed=1)
    n = run.memory.belief.counts.n
    assert n.sum() == run.steps
    doublings = np.floor(np.log2(np.maximum(n, 1))).sum() + n.size
    assert 1 < run.plans <= doublings + np.log2(run.steps) + 1
    assert np.array_equal(run.memory.known.mask, n >= 2)


def made_up_belief(n, R, next_, prior):
    """A belief of these counts and this prior."""
    S, A = n.shape
    counts = new_counts(S, A)
    counts.n[:], counts.R[:], counts.next[:] = n, R, np.ravel(next_)
    return Knowledge(counts, np.zeros(S, bool), prior, np.array([n.sum()]), np.array([NEVER]))


def test_the_model_is_counts_and_prior():
    S, A = 2, 2
    n0 = np.array([[1.0, 1.0], [4.0, 0.0]])
    n, R = np.array([[3, 1], [0, 0]]), np.array([[3.0, 0.0], [0.0, 0.0]])
    N = [[[3, 0], [0, 1]], [[0, 0], [0, 0]]]
    belief = made_up_belief(n, R, N, prior_of(np.full((S, A, S), 0.5), n0))
    P, seen = estimate(belief, np.ones((S, A), bool))
    assert P[0] == pytest.approx(np.array([[3.5, 0.5], [0.5, 1.5]]) / np.array([[4], [2]]))
    assert P[1] == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]))  # inferred; not: it stays
    r = guessed_rewards(seen)
    assert r == pytest.approx(np.array([[1.0, 0.0], [0.5, 0.5]]))  # unseen: the mean of the others


def test_hope_is_one_visit_that_paid_the_most():
    n0 = np.array([[8.0, 0.0, 8.0]])
    n = np.array([[0, 1, 1]])
    belief = made_up_belief(n, np.zeros((1, 3)), n, prior_of(np.ones((1, 3, 1)), n0))
    assert hoped(np.zeros((1, 3)), belief.evidence(), 10.0) == pytest.approx(
        np.array([[10.0, 5.0, 1.0]])
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_two_phases_by_analogy_beat_plain_gim_where_dynamics_are_shared():
    gains = []
    for seed in range(2):
        world = gim.make("shared_factors", **SHARED, seed=seed)
        plain, ours = (
            gim.run(a, world, 3_000, seed=seed).score for a in (gim.GIM(), gim.TwoPhase())
        )
        gains.append(ours - plain)
        assert ours > 0.9
    assert min(gains) > 0.1


def test_two_phases_by_analogy_find_the_reward_at_the_end_of_the_river():
    assert gim.run(gim.TwoPhase(), gim.make("riverswim"), 3_000, seed=0).score > 0.95


def test_bad_words_are_named():
    with pytest.raises(ValueError, match="did you mean 'analogy'"):
        agents.make("two_phase:infer=analogie")
    with pytest.raises(ValueError, match="budget = 0: must be at least 1"):
        gim.TwoPhase(budget=0)
    with pytest.raises(ValueError, match="learn_on = 3: must be true or false"):
        agents.make("two_phase:learn_on=3")


def test_the_range_of_rewards_is_what_is_told_else_what_was_seen():
    task, counts = prepare(gim.Random(), gim.make("riverswim"), 1).task, new_counts(6, 2)
    counts.n[0, :], counts.R[0, :] = 2, [3.0, 14.0]
    assert rewards_of(task, counts) == task.reward_range
    assert rewards_of(replace(task, reward_range=None), counts) == (1.5, 7.0)
