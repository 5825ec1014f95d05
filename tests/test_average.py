"""Plans for the average reward of a step: against linear programs, by hand, and their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import gim
from gim import planning
from gim.planning.average import average_plan, gain_and_bias
from gim.planning.chain import chain_values
from gim.planning.classes import end_components, recurrent_classes
from tests.naive_planning import tiny

KINDS = ("any", "periodic", "multichain", "nearly decomposable", "deterministic")
METHODS = ("policy_iteration", "linear_programming", "relative_value_iteration")


def chain(seed):
    """A random MDP of one of the kinds; in some, actions are missing."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    S, A = int(rng.integers(2, 11)), int(rng.integers(1, 5))
    P = rng.dirichlet(np.full(S, 0.3), (S, A))
    P[P < 0.01] = 0
    r = rng.normal(size=(S, A)) * rng.choice([0.01, 1, 100])
    states = np.arange(S)
    if kind == "periodic":
        turn = states % int(rng.integers(2, min(S, 4) + 1))
        follows = turn[None] == ((turn + 1) % (turn.max() + 1))[:, None]
        P = np.where(follows[:, None], P + 1e-9, 0)
    elif kind == "multichain":
        part, leaves = rng.integers(0, 3, S), rng.random((S, A)) < 0.2
        inside = part[None] == part[:, None]
        P = np.where(inside[:, None] | leaves[:, :, None], P + 1e-6, 0)
    elif kind == "nearly decomposable":
        same, leak = (states % 2)[None] == (states % 2)[:, None], 10.0 ** -rng.integers(3, 7)
        P = np.where(same[:, None], P + 1e-3, (P + 0.1) * leak)
    elif kind == "deterministic":
        P, r = np.eye(S)[rng.integers(0, S, (S, A))], r.round(1)
    P /= P.sum(axis=2, keepdims=True)
    available = np.ones((S, A), bool)
    if rng.random() < 0.4:
        available = rng.random((S, A)) < 0.7
        available[states, rng.integers(A, size=S)] = True
    P[~available] = r[~available] = 0
    return kind, tiny(P, r, available)


def least_gain(mdp, one):
    """The gain by the program of Denardo and Fox: [S], or `one` for all states alike."""
    S, rows, right, eye = mdp.S, [], [], np.eye(mdp.S)
    for s, a in np.argwhere(mdp.available):
        moved = mdp.P[s, a] - eye[s]
        rows.append(np.concatenate([-eye[0 if one else s], moved]))
        right.append(-mdp.rewards[s, a])
        if not one:
            rows.append(np.concatenate([moved, np.zeros(S)]))
            right.append(0.0)
    costs = np.append(eye[0] if one else np.ones(S), np.zeros(S))
    for way in ("highs", "highs-ipm"):
        found = linprog(costs, np.array(rows), right, bounds=(None, None), method=way)
        if found.status == 0:
            break
    assert found.status == 0
    return np.full(S, found.x[0]) if one else found.x[:S]


@pytest.mark.parametrize("part", range(10))
def test_the_gain_is_that_of_a_linear_program(part):
    """200 chains; a program with vast ratios is solved for one gain, which it is then."""
    for seed in range(20 * part, 20 * part + 20):
        kind, mdp = chain(seed)
        scale = max(1.0, np.abs(mdp.rewards).max())
        truth = least_gain(mdp, one=kind == "nearly decomposable")
        for method in METHODS:
            if method == METHODS[2] and end_components(mdp).number > 1:
                with pytest.raises(ValueError, match="parts of this MDP"):
                    average_plan(mdp, method=method)
                continue
            plan = average_plan(mdp, method=method, max_iter=2000)
            off = np.abs(plan.gain - truth).max()
            assert off <= plan.error + 1e-7 * scale, (seed, kind, method)
            if method != METHODS[2]:
                assert plan.converged, (seed, kind, method)
                assert plan.error <= 1e-7 * scale, (seed, kind, method)
                assert np.abs(least_of(mdp, plan.policy) - plan.gain).max() <= 1e-6 * scale


def least_of(mdp, policy):
    """The gain of a policy by the limit of its transitions, averaged over a period: slowly."""
    P = mdp.P[np.arange(mdp.S), policy]
    lazy = (np.eye(mdp.S) + P) / 2
    for _ in range(60):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return lazy @ mdp.rewards[np.arange(mdp.S), policy]


def test_bias_by_hand():
    """A chain of two that swings, paid 2 in one of them, and a start that costs 3 to leave."""
    P = np.array([[0.0, 1, 0], [1, 0, 0], [1, 0, 0]])
    found = chain_values(P, np.array([2.0, 0.0, -3.0]))
    assert np.allclose(found.gain, 1)
    assert np.allclose(found.bias, [0.5, -0.5, -3.5])  # -3 - 1 + .5
    assert found.classes.tolist() == [0, 0, -1]
    assert found.error < 1e-12
    assert found.bias_error < 1e-11


