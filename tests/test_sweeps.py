"""The compiled sweeps against matrices: every number they return, on values of every size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gim._compile.jit import plain
from gim.planning import sweeps

KINDS = ["dense", "csr"]


def kernel(name, kind):
    return plain(getattr(sweeps, f"{name}_{kind}"))


def world(seed, S=7, A=3, size=1.0):
    """Rows [S, A, S] with zeros among them, rewards of this size, some pairs not available."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.3), (S, A))
    P[rng.random(P.shape) < 0.3] = 0.0
    r = size * rng.normal(size=(S, A))
    r[:, 1:][rng.random((S, A - 1)) < 0.25] = -np.inf
    return P, r, size * rng.normal(size=S)


def rows(P, kind):
    S, A, _ = P.shape
    return sweeps.rows_of(P if kind == "dense" else sparse.csr_array(P.reshape(S * A, S)), S, A)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [0, 1, 7, 8, 9, 21])
def test_expected_values_of_any_pairs(kind, many):
    P, _, v = world(many)
    pairs = np.random.default_rng(1).permutation(21)[:many]
    out = np.full(many, np.nan)
    kernel("expected", kind)(rows(P, kind), pairs, v, out)
    assert np.allclose(out, P.reshape(21, 7)[pairs] @ v, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_sweep_gives_values_policy_and_the_range_of_changes(kind, size):
    for seed in range(4):
        P, r, v = world(seed, size=size)
        r[2], P[2] = size, P[2, 0]  # a tie
        q, best, pi = np.empty((7, 3)), np.empty(7), np.full(7, -1)
        arguments = (rows(P, kind), np.arange(21), r, 0.7, v, q, best, pi)
        low, high, largest = kernel("sweep", kind)(*arguments)
        Q = r + 0.7 * (P @ v)
        assert np.allclose(best, Q.max(axis=1), rtol=1e-13, atol=0)
        assert pi.tolist() == Q.argmax(axis=1).tolist()
        assert pi[2] == 0  # of equal actions the lowest
        assert low == (best - v).min()
        assert high == (best - v).max()
        assert largest == max(np.abs(best).max(), np.abs(v).max())
        if kind == "dense":
            assert np.allclose(q, Q, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("H", [1, 2, 5])
@pytest.mark.parametrize("kept", [True, False])
def test_steps_from_the_end(kind, H, kept):
    P, r, _ = world(H, size=0.1)
    v, expected, policy, largest = np.full((2, 7), np.nan), np.zeros(7), [], 0.0
    for _ in range(H):
        Q = r + 0.9 * (P @ expected)
        expected, policy = Q.max(axis=1), [Q.argmax(axis=1).tolist(), *policy]
        largest = max(largest, np.abs(expected).max())
    pi = np.full((H if kept else 1, 7), -1)
    found = kernel("steps", kind)(rows(P, kind), np.arange(21), r, 0.9, H, v, np.empty((7, 3)), pi)
    assert np.allclose(v[0], expected, rtol=1e-12)
    assert pi.tolist() == (policy if kept else policy[:1])
    assert found == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_is_followed_until_changes_agree(kind):
    P, r, start = world(3)
    P /= P.sum(axis=2, keepdims=True)
    pairs = sweeps.pairs_of(np.zeros(7, int), 3)
    assert pairs.tolist() == [0, 3, 6, 9, 12, 15, 18]
    assert sweeps.pairs_of(np.array([2, 0, 1]), 3).tolist() == [2, 3, 7]
    T, pays = P.reshape(21, 7)[pairs], r.ravel()[pairs]
    widths, v = [], start.copy()
    for _ in range(6):
        new = pays + 0.8 * T @ v
        widths.append(np.ptp(new - v))
        v = new + 0.8 / 0.2 * ((new - v).min() + (new - v).max()) / 2
    assert widths == sorted(widths, reverse=True)
    enough = 0.5 * (widths[2] + widths[3])
    v = start.copy()
    follow = kernel("follow", kind)
    assert follow(rows(P, kind), pairs, pays, 0.8, 50, enough, v, np.empty(7))[0] == 4
    assert follow(rows(P, kind), pairs, pays, 0.8, 3, 0.0, start.copy(), np.empty(7))[0] == 3


def test_rewards_are_added_where_a_pair_is_available():
    q = np.array([[1.0, 2.0], [3.0, 4.0]])
    available = np.array([[True, False], [True, True]])
    plain(sweeps.add_rewards)(q, np.array([[10.0, 20.0], [30.0, 40.0]]), available, 0.5)
    assert q.tolist() == [[10.5, -np.inf], [31.5, 42.0]]


def test_shapes_of_rows_are_named():
    with pytest.raises(ValueError, match=r"shape \(2, 3, 3\), not \(2, 3, 2\)"):
        sweeps.rows_of(np.zeros((2, 3, 3)), 2, 3)
    with pytest.raises(ValueError, match=r"shape \(5, 2\), not \(6, 2\): row s\*A \+ a"):
        sweeps.rows_of(sparse.csr_array((5, 2)), 2, 3)


@pytest.mark.parametrize(("A", "bits"), [(1, 8), (2, 8), (256, 8), (257, 16), (65_537, 32)])
def test_policies_take_the_smallest_type(A, bits):
    assert sweeps.compact(A) == np.dtype(f"uint{bits}")
