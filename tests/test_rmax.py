"""RMax: its plans, what is known, and the settings of the paper's authors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gim
from benchmarks import scores
from gim._compile.jit import plain
from gim.agents.rmax import RMax, act, optimistic_model
from gim.model import counts
from gim.runs.run import prepare
from tests.random_mdps import random_mdp


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 6),
    terminal=st.booleans(),
    missing=st.booleans(),
    per=st.sampled_from(["state", "pair"]),
)
def test_rmax_plans_no_more_than_the_lemma_counts(seed, m, terminal, missing, per):
    mdp = random_mdp(seed, terminal=terminal, missing=missing)
    run = gim.run(RMax(m=m, plan_per=per), mdp, episodes=120, seed=seed)
    limit = mdp.S if per == "state" else mdp.available.sum()
    assert 1 <= run.plans <= limit + 1
    known = run.memory.known
    assert (run.memory.belief.counts.n <= m).all()  # its estimates stand once it is known
    assert np.array_equal(
        known.mask, mdp.available & ((run.memory.belief.counts.n == m) | known.terminal[:, None])
    )
    if known.mask[mdp.available].all():
        assert run.explored_at is not None


def test_rmax_plans_alike_per_pair_and_per_state():
    """With the right r_max an unknown state is worth the most that can come, either way."""
    mdp = random_mdp(8, S=6, A=4, horizon=8)
    runs = [gim.run(RMax(m=5, plan_per=per), mdp, 300, seed=4) for per in ("pair", "state")]
    assert np.array_equal(runs[0].returns, runs[1].returns)
    assert (runs[0].plans, runs[1].plans) == (25, 7)
    assert runs[0].explored_at == runs[1].explored_at is not None


@pytest.mark.parametrize(("r_max", "paid"), [(2.0, 2.0), (-1.0, 0.0)])
def test_unknown_pairs_lead_to_heaven(r_max, paid, monkeypatch):
    mdp = random_mdp(3, S=4, A=2, horizon=5, terminal=True, missing=True)
    models = []
    for limit in (counts.DENSE_LIMIT, 0):
        monkeypatch.setattr(counts, "DENSE_LIMIT", limit)
        memory = gim.run(RMax(m=3), mdp, 4, seed=1).memory
        models.append(optimistic_model(memory.belief, memory.known, r_max, 5))
    model, known = models[0], memory.known
    unknown = known.available & ~known.mask
    assert unknown.any()
    assert known.mask.any()
    assert np.array_equal(model.transitions[:-1, :, -1], unknown)
    assert np.allclose(model.transitions.sum(axis=2)[model.available], 1)
    assert (model.rewards[:-1][unknown] == r_max).all()
    assert (model.rewards[-1] == paid).all()
    assert np.array_equal(models[1].transitions.toarray().ravel(), model.transitions.ravel())
    assert np.array_equal(models[1].rewards, model.rewards)


def test_rmax_starts_from_a_model_learned_elsewhere():
    mdp = random_mdp(9, S=4, A=2, horizon=6)
    first = gim.run(RMax(m=10), mdp, 400, seed=1)
    again = gim.run(RMax(m=10), mdp, 100, seed=2, prior=first.model)
    assert (again.plans, again.explored_at) == (1, 0)
    assert np.array_equal(again.policy, first.policy)


def test_authors_settings():
    agent = RMax.authors("synthetic")
    assert (agent.m, agent.r_max, agent.planner) == (50, 1.0, "discounted")
    assert (agent.surplus, RMax.authors("riverswim").planner) == (1, "lookahead")
    with pytest.raises(ValueError, match="did you mean 'riverswim'"):
        RMax.authors("riverswin")


def test_the_authors_rmax_ends_exploring_on_riverswim_by_chance():
    """Their own ends after 717 episodes in the mean of 10 runs: a random walk among ties."""
    runs = gim.run(RMax.authors("riverswim"), gim.make("riverswim"), 5000, seeds=range(20))
    assert 717 / 1.3 < np.mean([run.explored_at for run in runs]) < 717 * 1.3
    for run in runs:
        assert run.memory.belief.counts.n.max() == 51  # m, and one more
        assert (run.memory.n_ties == 0).all()  # the ties were drawn for good
    assert len({run.policy[0].tobytes() for run in runs}) > 2


def test_a_lookahead_takes_any_of_the_best_at_each_step():
    mdp = gim.make("riverswim")
    run = prepare(RMax.authors("riverswim"), mdp, 5000, 0)
    run.pause_at(4000)
    memory = run.memory
    model = optimistic_model(memory.belief, memory.known, 1.0, mdp.horizon)
    best = np.where(model.available, model.rewards, -np.inf).max(axis=1)
    q = model.rewards + 0.95 * model.transitions @ best
    known = np.flatnonzero(memory.known.rho_known)
    assert known.size > 1
    tied = 0
    for s in known:
        ties = np.flatnonzero(q[s] == q[s].max())
        rng = np.random.default_rng(s)
        taken = [plain(act)(memory, s, 0, rng) for _ in range(200)]
        assert set(taken) == set(ties)
        tied += ties.size > 1
    assert tied > 0


def test_rmax_with_the_authors_r_max_never_explores_the_river():
    assert scores.scores("rmax:r_max=1", "riverswim", seeds=2).max() < 0.05


def test_rmax_scores_on_drawn_tasks():
    assert scores.scores("rmax", "synthetic", seeds=4).mean() >= 0.93
    assert scores.scores("rmax", "gridworld", seeds=8).mean() >= 0.90
