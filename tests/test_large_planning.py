"""Planning in large sparse MDPs: inexact policy iteration, its kernels, and what a plan keeps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import gim
from gim import planning
from gim._compile.jit import plain
from gim.planning import evaluation, inexact, krylov, linear
from gim.planning.sweeper import Sweeper
from tests import naive_planning as naive
from tests.naive_planning import Tiny, random_tiny

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def csr_mdp(entries, r, available=None, terminal=(), horizon=5):
    """From (p, pair, next state), three arrays."""
    S, A = r.shape
    p, pair, after = (np.concatenate(part) for part in zip(*entries, strict=True))
    P = sparse.coo_array((p, (pair, after)), shape=(S * A, S)).tocsr()
    ends = np.isin(np.arange(S), terminal)
    available = np.ones((S, A), bool) if available is None else available
    return Tiny(P, r, available, ends, np.full(S, 1 / S), horizon)


def grid(side, r, slip=0.2, order=None):
    """Four moves that slip to either side; `order` gives cells other numbers."""
    cells = np.arange(side * side)
    number = cells if order is None else order
    i, j = np.divmod(cells, side)
    after = [np.clip(i + di, 0, side - 1) * side + np.clip(j + dj, 0, side - 1) for di, dj in STEPS]
    chances = ((0, 1 - slip), (1, slip / 2), (3, slip / 2))
    entries = [
        (np.full(cells.size, p), number * 4 + a, number[after[(a + turn) % 4]])
        for a in range(4)
        for turn, p in chances
    ]
    return csr_mdp(entries, r[np.argsort(number)])


def corner(side, order=None):
    r = np.full((side * side, 4), -0.04)
    r[-1] = 1
    return grid(side, r, order=order)


def far_rewards(side, seed):
    return grid(side, np.random.default_rng(seed).random((side * side, 4)))


def garnet(S, A, seed):
    """Four successors a pair, some pairs missing, some states final."""
    rng = np.random.default_rng(seed)
    available = rng.random((S, A)) < 0.8
    available[:, 0] = True
    ends = rng.choice(S, 3, replace=False)
    available[ends] = True
    pair = np.repeat(np.flatnonzero(available.ravel() & ~np.isin(np.arange(S), ends).repeat(A)), 4)
    p = rng.dirichlet(np.ones(4), pair.size // 4).ravel()
    loops = (ends[:, None] * A + np.arange(A)).ravel()
    entries = [
        (p, pair, rng.integers(S, size=pair.size)),
        (np.ones(loops.size), loops, loops // A),
    ]
    r = np.where(available, rng.normal(size=(S, A)), 0)
    r[ends] = 0
    return csr_mdp(entries, r, available, ends)


def river(n):
    """A long chain, swum against the stream: a small reward near, a large one far."""
    s = np.arange(n)
    left, right = np.maximum(s - 1, 0), np.minimum(s + 1, n - 1)
    moves = [(1.0, 0, left), (0.1, 1, left), (0.6, 1, s), (0.3, 1, right)]
    r = np.zeros((n, 2))
    r[0, 0], r[-1, 1] = 0.005, 1
    return csr_mdp([(np.full(n, p), 2 * s + a, after) for p, a, after in moves], r)


WORLDS = {
    "corner": lambda: corner(25),
    "shuffled": lambda: corner(21, np.random.default_rng(3).permutation(441)),
    "far rewards": lambda: far_rewards(20, 0),
    "garnet": lambda: garnet(600, 3, 1),
    "river": lambda: river(350),
}


# -- inexact policy iteration


@pytest.mark.parametrize("discount", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("world", WORLDS)
def test_inexact_policy_iteration_is_value_iteration(world, discount):
    mdp = WORLDS[world]()
    plan = planning.plan(mdp, discount=discount, tolerance=1e-9)
    twin = naive.value_iteration(mdp, discount)
    assert plan.method == "inexact_policy_iteration"
    assert plan.converged
    assert np.abs(plan.v - twin).max() <= 1.2e-9  # 1e-9 is ours, the rest the twin's
    assert plan.error <= 1e-9 or plan.error < 1e-12 * np.abs(twin).max() / (1 - discount) ** 2


@pytest.mark.parametrize("world", WORLDS)
def test_a_discount_of_9999_takes_hundreds_of_sweeps_and_not_hundreds_of_thousands(world):
    mdp = WORLDS[world]()
    plan = planning.plan(mdp, discount=0.9999, tolerance=1e-6)
    assert plan.converged
    assert plan.iterations <= 600
    assert np.abs(naive.solve(mdp, plan.policy, 0.9999) - plan.v).max() <= plan.error + 1e-9
    # No pair is better than the policy: it is optimal.
    P, v = mdp.transitions, plan.v
    q = np.where(mdp.available, mdp.rewards + 0.9999 * (P @ v).reshape(mdp.S, mdp.A), -np.inf)
    assert (q.max(axis=1) - v).max() <= 1e-4 * plan.error + 1e-9


@pytest.mark.parametrize("S", [60, 3000])
def test_the_method_follows_from_what_sweeps_show_and_not_from_the_size(S):
    rng, pairs = np.random.default_rng(2), np.repeat(np.arange(3 * S), 4)
    drawn = rng.dirichlet(np.ones(4), 3 * S).ravel(), pairs, rng.integers(S, size=pairs.size)
    fast, slow = csr_mdp([drawn], rng.random((S, 3))), river(S)
    for discount in (0.95, 0.9999):
        plan = planning.plan(fast, discount=discount, tolerance=1e-6)
        assert plan.method == "modified_policy_iteration"
        assert plan.iterations <= 20
        plan = planning.plan(slow, discount=discount, tolerance=1e-6)
        assert plan.method == "inexact_policy_iteration"


def test_where_the_krylov_method_fails_systems_are_solved(monkeypatch):
    mdp = corner(25)
    truth = planning.plan(mdp, discount=0.999).v
    calls = []

    def broken(*arguments):
        calls.append(1)
        return 1, np.nan

    monkeypatch.setattr(inexact, "solve", broken)
    solved = planning.plan(mdp, discount=0.999)
    assert calls
    assert np.abs(solved.v - truth).max() <= 2e-8
    monkeypatch.setattr(inexact, "fits", lambda P: False)
    swept = planning.plan(mdp, discount=0.999)
    assert np.abs(swept.v - truth).max() <= 2e-8
    assert swept.iterations > 5 * solved.iterations


def test_sweeps_alone_are_counted_and_limited():
    plan = planning.plan(corner(25), discount=0.999, max_iter=7)
    assert plan.iterations == 7
    assert not plan.converged
    assert np.abs(plan.v - planning.plan(corner(25), discount=0.999).v).max() <= plan.error


# -- its kernels


@pytest.mark.parametrize("seed", range(6))
def test_a_sweep_in_place_is_its_twin(seed):
    mdp = random_tiny(seed, S=7, A=3)
    sweeper = Sweeper(mdp.to_sparse())
    start = np.random.default_rng(seed).normal(size=7)
    for backward in (False, True):
        order = reversed(range(7)) if backward else range(7)
        twin = naive.improve_in_place(mdp, 0.9, order, start)
        for version in (krylov.improve, plain(krylov.improve)):
            v = start.copy()
            change = version(sweeper.rows, sweeper.r, 0.9, backward, v)
            assert v == pytest.approx(twin, rel=1e-12, abs=1e-12)
            assert change == pytest.approx(np.abs(twin - start).max(), rel=1e-12)


def packed(mdp, policy, discount, version=lambda f: f):
    sweeper = Sweeper(mdp, as_csr=True)
    _, indices, indptr = sweeper.rows
    entries, S = int(np.diff(indptr).max()) * mdp.S, mdp.S
    N = np.empty(entries), np.empty(entries, indices.dtype), np.empty(S + 1, np.int64)
    pay = np.empty(S)
    version(krylov.pack)(sweeper.rows, sweeper.r, discount, policy, N, pay)
    return N, pay


@pytest.mark.parametrize("seed", range(6))
def test_the_packed_system_has_the_value_of_the_policy_and_no_diagonal(seed):
    mdp = random_tiny(seed, S=8, A=3)
    policy = np.where(mdp.available, 1, 0).argmax(axis=1)
    (weights, columns, ends), pay = packed(mdp, policy, 0.9)
    n = ends[-1]
    N = sparse.csr_array((weights[:n], columns[:n].astype(int), ends), shape=(8, 8))
    assert not N.diagonal().any()
    v = naive.solve(mdp, policy, 0.9)
    assert pay + N @ v == pytest.approx(v, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("discount", [0.9, 0.9999])
def test_the_krylov_method_solves_the_system(discount):
    mdp = far_rewards(12, 5)
    policy = mdp.rewards.argmax(axis=1)
    twin = naive.solve(mdp, policy, discount)
    results = []
    for version in (lambda f: f, plain):
        N, pay = packed(mdp, policy, discount, version)
        v, room = np.zeros(mdp.S), tuple(np.empty((7, mdp.S)))
        count, fell = version(krylov.solve)(N, pay, 1e-13, 500, v, room)
        assert fell <= 1e-13
        assert np.abs(v - twin).max() <= 1e-9 * np.abs(twin).max()
        assert count < 150  # sweeps would take 1 / (1 - discount) each digit
        results.append((count, fell, v))
    assert results[0][:2] == results[1][:2]
    assert (results[0][2] == results[1][2]).all()  # compiled and plain agree bit for bit


def test_a_breakdown_leaves_the_values_alone():
    mdp = corner(6)
    policy = np.zeros(mdp.S, np.uint8)
    N, pay = packed(mdp, policy, 0.9)
    room = tuple(np.empty((7, mdp.S)))
    v = naive.solve(mdp, policy, 0.9)
    before = v.copy()
    N[0][:] = np.nan
    assert np.isnan(krylov.solve(N, pay, 1e-3, 10, v, room)[1])
    assert (v == before).all()


# -- direct solutions


def test_a_direct_solution_is_tried_where_its_fill_is_bounded():
    def rows(mdp):
        return linear.under(mdp, np.zeros(mdp.S, int))[0]

    assert linear.fits(rows(corner(40)))
    assert linear.fits(rows(garnet(300, 2, 0)))  # dense at that size
    assert not linear.fits(rows(garnet(30_000, 2, 0)))  # no order keeps a random graph narrow


def test_a_policy_too_large_for_a_direct_solution_is_valued_all_the_same(monkeypatch):
    mdp = far_rewards(25, 2)
    for policy in (mdp.rewards.argmax(axis=1), np.full((mdp.S, 4), 0.25)):
        solved = planning.evaluate(mdp, policy, discount=0.999)
        monkeypatch.setattr(evaluation, "fits", lambda P: False)
        iterated = planning.evaluate(mdp, policy, discount=0.999)
        monkeypatch.undo()
        assert (iterated != solved).any()  # it went another way
        assert np.abs(iterated - solved).max() <= 1e-9


# -- what a plan keeps


@pytest.mark.parametrize(("A", "dtype"), [(3, np.uint8), (256, np.uint8), (257, np.uint16)])
def test_a_plan_keeps_small_actions_and_makes_the_rest_when_read(A, dtype):
    mdp = random_tiny(1, S=6, A=A)
    q, v, policy = naive.backward_induction(mdp, 4)
    for form in (mdp, mdp.to_sparse()):
        plan = planning.backward_induction(form, 4)
        assert plan.actions.dtype == dtype
        assert not {"q", "v", "policy"} & set(vars(plan))
        assert (plan.first == v[0]).all()
        assert (plan.q == q).all()
        assert (plan.v == v[:-1]).all()
        assert (plan.policy == policy).all()
        assert plan.policy.dtype == np.int64
        assert plan.q is plan.q


def peak(job):
    """The most that a job has allocated at once, in bytes."""
    job()  # what is compiled or imported does not count
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_horizon_takes_a_byte_a_step_and_state_and_a_return_two_vectors():
    given = corner(30)
    mdp = gim.TabularMDP(given.transitions, given.rewards, horizon=400)
    vector = mdp.S * 8
    assert peak(mdp.plan) <= 400 * mdp.S + 10 * vector
    assert peak(lambda: planning.optimal_values(mdp)) <= 10 * vector
    policy = mdp.plan().actions
    assert peak(lambda: mdp.policy_return(policy)) <= 20 * vector
    assert mdp.policy_return(policy) == pytest.approx(mdp.optimal_return(), rel=1e-12)
    assert mdp.optimal_return() == pytest.approx(mdp.start @ mdp.plan().v[0], rel=1e-12)
