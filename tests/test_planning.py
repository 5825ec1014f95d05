"""Planners against linear programs, direct solves, slow twins and their own stated bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gim import planning
from gim._compile.jit import plain
from gim.planning import finite, sweeps
from tests import naive_planning as naive
from tests.naive_planning import random_tiny, river, tiny

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


@settings(max_examples=60, deadline=None)
@given(seeds, some_discount, st.floats(-13, 1), st.integers(1, 30))
def test_the_bound_is_met_whatever_is_chosen(seed, discount, digits, max_iter):
    mdp = random_tiny(seed)
    v = optimum(mdp, discount)
    slack = 4 * np.finfo(float).eps * max(1e-300, np.abs(v).max())
    for form in (mdp, mdp.to_sparse()):
        plan = planning.plan(form, discount, tolerance=10.0**digits, max_iter=max_iter)
        assert np.abs(plan.v - v).max() <= plan.error + slack
        assert (plan.policy == plan.q.argmax(axis=1)).all()
        assert 1 <= plan.iterations <= max_iter
        assert plan.converged or plan.iterations == max_iter


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
            done = follow(rows, pairs, form.rewards.reshape(-1)[pairs], 0.9, 7, 0.0, w, best)
            sweep = version(getattr(sweeps, f"sweep_{kind}"))
            r = np.where(form.available, form.rewards, -np.inf)
            facts = sweep(rows, np.arange(57), r, 0.9, w, q[0], best, pi[0])
            results.append((q, v, pi, w, best, np.array([*done, *facts])))
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
