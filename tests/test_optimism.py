"""Agents that plan in the best world that the data allow: twins, promises, the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import gim
from gim.agents.e3 import E3
from gim.agents.mbie import MBIE, log_subsets
from gim.agents.orlc import ORLC
from gim.agents.ubev import UBEV
from gim.agents.ucrl2 import UCRL2
from gim.planning.extended import extended_induction_into
from gim.runs.agent import agents
from gim.runs.run import prepare
from tests import naive_optimism as literal
from tests.random_mdps import costly, eventful, random_mdp

# -- literal twins

TWINS = [
    (MBIE(), literal.MBIE),
    (MBIE(scale=0.3, delta=0.5), literal.MBIE),
    (MBIE(scale=1.0, r_max=4.0), literal.MBIE),
    (UCRL2(), literal.UCRL2),
    (UCRL2(scale=0.2, delta=0.5), literal.UCRL2),
    (UCRL2(scale=1.0, r_max=4.0), literal.UCRL2),
    (UBEV(), literal.UBEV),
    (UBEV(scale=0.3, delta=0.5), literal.UBEV),
    (UBEV(scale=1.0, r_max=4.0), literal.UBEV),
    (ORLC(), literal.ORLC),
    (ORLC(scale=0.01, delta=0.5), literal.ORLC),
    (ORLC(scale=1.0, r_max=4.0), literal.ORLC),
]


@pytest.mark.parametrize(("world", "seed"), [(eventful, 1), (eventful, 2), (costly, 2)])
@pytest.mark.parametrize(("agent", "twin"), TWINS, ids=lambda x: str(x).split(".")[-1])
def test_twin_comes_to_the_same_values(agent, twin, world, seed):
    for episodes in (3, 40):
        run, mind = literal.replayed(twin, agent, world(seed), episodes, seed)
        assert np.allclose(run.memory.q, mind.q, rtol=1e-12, atol=1e-9)
        assert run.plans == mind.plans
        if twin is literal.ORLC:
            assert np.allclose(agent.certificates(run.memory), mind.certificates, atol=1e-6)


@pytest.mark.parametrize(("world", "seed"), [(eventful, 1), (eventful, 2), (costly, 2)])
@pytest.mark.parametrize("agent", [E3(m=3), E3(m=6, epsilon=0.3), E3(m=2, epsilon=0.0)])
def test_e3_makes_the_choices_of_its_twin(agent, world, seed):
    for episodes in (15, 150):
        run, mind = literal.replayed(literal.E3, agent, world(seed), episodes, seed)
        assert run.plans == mind.plans > 1
        assert np.allclose(run.memory.escape, mind.escape.max(axis=2), atol=1e-9)
        inside = np.take_along_axis(mind.inside, run.memory.exploit[:, :, None], 2)[:, :, 0]
        assert np.allclose(inside, mind.inside.max(axis=2), atol=1e-9)


# -- the kit and the pages


# -- extended value iteration


def random_rows(seed, S=6, A=3):
    """Estimates with empty entries, rewards and widths, some of them larger than the ball."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.4), size=(S, A))
    P = np.where(P < 0.05, 0, P)
    P /= P.sum(axis=2, keepdims=True)
    return P, rng.normal(size=(S, A)), rng.choice([0.0, 0.1, 0.7, 3.0], size=(S, A))


def planned(P, r, width, H, available=None):
    S, A = r.shape
    q, v, policy = np.empty((H, S, A)), np.empty((H + 1, S)), np.empty((H, S), np.int64)
    available = np.ones((S, A), bool) if available is None else available
    extended_induction_into(P, r, width, np.full(H, np.inf), available, q, v, policy)
    return q, v, policy


