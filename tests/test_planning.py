"""Planners against linear programs, direct solves, slow twins and their own stated bounds."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gim import planning
from gim.jit import plain
from gim.planning import finite, graph, sweeps
from tests import naive_planning as naive
from tests.naive_planning import random_tiny, tiny

METHODS = (
    "value_iteration",
    "modified_policy_iteration",
    "policy_iteration",
    "inexact_policy_iteration",
)
DISCOUNTS = (0.0, 0.5, 0.9, 0.99, 0.999)

seeds = st.integers(0, 10**6)
some_method = st.sampled_from(METHODS)
some_discount = st.sampled_from(DISCOUNTS)


def optimum(mdp, discount):
    """V*, from values so close that the greedy policy is optimal, by a refined direct solve."""
    v = np.zeros(mdp.S)
    for _ in range(100):  # policies; they may go in circles, but only among the optimal
        q = np.where(mdp.available, mdp.rewards + discount * mdp.P @ v, -np.inf)
        last, v = v, naive.solve(mdp, q.argmax(axis=1), discount)
        if (v == last).all():
            break
    return v


# -- the optimum


@pytest.mark.parametrize("seed", range(200))
def test_agrees_with_linear_programming(seed):
    mdp = random_tiny(seed)
    mdp = mdp.to_sparse() if seed % 2 else mdp
    discount = DISCOUNTS[seed % 4]
    scale = max(1.0, np.abs(mdp.rewards).max())
    v = naive.values_by_programming(mdp, discount)
    for method in METHODS:
        plan = planning.plan(mdp, discount=discount, method=method, tolerance=1e-9)
        assert np.abs(plan.v - v).max() <= 1e-8, method
    plan = planning.plan(mdp)
    assert np.abs(plan.v - naive.steps_by_programming(mdp, mdp.horizon)).max() <= 1e-8
    assert plan.error <= 1e-10 * scale


@settings(max_examples=150, deadline=None)
@given(seeds, some_method, some_discount, st.floats(-13, 1), st.integers(1, 30), st.booleans())
def test_the_bound_is_met(seed, method, discount, digits, max_iter, warm):
    mdp = random_tiny(seed)
    mdp = mdp.to_sparse() if seed % 2 else mdp
    v = optimum(mdp, discount)
    slack = 4 * np.finfo(float).eps * max(1e-300, np.abs(v).max())  # of the reference itself
    v0 = np.random.default_rng(seed).normal(size=mdp.S) * 10 if warm else None
    solver = getattr(planning, method)
    plan = solver(mdp, discount, 10.0**digits, max_iter, v0)
    assert np.abs(plan.v - v).max() <= plan.error + slack
    q = mdp.rewards + discount * mdp.P @ v
    assert np.abs(plan.q[mdp.available] - q[mdp.available]).max() <= plan.error + slack
    assert (plan.q[~mdp.available] == -np.inf).all()
    assert np.abs(naive.solve(mdp, plan.policy, discount) - plan.v).max() <= plan.error + slack
    assert mdp.available[np.arange(mdp.S), plan.policy].all()
    assert (plan.v == plan.q.max(axis=1)).all()
    assert (plan.policy == plan.q.argmax(axis=1)).all()
    assert (plan.v[mdp.terminal] == 0).all()
    assert 1 <= plan.iterations <= max_iter
    assert plan.converged or plan.iterations == max_iter
    if plan.converged:  # then the tolerance is met, or nearly all of the bound is rounding
        assert plan.error <= max(10.0**digits, 1e-12 * np.abs(v).max() / (1 - discount) ** 2)


def test_the_bound_holds_for_rows_that_do_not_quite_sum_to_one():
    rng = np.random.default_rng(0)
    for excess in (-1e-6, 1e-6):
        P = rng.dirichlet(np.ones(6), (6, 2)) * (1 + excess)
        mdp = tiny(P, rng.random((6, 2)) + 1)
        for method in METHODS:
            plan = planning.plan(mdp, discount=0.999, method=method, tolerance=1e-3)
            assert plan.converged
            assert np.abs(plan.v - optimum(mdp, 0.999)).max() <= plan.error <= 1e-3


def test_few_sweeps_do_where_the_mdp_mixes_fast():
    rng = np.random.default_rng(0)
    mdp = tiny(rng.dirichlet(np.ones(100), (100, 5)), rng.random((100, 5)))
    assert planning.value_iteration(mdp, 0.999).iterations <= 12
    assert planning.modified_policy_iteration(mdp, 0.999).iterations <= 5


def test_a_policy_that_stays_but_does_not_mix_is_solved_for():
    rng = np.random.default_rng(0)
    P = np.zeros((20, 3, 20))
    P[:10, :, :10] = rng.dirichlet(np.ones(10), (10, 3))
    P[10:, :, 10:] = rng.dirichlet(np.ones(10), (10, 3))
    mdp = tiny(P, rng.random((20, 3)))
    for form in (mdp, mdp.to_sparse()):
        plan = planning.plan(form, discount=0.9999)
        assert plan.converged
        assert plan.iterations <= 50  # sweeps alone would take twenty thousand
        assert np.abs(plan.v - optimum(mdp, 0.9999)).max() <= plan.error < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_what_no_double_can_hold_still_ends(method):
    mdp = random_tiny(3, S=6, A=3, ends=False)
    mdp.rewards *= 1e12
    plan = planning.plan(mdp, discount=0.99, tolerance=1e-300, method=method)
    v = optimum(mdp, 0.99)
    assert plan.converged
    assert plan.iterations < 1000
    assert 1e-300 < plan.error < 1e-8 * np.abs(v).max()
    assert np.abs(plan.v - v).max() <= plan.error


def test_a_discount_near_one_ends_within_max_iter():
    mdp = river(9)[0]
    mdp.rewards[8, 1] = 1
    plan = planning.value_iteration(mdp, 1 - 1e-9, max_iter=20)
    assert plan.iterations == 20
    assert not plan.converged
    assert np.abs(plan.v - optimum(mdp, 1 - 1e-9)).max() <= plan.error


def test_discount_zero_looks_at_rewards_only():
    mdp = tiny(np.full((2, 2, 2), 0.5), [[1, 2], [5, 3]])
    for method in METHODS:
        plan = planning.plan(mdp, discount=0, method=method)
        assert plan.v.tolist() == [2, 5]
        assert plan.policy.tolist() == [1, 0]
        assert plan.iterations == 1


def test_a_plan_can_start_from_another():
    mdp = random_tiny(5, S=8, A=3)
    first = planning.plan(mdp, discount=0.95)
    for method in METHODS:
        again = getattr(planning, method)(mdp, 0.95, 1e-6, v0=first.v)
        assert again.iterations == 1
        assert again.converged


def test_ties_go_to_the_lowest_action():
    P = np.random.default_rng(0).dirichlet(np.ones(7), (7, 1)).repeat(5, axis=1)
    available = np.ones((7, 5), bool)
    available[3, 0] = False
    P[3, 0] = 0
    mdp = tiny(P, np.where(available, 1.0, 0.0), available)
    expected = [0, 0, 0, 1, 0, 0, 0]
    assert (planning.plan(mdp).policy == expected).all()
    for method in METHODS:
        assert planning.plan(mdp, discount=0.9, method=method).policy.tolist() == expected


# -- bits


@settings(max_examples=60, deadline=None)
@given(seeds, some_discount)
def test_backward_induction_is_its_twin_to_the_bit(seed, discount):
    mdp = random_tiny(seed)
    q, v, policy = naive.backward_induction(mdp, mdp.horizon, discount)
    for form in (mdp, mdp.to_sparse()):
        plan = planning.backward_induction(form, discount=discount)
        assert (plan.q == q).all()
        assert (plan.v == v[:-1]).all()
        assert (plan.policy == policy).all()
        assert plan.iterations == mdp.horizon


@settings(max_examples=40, deadline=None)
@given(seeds, some_method, some_discount)
def test_dense_and_sparse_give_the_same_bits(seed, method, discount):
    mdp = random_tiny(seed)
    plans = [
        planning.plan(form, discount=discount, method=method) for form in (mdp, mdp.to_sparse())
    ]
    assert (plans[0].q == plans[1].q).all()
    assert plans[0].iterations == plans[1].iterations


def test_compiled_and_plain_give_the_same_bits():
    mdp = random_tiny(11, S=19, A=3)  # pairs in eights, and some over
    for form in (mdp, mdp.to_sparse()):
        rows = sweeps.rows_of(form.transitions, 19, 3)
        kind = "csr" if isinstance(rows, tuple) else "dense"
        results = []
        for version in (lambda f: f, plain):
            q, v = np.zeros((4, 19, 3)), np.zeros((5, 19))
            pi = np.zeros((4, 19), np.int64)
            induct = version(getattr(finite, f"induct_{kind}"))
            induct(rows, form.rewards, form.available, 0.9, None, None, q, v, pi)
            w, best = v[0].copy(), np.zeros(19)
            pairs = sweeps.pairs_of(pi[0], 3)
            follow = version(getattr(sweeps, f"follow_{kind}"))
            count = follow(rows, pairs, form.rewards.reshape(-1)[pairs], 0.9, 7, 0.0, w, best)
            sweep = version(getattr(sweeps, f"sweep_{kind}"))
            r = np.where(form.available, form.rewards, -np.inf)
            facts = sweep(rows, np.arange(57), r, 0.9, w, q[0], best, pi[0])
            results.append((q, v, pi, w, best, np.array([count, *facts])))
        assert all((a == b).all() for a, b in zip(*results, strict=True))


# -- over a horizon


def test_the_bound_over_a_horizon_is_met_in_exact_arithmetic():
    for seed in range(10):
        mdp = random_tiny(seed, S=9, A=3)
        plan = planning.backward_induction(mdp, horizon=8)
        v = [Fraction(0)] * mdp.S
        for h in reversed(range(8)):
            q = [
                [
                    Fraction(mdp.rewards[s, a])
                    + sum(Fraction(mdp.P[s, a, t]) * v[t] for t in range(mdp.S))
                    for a in np.flatnonzero(mdp.available[s])
                ]
                for s in range(mdp.S)
            ]
            v = [max(row) for row in q]
            assert max(abs(Fraction(plan.v[h, s]) - v[s]) for s in range(mdp.S)) <= plan.error


def test_in_place_induction_fills_what_it_is_given():
    for seed in range(20):
        mdp = random_tiny(seed)
        H, S, A = 4, mdp.S, mdp.A
        twin = naive.backward_induction(mdp, H)
        for form in (mdp, mdp.to_sparse()):
            q, v, pi = np.full((H, S, A), 9.0), np.full((H + 1, S), 9.0), np.full((H, S), 9)
            planning.backward_induction_into(form.transitions, mdp.rewards, mdp.available, q, v, pi)
            assert all((a == b).all() for a, b in zip((q, v, pi), twin, strict=True))


def test_optimism_adds_a_bonus_and_stops_at_the_ceiling():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mdp = random_tiny(seed)
        H, S, A = 4, mdp.S, mdp.A
        by_step = rng.random((H, S, A)) * np.abs(mdp.rewards).max()
        ceiling = np.sort(rng.normal(size=H))[::-1] * np.abs(mdp.rewards).max()
        for bonus in (by_step, by_step[:1]):
            twin = naive.backward_induction(
                mdp, H, bonus=np.broadcast_to(bonus, (H, S, A)), ceiling=ceiling
            )
            for form in (mdp, mdp.to_sparse()):
                q, v, pi = np.empty((H, S, A)), np.empty((H + 1, S)), np.empty((H, S), np.int64)
                planning.optimistic_induction_into(
                    form.transitions, mdp.rewards, bonus, ceiling, mdp.available, q, v, pi
                )
                assert all((a == b).all() for a, b in zip((q, v, pi), twin, strict=True))


# -- a given policy


def random_policy(mdp, rng, H=None):
    """Probabilities over the available actions, [S, A] or [H, S, A]."""
    shape = (mdp.S, mdp.A) if H is None else (H, mdp.S, mdp.A)
    weights = rng.random(shape) * mdp.available
    return weights / weights.sum(axis=-1, keepdims=True)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_visits_values_and_returns_agree(seed):
    rng = np.random.default_rng(seed)
    mdp = random_tiny(seed)
    H = mdp.horizon
    by_step, same = random_policy(mdp, rng, H), random_policy(mdp, rng)
    actions = by_step.argmax(axis=-1)
    for policy, chances in (
        (by_step, by_step),
        (same, np.broadcast_to(same, by_step.shape)),
        (actions, np.eye(mdp.A)[actions]),
        (actions[0], np.eye(mdp.A)[np.broadcast_to(actions[0], actions.shape)]),
    ):
        expected = naive.visits(mdp, chances)
        value = float((expected * mdp.rewards).sum())
        for form in (mdp, mdp.to_sparse()):
            visits = planning.expected_visits(form, policy)
            assert visits == pytest.approx(expected, abs=1e-12)
            assert visits.sum() == pytest.approx(H)
            v = planning.evaluate(form, policy)
            assert v.shape == (H, mdp.S)
            assert mdp.start @ v[0] == pytest.approx(value, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(seeds, some_discount)
def test_a_discounted_value_solves_its_equation(seed, discount):
    rng = np.random.default_rng(seed)
    mdp = random_tiny(seed)
    chances = random_policy(mdp, rng)
    actions = chances.argmax(axis=1)
    for form in (mdp, mdp.to_sparse()):
        v = planning.evaluate(form, chances, discount=discount)
        ahead = (chances * (mdp.rewards + discount * mdp.P @ v)).sum(axis=1)
        assert v == pytest.approx(ahead, rel=1e-9, abs=1e-9)
        v = planning.evaluate(form, actions, discount=discount)
        assert v == pytest.approx(naive.solve(mdp, actions, discount), rel=1e-9, abs=1e-9)
        one_hot = planning.evaluate(form, np.eye(mdp.A)[actions], discount=discount)
        assert v == pytest.approx(one_hot, rel=1e-9, abs=1e-9)
        long = planning.evaluate(form, actions, horizon=200, discount=min(discount, 0.5))
        short = planning.evaluate(form, actions, discount=min(discount, 0.5))
        assert long[0] == pytest.approx(short, rel=1e-9, abs=1e-9)


def test_a_large_sparse_policy_is_solved_sparse():
    n = 500
    P = np.zeros((n, 1, n))
    P[np.arange(n), 0, (np.arange(n) + 1) % n] = 1
    mdp = tiny(P, np.eye(n)[:, :1]).to_sparse()
    v = planning.evaluate(mdp, np.zeros(n, int), discount=0.9)
    assert v[0] == pytest.approx(1 / (1 - 0.9**n))
    assert v[n - 3] == pytest.approx(0.9**3 * v[0])


def test_the_optimal_plan_is_worth_what_it_says():
    for seed in range(20):
        mdp = random_tiny(seed)
        plan = planning.plan(mdp, horizon=6)
        assert planning.evaluate(mdp, plan.policy, horizon=6) == pytest.approx(plan.v, abs=1e-9)


# -- where it leads


def test_reachable_states():
    for seed in range(60):
        mdp = random_tiny(seed, S=8, concentration=0.05)
        mdp.start = np.where(mdp.start > 0.3, mdp.start, 0)
        if mdp.start.any():
            for form in (mdp, mdp.to_sparse()):
                assert (planning.reachable(form) == naive.reachable(mdp)).all()


def ring(n):
    P = np.zeros((n, 1, n))
    P[np.arange(n), 0, (np.arange(n) + 1) % n] = 1
    return tiny(P, np.zeros((n, 1)))


def river(n, right=0.3, back=0.1):
    """A chain swum to the left for sure, to the right with luck; and how long that takes."""
    P = np.zeros((n, 2, n))
    for s in range(n):
        P[s, 0, max(s - 1, 0)] = 1
        P[s, 1, max(s - 1, 0)] += back
        P[s, 1, min(s + 1, n - 1)] += right
        P[s, 1, s] += 1 - right - back
    steps = [1 / right]
    for _ in range(n - 2):
        steps.append((1 + back * steps[-1]) / right)
    return tiny(P, np.zeros((n, 2))), sum(steps)


@pytest.mark.parametrize("sweep_limit", [100, 1])
def test_diameter_by_hand(monkeypatch, sweep_limit):
    monkeypatch.setattr(graph, "SWEEPS", sweep_limit)
    assert planning.diameter(tiny([[[1.0]]], [[0]])) == 0
    assert planning.diameter(ring(2)) == pytest.approx(1)
    assert planning.diameter(ring(7)) == pytest.approx(6)
    for n in (2, 6, 40, 301):
        mdp, longest = river(n)
        assert planning.diameter(mdp.to_sparse()) == pytest.approx(longest, rel=1e-8)
    assert planning.diameter(river(40)[0]) == pytest.approx(river(40)[1], rel=1e-8)


@pytest.mark.parametrize("sweep_limit", [100, 0])
def test_the_fastest_way_need_not_have_the_fewest_steps(monkeypatch, sweep_limit):
    """A leap that succeeds once in twenty trials, or two sure steps."""
    monkeypatch.setattr(graph, "SWEEPS", sweep_limit)
    leap = [[0.95, 0, 0.05], [0, 0, 1], [1, 0, 0]]
    walk = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    mdp = tiny(np.stack([leap, walk], axis=1), np.zeros((3, 2)))
    assert planning.diameter(mdp) == pytest.approx(2)


def test_diameter_is_infinite_where_there_is_no_way():
    one_way = tiny([[[0.5, 0.5]], [[0, 1.0]]], np.zeros((2, 1)))
    assert planning.diameter(one_way) == np.inf
    ends = tiny([[[0.5, 0.5]], [[0, 1.0]]], np.zeros((2, 1)), terminal=[1])
    assert planning.diameter(ends) == np.inf
    P = np.array([[[0.5, 0.5], [1, 0]], [[0, 1.0], [0, 0]]])  # the way back is not available
    assert planning.diameter(tiny(P, np.zeros((2, 2)), [[1, 1], [1, 0]])) == np.inf


@pytest.mark.parametrize("sweep_limit", [100, 3])
def test_diameter_by_linear_programming(monkeypatch, sweep_limit):
    monkeypatch.setattr(graph, "SWEEPS", sweep_limit)
    finite_ones = 0
    for seed in range(40):
        mdp = random_tiny(seed, S=6, concentration=0.3, ends=False)
        longest = naive.diameter(mdp)
        finite_ones += np.isfinite(longest)
        for form in (mdp, mdp.to_sparse()):
            assert planning.diameter(form) == pytest.approx(longest, rel=1e-7)
    assert finite_ones >= 20


def test_diameter_over_several_batches(monkeypatch):
    mdp = tiny(np.random.default_rng(0).dirichlet(np.ones(30), (30, 3)), np.zeros((30, 3)))
    longest = naive.diameter(mdp)
    monkeypatch.setattr(graph, "BATCH", 7)
    assert planning.diameter(mdp) == pytest.approx(longest, rel=1e-8)


# -- what is asked, and what is said


def test_plan_chooses_by_what_it_is_given():
    mdp = random_tiny(2, S=4)
    assert planning.plan(mdp).method == "backward_induction"
    assert planning.plan(mdp).v.shape == (mdp.horizon, 4)
    assert planning.plan(mdp, horizon=3).v.shape == (3, 4)
    assert planning.plan(mdp, discount=0.9).v.shape == (4,)
    assert planning.plan(mdp, discount=0.9).method == "policy_iteration"
    assert planning.plan(mdp.to_sparse(), discount=0.9).method == "modified_policy_iteration"
    assert planning.plan(random_tiny(2, S=20), 0.9).method == "modified_policy_iteration"
    both = planning.plan(mdp, discount=0.9, horizon=3)
    assert (both.v == planning.backward_induction(mdp, 3, 0.9).v).all()
    mdp.discount = 0.5
    assert planning.plan(mdp).method == "backward_induction"
    own = planning.plan(mdp, method="policy_iteration")
    assert (own.v == planning.policy_iteration(mdp, 0.5).v).all()


MDP = tiny(np.array([[[0.5, 0.5], [0, 0]], [[1, 0], [0, 1.0]]]), [[0, 0], [0, 1]], [[1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planning.plan(MDP, 1.0), r"discount 1.0 is not in \[0, 1\)"),
        (lambda: planning.plan(MDP, -0.1), r"discount -0.1 is not in \[0, 1\)"),
        (lambda: planning.plan(MDP, np.nan), r"discount nan is not in \[0, 1\)"),
        (lambda: planning.plan(MDP, 1.5, horizon=3), r"discount 1.5 is not in \[0, 1\]"),
        (lambda: planning.evaluate(MDP, [0, 0], discount=1), r"discount 1 is not in"),
        (lambda: planning.plan(MDP, method="valu_iteration"), "did you mean 'value_iteration'?"),
        (lambda: planning.plan(MDP, method="magic"), "choose from auto, backward_induction"),
        (lambda: planning.plan(MDP, method="value_iteration"), "needs a discount"),
        (lambda: planning.plan(MDP, 0.9, 3, method="value_iteration"), "has no horizon"),
        (lambda: planning.plan(MDP, 0.9, tolerance=0), "tolerance 0 is not positive"),
        (
            lambda: planning.plan(MDP, 0.9, max_iter=0),
            "max_iter = 0: give a whole number, 1 or more",
        ),
        (lambda: planning.plan(MDP, horizon=2.5), "horizon = 2.5: give a whole number"),
        (lambda: planning.plan(MDP, horizon=True), "horizon = True: give a whole number"),
        (lambda: planning.plan(MDP, 0.9, max_iter=1e3), "max_iter = 1000.0: give a whole number"),
        (lambda: planning.plan(MDP, horizon=0), "horizon = 0: give a whole number, 1 or more"),
        (lambda: planning.plan(MDP, horizon=5, max_iter=4), "more than max_iter 4"),
        (lambda: planning.value_iteration(MDP, 0.9, v0=[1]), r"v0 has shape \(1,\), not \(2,\)"),
        (lambda: planning.value_iteration(MDP, 0.9, v0=[1, np.inf]), r"v0\[1\] is inf"),
        (lambda: planning.evaluate(MDP, [0, 2]), r"policy\[1\] = 2 is no action: 0 to 1 are"),
        (lambda: planning.evaluate(MDP, [0, -1]), r"policy\[1\] = -1 is no action"),
        (
            lambda: planning.evaluate(MDP, [1, 0]),
            r"policy\[0\] = 1, but action 1 is not available in state 0: choose from 0",
        ),
        (
            lambda: planning.evaluate(MDP, [[0.5, 0.5], [1, 0]]),
            r"policy\[0, 1\] = 0.5, but action 1 is not available in state 0",
        ),
        (lambda: planning.evaluate(MDP, [[1, 0], [0.5, 0.4]]), r"policy\[1\] sums to 0.9, not 1"),
        (lambda: planning.evaluate(MDP, [[1, 0], [-0.5, 1.5]]), r"policy\[1, 0\] = -0.5 is no"),
        (lambda: planning.evaluate(MDP, [[1, 0], [np.nan, 1]]), "is no probability"),
        (lambda: planning.evaluate(MDP, [0]), r"actions has shape \(1,\), not \(2,\) or \(5, 2\)"),
        (
            lambda: planning.evaluate(MDP, np.zeros((5, 2), int), discount=0.9),
            r"actions has shape \(5, 2\), not \(2,\)",
        ),
        (lambda: planning.expected_visits(MDP, np.ones(2)), r"probabilities has shape \(2,\)"),
        (lambda: planning.diameter(MDP, tolerance=-1), "tolerance -1 is not positive"),
        (
            lambda: planning.backward_induction_into(
                MDP.transitions,
                MDP.rewards,
                MDP.available,
                np.empty((3, 2, 2)),
                np.empty((3, 2)),
                np.empty((3, 2), int),
            ),
            r"v \(3, 2\).*do not fit",
        ),
        (
            lambda: planning.backward_induction_into(
                MDP.transitions[:, :1],
                MDP.rewards,
                MDP.available,
                np.empty((3, 2, 2)),
                np.empty((4, 2)),
                np.empty((3, 2), int),
            ),
            r"P has shape \(2, 1, 2\), not \(2, 2, 2\)",
        ),
        (
            lambda: planning.optimistic_induction_into(
                MDP.transitions,
                MDP.rewards,
                MDP.rewards,
                np.ones(3),
                MDP.available,
                np.empty((3, 2, 2)),
                np.empty((4, 2)),
                np.empty((3, 2), int),
            ),
            r"bonus \(2, 2\)",
        ),
    ],
)
def test_errors_name_the_culprit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planning.evaluate(MDP, ["a", "b"]), "neither actions"),
        (lambda: planning.evaluate(MDP, [True, False]), "neither actions"),
    ],
)
def test_types_are_checked(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_zero_that_is_stored_is_no_way():
    """States 0 and 1 lead to each other, and neither to 2, though a 0 is stored for that."""
    P = sparse.csr_array(
        ([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], [1, 2, 1, 0, 2, 0, 2, 2], [0, 2, 3, 5, 6, 7, 8]),
        shape=(6, 3),
    )
    ways = graph._graph(SimpleNamespace(transitions=P, S=3, A=2))
    assert sorted(zip(*(part.tolist() for part in ways.nonzero()), strict=True)) == [
        (0, 1),
        (1, 0),
        (2, 2),
    ]
    assert ways.nnz == 3
