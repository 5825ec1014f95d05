"""Dynamic matrices, their spectral properties, and the projection on the simplex."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import gim
from gim.model import matrices as module
from gim.model import projection
from gim.model.matrices import dynamic_matrices, oversampling, spectrum
from gim.model.projection import project_simplex
from tests import naive_completion as naive

# The paper's Table 1: probabilities of reaching state 2 of a 2 x 3 grid, from states 1, 2, 3 and 5.
TABLE_1 = np.array([[0.2, 0.2, 0, 0.6], [0.6, 0, 0.2, 0.2], [0.2, 0.2, 0.6, 0], [0.6, 0, 0.2, 0.2]])


def test_dynamic_matrices_from_dense_and_sparse():
    rng = np.random.default_rng(0)
    P, r = rng.dirichlet(np.ones(4), (4, 3)), rng.random((4, 3))
    stacked = dynamic_matrices(P, r)
    assert stacked.shape == (5, 4, 3)
    for k in range(4):
        assert np.array_equal(stacked[k], P[:, :, k])
    assert np.array_equal(stacked[4], r)
    again = dynamic_matrices(sparse.csr_array(P.reshape(12, 4)), r)
    assert np.array_equal(again, stacked)
    with pytest.raises(ValueError, match=r"transitions \(4, 3, 4\) and rewards \(3, 4\)"):
        dynamic_matrices(P, r.T)


def test_the_papers_example_has_rank_three():
    found = spectrum(TABLE_1[None])
    assert found.rank.tolist() == [3]
    assert found.freedom.tolist() == [(4 + 4 - 3) * 3]
    assert oversampling(found, (4, 4), 0.9)[0] == pytest.approx(0.9 * 16 / 15)


def test_hand_computed_properties():
    even = np.full((4, 2), 3.0)  # rank 1, all entries alike: as incoherent as can be
    M = np.zeros((4, 2))
    M[0, 0] = 7.0  # one entry: as coherent as can be
    diagonal = np.zeros((4, 2))
    diagonal[0, 0], diagonal[1, 1] = 4.0, 1.0
    found = spectrum(np.stack([even, M, diagonal, np.zeros((4, 2))]))
    assert found.rank.tolist() == [1, 1, 2, 0]
    np.testing.assert_allclose(found.kappa, [1, 1, 4, np.nan])
    np.testing.assert_allclose(found.mu0.keshavan, [1, 4, 2, np.nan])
    np.testing.assert_allclose(found.mu0.appendix, [1, 2, np.sqrt(2), np.nan])
    np.testing.assert_allclose(found.mu0.definition, [0.5, 1, 0.5, np.nan])
    root = np.sqrt(8)
    np.testing.assert_allclose(found.mu1.keshavan, [1, root, root / np.sqrt(2), np.nan])
    np.testing.assert_allclose(found.mu1.appendix, [1, root, root / np.sqrt(2), np.nan])
    np.testing.assert_allclose(found.mu1.definition, [1 / root, 1, 1 / np.sqrt(2), np.nan])
    assert found.freedom.tolist() == [5, 5, 8, 0]
    suprema = found.suprema()
    assert (suprema.rank, suprema.kappa, suprema.freedom) == (2, 4.0, 8)
    assert suprema.mu0.keshavan == pytest.approx(4)
    assert np.isnan(spectrum(np.zeros((2, 3, 3))).suprema().kappa)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_incoherence_agrees_with_its_slow_twin(n1, n2, r, seed):
    rng = np.random.default_rng(seed)
    r = min(n1, n2, r)
    M = rng.standard_normal((n1, r)) @ rng.standard_normal((r, n2))
    found = spectrum(M[None])
    assert found.rank[0] == r
    mu0, mu1 = naive.incoherence(M, r)
    np.testing.assert_allclose([x[0] for x in found.mu0], mu0, rtol=1e-6)
    np.testing.assert_allclose([x[0] for x in found.mu1], mu1, rtol=1e-6)
    assert 1 - 1e-9 <= found.mu0.keshavan[0] <= max(n1, n2) / r + 1e-9
    assert found.mu0.appendix[0] == pytest.approx(np.sqrt(found.mu0.keshavan[0]))


def test_properties_do_not_depend_on_the_scale():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((1, 6, 2)) @ rng.standard_normal((1, 2, 5))
    one, two = spectrum(M), spectrum(1e-12 * M)
    assert one.rank == two.rank == 2
    np.testing.assert_allclose(one.kappa, two.kappa)
    np.testing.assert_allclose(one.mu1, two.mu1)


def test_threshold_and_energy():
    U, V = np.eye(4), np.eye(4)
    M = (U * np.array([10.0, 1.0, 0.1, 1e-12]) @ V)[None]
    assert spectrum(M).rank[0] == 3
    assert spectrum(M, threshold=0.05).rank[0] == 2
    assert spectrum(M, threshold=0).rank[0] == 4
    assert spectrum(M, energy=0.9).rank[0] == 1
    assert spectrum(M, energy=0.995).rank[0] == 2
    assert spectrum(M, energy=1.0).rank[0] == 3
    for wrong in ({"threshold": 1.0}, {"energy": 0.0}):
        with pytest.raises(ValueError, match="must be a share"):
            spectrum(M, **wrong)


def test_multilinear_rank_of_shared_factors():
    mdp = gim.make("shared_factors:S=12,A=9,J=2,K=3")
    unfolded = [np.moveaxis(mdp.transitions, axis, 0).reshape(-1) for axis in range(3)]
    ranks = [
        np.linalg.matrix_rank(x.reshape(n, -1)) for x, n in zip(unfolded, (12, 9, 12), strict=True)
    ]
    assert ranks == [2, 5, 3]  # J kinds of state; J (K - 1) + 1, for each kind's mixtures sum to 1


def test_synthetic_world_is_of_full_rank_after_normalising():
    mdp = gim.make("synthetic:rank=2")
    stacked = dynamic_matrices(mdp.transitions, mdp.rewards)
    assert spectrum(stacked[:-1]).rank.max() == 10
    assert spectrum(stacked[:-1], energy=0.97).rank.max() <= 3


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.floats(-3, 3), st.floats(-1e6, 1e6), st.just(0.0)), min_size=1, max_size=12
    )
)
def test_projection_agrees_with_its_slow_twin(numbers):
    p = np.array(numbers)
    projected = project_simplex(p)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(projected, naive.project_simplex(p), atol=1e-8)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 10**6))
def test_projection_is_the_nearest_distribution(S, seed):
    rng = np.random.default_rng(seed)
    p = rng.standard_normal(S)
    nearest = np.linalg.norm(p - project_simplex(p))
    for q in rng.dirichlet(np.full(S, 0.5), 50):
        assert np.linalg.norm(p - q) >= nearest - 1e-12
    assert np.array_equal(project_simplex(project_simplex(p)), project_simplex(p))


def test_projection_of_many_rows_agrees_with_sorting():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(30, 0.1), 20_000) + 0.02 * rng.standard_normal((20_000, 30))
    ordered = -np.sort(-P, axis=1)
    tau = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, 31)
    last = (ordered > tau).sum(axis=1) - 1
    expected = np.maximum(P - tau[np.arange(len(P)), last][:, None], 0)
    np.testing.assert_allclose(project_simplex(P), expected, atol=1e-14)


def test_projection_keeps_distributions_and_the_argument():
    P = np.random.default_rng(0).dirichlet(np.full(6, 0.2), (4, 3))
    before = P.copy()
    assert np.array_equal(project_simplex(P), P)
    assert np.array_equal(P, before)


def test_projection_of_large_numbers_ends():
    found = project_simplex([[1e300, -1e300, 0], [1e16, 1e16, 1], [5, 5, 5]])
    np.testing.assert_allclose(found, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3])


def test_projection_refuses_what_has_no_place():
    with pytest.raises(ValueError, match=r"P\[0, 1\] is nan"):
        project_simplex([[0.5, np.nan]])
    with pytest.raises(ValueError, match="last axis"):
        project_simplex(np.zeros((3, 0)))


def test_examples_in_docstrings():
    for one in (module, projection):
        assert doctest.testmod(one).failed == 0