@pytest.mark.parametrize("seed", range(4))
def test_the_best_row_in_the_ball_is_that_of_a_linear_program(seed):
    """Maximise p v with p = P + up - down, sum up + sum down <= width."""
    P, r, width = random_rows(seed)
    S, A = r.shape
    q, v, _ = planned(P, r, width, H=3)
    for h in range(3):
        for s in range(S):
            for a in range(A):
                best = linprog(
                    np.r_[-v[h + 1], v[h + 1]],
                    A_ub=np.vstack([np.ones(2 * S), np.c_[-np.eye(S), np.eye(S)]]),
                    b_ub=np.r_[width[s, a], P[s, a]],
                    A_eq=np.r_[np.ones(S), -np.ones(S)][None],
                    b_eq=[0],
                )
                largest = P[s, a] @ v[h + 1] - best.fun
                assert q[h, s, a] == pytest.approx(r[s, a] + largest, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_sparse_and_dense_plans_agree_bit_for_bit(seed):
    P, r, width = random_rows(seed)
    available = np.random.default_rng(seed).random(r.shape) < 0.8
    available[:, 0] = True
    dense = planned(P, r, width, 9, available)
    table = planned(sparse.csr_array(P.reshape(-1, len(P))), r, width, 9, available)
    for one, two in zip(dense, table, strict=True):
        assert np.array_equal(one, two)
    for h in range(9):
        for s, a in np.argwhere(available):
            p = literal.best_row(dict(enumerate(P[s, a])), dense[1][h + 1], width[s, a])
            value = r[s, a] + sum(p[t] * dense[1][h + 1, t] for t in p)
            assert dense[0][h, s, a] == pytest.approx(value, abs=1e-9)


def test_without_width_it_is_backward_induction():
    P, r, width = random_rows(1)
    mdp = gim.TabularMDP(P, r, horizon=5)
    q, _, policy = planned(P, r, 0 * width, 5)
    assert np.allclose(q, mdp.plan().q, atol=1e-12)
    assert np.array_equal(policy, mdp.plan().policy)


def test_shapes_are_checked():
    P, r, width = random_rows(1)
    with pytest.raises(ValueError, match="do not fit"):
        planned(P, r, width[:2], 5)
    with pytest.raises(ValueError, match="P has shape"):
        planned(P[:2], r, width, 5)


def test_log_subsets():
    assert [round(np.exp(log_subsets(S)), 9) for S in (2, 3, 10)] == [2, 6, 1022]
    assert log_subsets(1) == 0
    assert log_subsets(5000) == pytest.approx(5000 * np.log(2))


# -- what the theories promise


@pytest.mark.parametrize("word", ["mbie:scale=1", "ucrl2:scale=1", "ubev:scale=1", "orlc:scale=1"])
def test_at_full_width_values_are_optimistic(word):
    mdp = random_mdp(5, S=4, A=2, horizon=5)
    best = mdp.plan().v
    for seed in range(3):
        run = prepare(agents.make(word), mdp, 300, seed)
        while not run.finished:
            run.pause_at(run.steps + 50)
            assert (run.memory.v[:-1] >= best - 1e-9).all()


def test_ucrl2_plans_as_often_as_visits_double():
    """S A log2(T) epochs at the most (Proposition 18), and far fewer than episodes."""
    mdp = random_mdp(5, S=4, A=2, horizon=5)
    run = gim.run("ucrl2", mdp, episodes=2000, seed=1)
    n = run.memory.belief.counts.n
    assert run.plans <= 1 + np.floor(1 + np.log2(n[n > 0])).sum() < 150


def test_certificates_hold_and_shrink():
    """At full width none of them may fail more often than delta says; here none does."""
    P = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]]])
    mdp = gim.TabularMDP(P, [[0.1, 0.0], [0.2, 0.9]], start=[0.5, 0.5], horizon=2)
    agent, best = ORLC(scale=1.0), mdp.plan().v[0]
    run = prepare(agent, mdp, 10_000, 1)
    while not run.finished:
        run.pause_at(run.steps + 2_000)
        assert (run.memory.lower[:2] <= mdp.value(run.policy) + 1e-9).all()
        assert (best <= run.memory.v[0] + 1e-9).all()
    issued = agent.certificates(run.memory)
    assert len(issued) == 10_000  # room was made for them
    assert np.allclose(issued[:100], 1.8)  # two steps of .9 at the most: all may be lost
    assert 0 < issued[-500:].mean() < 1.4


def test_e3_ends_exploring_although_a_state_is_met_last_thing_only():
    """A corridor as long as the episode: nobody can act at its end, so nobody should go there."""
    S = 6
    P = np.zeros((S, 2, S))
    P[:, 0, 0] = 1
    P[np.arange(S), 1, np.minimum(np.arange(S) + 1, S - 1)] = 1
    mdp = gim.TabularMDP(P, np.eye(S)[0][:, None] * [0.1, 0.0], start=np.eye(S)[0], horizon=S - 1)
    run = gim.run(E3(m=2, epsilon=0.0), mdp, episodes=60, seed=1)
    assert run.memory.belief.counts.n[: S - 1].min() >= 2
    assert run.memory.belief.counts.n[S - 1].sum() == 0
    assert np.allclose(run.returns[-20:], 0.1 * (S - 1))