@pytest.mark.parametrize("seed", range(12))
def test_bias_is_the_sum_of_what_exceeds_the_gain(seed):
    _, mdp = chain(5 * seed + 2)
    policy = mdp.available.argmax(axis=1)
    P, r = mdp.P[np.arange(mdp.S), policy], mdp.rewards[np.arange(mdp.S), policy]
    found = chain_values(P, r)
    assert np.array_equal(chain_values(sparse.csr_array(P), r).classes, found.classes)
    lazy, total, here = (np.eye(mdp.S) + P) / 2, np.zeros(mdp.S), np.eye(mdp.S)
    for _ in range(20_000):  # of the chain that stays every other time; its bias is twice as large
        total += here @ (r - found.gain)
        here = here @ lazy
    scale = max(1.0, np.abs(r).max())
    if np.abs(here @ lazy - here).max() < 1e-12:
        assert np.abs(total / 2 - found.bias).max() <= found.bias_error + 1e-6 * scale


def test_classes_and_end_components():
    assert recurrent_classes(np.eye(3))[0] == 3
    # State 0 may stay, or leave for 1, which leads to 2 only; 2 leads back to 1 half of the time.
    P = np.zeros((3, 2, 3))
    P[0, 0, 0] = P[0, 1, 1] = P[1, :, 2] = 1
    P[2, :, 1:] = 0.5
    ends = end_components(tiny(P, np.zeros((3, 2))))
    assert ends.number == 2
    assert ends.label.tolist() == [0, 1, 1]
    assert ends.within.tolist() == [[True, False], [True, True], [True, True]]


def test_where_to_stay_is_chosen_by_the_gain():
    """To stay pays 1; to leave costs 5 once, and then pays 2 or, with a chance of .5, nothing."""
    P = np.zeros((3, 2, 3))
    P[0, 0, 0] = P[1, :, 1] = P[2, :, 2] = 1
    P[0, 1, 1:] = 0.5
    mdp = gim.TabularMDP(P, [[1.5, -5], [2, 2], [0, 0]])
    plan = mdp.plan(average=True)
    assert plan.multichain
    assert np.allclose(plan.gain, [1.5, 2, 0])
    assert plan.policy[0] == 0
    assert np.isneginf(plan.q[0, 1])  # to leave loses half of 1 for ever
    better = mdp.with_(rewards=[[1.0, -5], [2.5, 2], [0, 0]]).plan(average=True)
    assert np.allclose(better.gain, [1.25, 2.5, 0])
    assert better.policy[0] == 1
    assert better.q[0, 0] == pytest.approx(better.bias[0] - 0.25)  # to stay a step longer


@pytest.mark.parametrize("name", ["riverswim", "queues", "inventory"])
def test_methods_and_storage_agree(name):
    mdp = gim.make(name)
    gains = [average_plan(mdp, method=method).gain[0] for method in METHODS]
    gains.append(mdp.to_sparse().plan(average=True).gain[0])
    assert np.allclose(gains, gains[0], atol=1e-7, rtol=0)
    assert mdp.value(mdp.plan(average=True).policy, average=True)[0] == pytest.approx(gains[0])


def test_large_worlds_are_swept():
    rng = np.random.default_rng(0)
    S, A, k = 3000, 3, 5
    rows = sparse.csr_array(
        (
            rng.dirichlet(np.ones(k), S * A).ravel(),
            rng.integers(0, S, S * A * k),
            range(0, S * A * k + 1, k),
        ),
        shape=(S * A, S),
    )
    mdp = gim.TabularMDP(rows, rng.random((S, A)))
    plan = mdp.plan(average=True)
    assert plan.method == "relative_value_iteration"
    assert plan.converged
    assert plan.error <= 1e-8
    long = mdp.plan(horizon=2000)
    assert abs(long.first[0] / 2000 - plan.gain[0]) < 1e-2


def test_discounting_little_comes_to_the_average():
    mdp = gim.make("queues")
    plan, near = mdp.plan(average=True), mdp.plan(discount=0.99999, method="policy_iteration")
    assert np.allclose(near.v * 1e-5, plan.gain, atol=0.01)
    assert np.allclose(mdp.value(near.policy, average=True), plan.gain, atol=1e-6)


def test_what_cannot_be_planned_is_said():
    mdp = gim.make("riverswim")
    with pytest.raises(ValueError, match="leave out horizon"):
        mdp.plan(0.9, average=True)
    with pytest.raises(ValueError, match="did you mean 'policy_iteration'"):
        mdp.plan(average=True, method="policy_iterations")
    with pytest.raises(ValueError, match="leave out horizon"):
        planning.evaluate(mdp, [0] * 6, horizon=3, average=True)
    with pytest.raises(ValueError, match="has shape"):
        gain_and_bias(mdp, [0] * 5)
