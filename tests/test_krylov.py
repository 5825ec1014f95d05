"""Kernels of policy evaluation against matrices: sweeps in place, rows of a policy, BiCGSTAB."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gim.planning.krylov import improve, pack, solve
from gim.planning.sweeps import follow_csr, follow_dense, gather

S, A, DISCOUNT = 12, 3, 0.9


def world(seed):
    """Sparse rows [S*A, S], some of which stay, and rewards; one pair is not available."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.2), S * A)
    P[rng.random(P.shape) < 0.4] = 0
    P[np.arange(S * A), np.arange(S * A) // A] += 0.1
    P /= P.sum(axis=1, keepdims=True)
    r = rng.normal(size=(S, A))
    r[3, 1] = -np.inf
    return P, r, rng


def csr(P):
    rows = sparse.csr_array(P)
    return rows.data, rows.indices.astype(np.uint32), rows.indptr.astype(np.int64)


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_in_place_solves_each_action_for_its_own_state(backward):
    P, r, rng = world(0)
    v = rng.normal(size=S)
    expected, largest = v.copy(), 0.0
    for s in range(S)[::-1] if backward else range(S):
        q = []
        for a in range(A):
            row = P[s * A + a]
            others = sum(row[t] * expected[t] for t in range(S) if t != s)
            q.append((r[s, a] + DISCOUNT * others) / (1 - DISCOUNT * row[s]))
        largest = max(largest, abs(max(q) - expected[s]))
        expected[s] = max(q)
    assert improve(csr(P), r, DISCOUNT, backward, v) == pytest.approx(largest)
    assert v == pytest.approx(expected)
    for _ in range(200):
        change = improve(csr(P), r, DISCOUNT, backward, v)
    assert change < 1e-12  # and nothing else is left of it


def packed(P, r, policy):
    N, pay = (np.empty(S * S), np.empty(S * S, np.uint32), np.empty(S + 1, np.int64)), np.empty(S)
    pack(csr(P), r, DISCOUNT, policy, N, pay)
    return N, pay


def test_the_rows_of_a_policy_are_solved_for_their_own_state():
    P, r, rng = world(1)
    policy = rng.integers(0, A, size=S)
    policy[3] = 0
    (weights, columns, ends), pay = packed(P, r, policy)
    used = ends[-1]
    N = sparse.csr_array((weights[:used], columns[:used], ends), shape=(S, S)).toarray()
    for s, a in enumerate(policy):
        row = P[s * A + a]
        scale = 1 / (1 - DISCOUNT * row[s])
        assert pay[s] == pytest.approx(scale * r[s, a])
        assert N[s, s] == 0
        assert np.delete(N[s], s) == pytest.approx(np.delete(scale * DISCOUNT * row, s))


def bicgstab(N, pay, v, n):
    """n iterations (van der Vorst, 1992), preconditioned by I - L on the left, I - U on the right.

    Gives v and the factor by which the largest residual fell.
    """
    left, right = np.linalg.inv(np.eye(S) - np.tril(N)), np.linalg.inv(np.eye(S) - np.triu(N))
    M, b = left @ (np.eye(S) - N) @ right, left @ (pay + N @ v - v)
    y, r, p, shadow = np.zeros(S), b.copy(), b.copy(), b
    for _ in range(n):
        alpha = (shadow @ r) / (shadow @ M @ p)
        half = r - alpha * M @ p
        omega = (M @ half) @ half / ((M @ half) @ (M @ half))
        y = y + alpha * p + omega * half
        new = half - omega * M @ half
        p = new + (shadow @ new) / (shadow @ r) * alpha / omega * (p - omega * M @ p)
        r = new
    return v + right @ y, np.abs(r).max() / np.abs(b).max()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_solving_is_bicgstab(n):
    P, r, rng = world(2)
    N, pay = packed(P, r, np.zeros(S, np.int64))
    matrix = sparse.csr_array((N[0][: N[2][-1]], N[1][: N[2][-1]], N[2]), shape=(S, S)).toarray()
    v = rng.normal(size=S)
    expected, fell = bicgstab(matrix, pay, v.copy(), n)
    assert fell < 1
    steps, factor = solve(N, pay, 0.0, n, v, tuple(np.empty((7, S))))
    assert steps == n
    assert factor == pytest.approx(fell, rel=1e-6)
    assert v == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_solving_ends_at_its_goal_and_leaves_what_it_cannot_better():
    P, r, rng = world(3)
    N, pay = packed(P, r, np.zeros(S, np.int64))
    matrix = sparse.csr_array((N[0][: N[2][-1]], N[1][: N[2][-1]], N[2]), shape=(S, S)).toarray()
    exact = np.linalg.solve(np.eye(S) - matrix, pay)
    v = rng.normal(size=S)
    steps, factor = solve(N, pay, 1e-9, 50, v, tuple(np.empty((7, S))))
    assert 2 < steps < 20
    assert factor <= 1e-9
    assert v == pytest.approx(exact, abs=1e-7)
    before = v.copy()
    assert solve(N, pay, 1.0, 50, v, tuple(np.empty((7, S)))) == (0, 1.0)  # it is there already
    assert np.array_equal(v, before)


@pytest.mark.parametrize("follow", [follow_csr, follow_dense])
@pytest.mark.parametrize("sweeps", [1, 2, 5])
def test_following_a_policy_moves_ahead_by_the_mean_change(follow, sweeps):
    P, _, rng = world(4)
    r, v, pairs = rng.normal(size=S), rng.normal(size=S), np.arange(S) * A + 1
    expected = v.copy()
    for _ in range(sweeps):
        new = np.array([r[s] + DISCOUNT * P[s * A + 1] @ expected for s in range(S)])
        change = new - expected
        expected = new + DISCOUNT / (1 - DISCOUNT) * (change.min() + change.max()) / 2
    rows = csr(P) if follow is follow_csr else P
    given = (rows, pairs.astype(np.uint64), r, DISCOUNT)
    assert follow(*given, sweeps, 0.0, v, np.empty(S))[0] == sweeps
    assert v == pytest.approx(expected)
    count, span = follow(*given, 1000, 1e-10, v, np.empty(S))
    assert count < 300
    assert span <= 1e-10
    policy = P[pairs]
    assert v == pytest.approx(np.linalg.solve(np.eye(S) - DISCOUNT * policy, r), abs=1e-8)


def test_rows_are_gathered_in_the_places_of_their_states():
    P, _, rng = world(5)
    weights, columns, indptr = rows = csr(P)
    longest = np.diff(indptr).reshape(S, A).max(axis=1)
    ends = np.repeat(np.cumsum(longest) - longest, 2)
    places = np.full(longest.sum(), np.nan), np.zeros(longest.sum(), np.uint32), ends
    held = np.full(S, -1)
    for policy in (rng.integers(A, size=S), rng.integers(A, size=S)):  # the second keeps some rows
        pairs = np.arange(S) * A + policy
        gather(rows, pairs, held, places)
        assert (held == pairs).all()
        for s in range(S):
            there = slice(ends[2 * s], ends[2 * s + 1])
            expected = slice(indptr[pairs[s]], indptr[pairs[s] + 1])
            assert (places[0][there] == weights[expected]).all()
            assert (places[1][there] == columns[expected]).all()
