"""Matrix completion: exact recovery, slow twins, optimality, corners, and honest reports."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.completion import l1_error, noise_errors, seen_data, slope
from gim._compile.jit import plain
from gim.model import completion
from gim.model.completion import (
    ALS,
    Method,
    OptSpace,
    Tucker,
    base,
    completions,
)
from gim.model.completion.least_squares import alternate, solve
from gim.model.completion.optspace import until_settled
from gim.model.completion.rank import held_out_rank
from gim.model.completion.tucker import free_actions, leading_basis
from gim.testing.completion import check_completion
from tests import naive_completion as naive

METHODS = [completions[name]() for name in completions.names()]


def low_rank(r, seed, S=50, A=40, share=0.5):
    """Gaussian factors, condition number at most 5, entries seen at random."""
    rng = np.random.default_rng((r, seed))
    while True:
        M = rng.standard_normal((S, r)) @ rng.standard_normal((r, A))
        values = np.linalg.svd(M, compute_uv=False)
        if values[0] <= 5 * values[r - 1]:
            return M, (rng.random((S, A)) < share).astype(float)


def relative_error(completed, M):
    return np.linalg.norm(completed - M) / np.linalg.norm(M)


def noisy(seed=0, S=30, A=20, r=2, share=0.7, sigma=0.05, K=3):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((K, S, r)) @ rng.standard_normal((K, r, A))
    seen = (rng.random((S, A)) < share).astype(float)
    return truth, (truth + sigma * rng.standard_normal(truth.shape)) * seen, seen


@pytest.mark.parametrize(
    ("method", "bias"),
    [
        (ALS(), 0.05),
        (Tucker(states=2, actions=2, next_states=3), 0.05),
    ],
    ids=str,
)
def test_settings_with_a_bias_pass_the_conformance_check_within_it(method, bias):
    check_completion(method, recovers=bias)


@pytest.mark.parametrize("r", range(1, 6))
@pytest.mark.parametrize(
    ("given_rank", "estimated_rank"),
    [
        (lambda r: ALS(rank=r, ridge=0), ALS(ridge=0)),
        (lambda r: OptSpace(rank=r), OptSpace()),
    ],
    ids=["als", "optspace"],
)
def test_half_seen_matrices_are_recovered_to_1e_6(given_rank, estimated_rank, r):
    for seed in range(20):
        M, seen = low_rank(r, seed)
        for method in (given_rank(r), estimated_rank):
            done = method((M * seen)[None], seen, np.random.default_rng(seed))
            assert done.converged
            assert np.all(done.rank == r), f"{method}, seed {seed}"
            assert relative_error(done.matrices[0], M) < 1e-6, f"{method}, seed {seed}"


def test_alternate_takes_the_steps_of_the_loop_over_rows():
    _, data, seen = noisy()
    rng = np.random.default_rng(3)
    weights = seen * rng.integers(1, 30, seen.shape)
    for rank, ridge in ((1, 0.1), (2, 0.03), (5, 0.3)):
        start = rng.standard_normal((3, rank, 20))
        slow = naive.als_by_rows(data, weights, rank, ridge, rng, 0.0, 7, start.transpose(0, 2, 1))
        U, V, iterations, _ = alternate(data, np.arange(3), weights, start, ridge, 0.0, 7, True)
        assert (iterations == 7).all()
        np.testing.assert_allclose(U.transpose(0, 2, 1) @ V, slow, atol=1e-9)


def test_the_kernel_is_the_same_as_plain_python():
    _, data, seen = noisy(S=8, A=6)
    starts = np.random.default_rng(0).standard_normal((3, 2, 6))
    compiled = alternate(data, np.arange(3), seen, starts.copy(), 0.1, 1e-3, 20)
    python = plain(alternate)(data, np.arange(3), seen, starts.copy(), 0.1, 1e-3, 20)
    for one, two in zip(compiled, python, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_als_ends_where_the_loop_over_rows_ends():
    _, data, seen = noisy(sigma=0.3)
    slow = naive.als_by_rows(data, seen, 2, 0.5, np.random.default_rng(0), 1e-10, 5000)
    fast = ALS(rank=2, ridge=0.5, tolerance=1e-10, max_iterations=5000)
    done = fast(data, seen, np.random.default_rng(1))
    np.testing.assert_allclose(done.matrices, slow, atol=1e-6)


@given(st.integers(1, 6), st.integers(1, 9), st.floats(0.01, 10), st.integers(0, 10**6))
def test_stacked_systems_are_solved_like_single_ones(rank, n, ridge, seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, rank, rank + 2))
    normal, right = F @ F.transpose(0, 2, 1), rng.standard_normal((n, rank))
    expected = np.linalg.solve(normal + ridge * np.eye(rank), right[:, :, None])[:, :, 0]
    i, j = np.tril_indices(rank)
    gram, b = np.ascontiguousarray(normal[:, i, j].T), np.ascontiguousarray(right.T)
    solve(gram, b, ridge, np.empty(n))
    np.testing.assert_allclose(b.T, expected, rtol=1e-6, atol=1e-9)


def test_a_system_without_data_gets_zero():
    gram, b = np.zeros((3, 2)), np.zeros((2, 2))
    gram[:, 1], b[:, 1] = (2.0, 0.0, 4.0), (2.0, 8.0)
    solve(gram, b, 0.0, np.empty(2))
    np.testing.assert_allclose(b, [[0, 1], [0, 2]])


def test_joint_forms_need_fewer_entries_than_one_matrix_at_a_time():
    rng = np.random.default_rng(3)
    core = rng.standard_normal((4, 3, 3))
    X, Y, B = (rng.standard_normal(shape) for shape in ((40, 3), (30, 3), (25, 4)))
    truth = np.einsum("qij,si,aj,kq->ksa", core, X, Y, B)
    seen = (rng.random((40, 30)) < 0.2).astype(float)  # 240 entries, 201 unknowns a matrix
    errors = {}
    tucker = Tucker(states=3, actions=3, next_states=4, ridge=1e-9)
    for method in (ALS(rank=3, ridge=1e-6), tucker):
        done = method(truth * seen, seen, np.random.default_rng(0))
        errors[type(method).__name__] = relative_error(done.matrices, truth)
    assert errors["Tucker"] < 1e-4
    assert errors["ALS"] > 0.1


def test_a_huge_reward_does_not_drown_the_probabilities():
    data = seen_data(30, 20, 40)
    rewarded = data.matrices.copy()
    rewarded[-1] *= 1e4
    plain = Tucker()(data.matrices, data.weights, np.random.default_rng(0))
    huge = Tucker()(rewarded, data.weights, np.random.default_rng(0))
    np.testing.assert_allclose(huge.matrices[:-1], plain.matrices[:-1], atol=1e-6)
    assert l1_error(data, huge.matrices) < 0.3


def test_counts_as_weights_beat_the_mask():
    rng = np.random.default_rng(0)
    truth, _, seen = noisy(K=6, share=0.8)
    visits = seen * rng.integers(1, 100, seen.shape)
    data = (truth + rng.standard_normal(truth.shape) / np.sqrt(np.maximum(visits, 1))) * seen
    for method in (ALS(rank=2, ridge=0.3), OptSpace(rank=2)):
        counted = method(data, visits, np.random.default_rng(0)).matrices
        masked = method(data, seen, np.random.default_rng(0)).matrices
        assert relative_error(counted, truth) < 0.8 * relative_error(masked, truth), method


def test_errors_fall_at_the_rate_of_the_perturbation_bound():
    visits = (40, 160, 640)
    errors = noise_errors(OptSpace(rank=2), visits, shape=(40, 30), seeds=1)
    assert -0.6 < slope(visits, errors) < -0.4


def test_the_rank_is_estimated_for_each_matrix():
    rng = np.random.default_rng(0)
    seen = (rng.random((50, 40)) < 0.6).astype(float)
    ranks = np.array([1, 3, 0, 5, 2])
    M = np.stack([rng.standard_normal((50, r)) @ rng.standard_normal((r, 40)) for r in ranks])
    assert (held_out_rank(M * seen, seen, 8, 0.0, rng) == ranks).all()
    assert held_out_rank(M * seen, seen, 2, 0.0, rng).max() == 2
    done = ALS(ridge=0)(M * seen, seen, rng)
    assert (done.rank == ranks).all()


def test_leading_basis_spans_what_was_seen():
    rng = np.random.default_rng(0)
    M = np.einsum("kq,qsa->ksa", rng.standard_normal((60, 3)), rng.standard_normal((3, 8, 5)))
    basis = leading_basis(M, np.ones((8, 5)), 3, rng)
    assert basis.shape == (60, 3)
    projected = np.tensordot(basis @ basis.T, M, axes=1)
    np.testing.assert_allclose(projected, M, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 6),
    st.floats(0, 1),
    st.integers(0, 10**6),
)
def test_any_shape_and_mask_gives_finite_numbers(K, S, A, share, seed):
    rng = np.random.default_rng(seed)
    seen = (rng.random((S, A)) < share).astype(float)
    data = rng.dirichlet(np.full(K + 1, 0.3), (S, A)).transpose(2, 0, 1)[:K] * seen
    for method in METHODS:
        done = method(data, seen, rng)
        assert np.isfinite(done.matrices).all()
        assert done.matrices.shape == data.shape
        assert np.isfinite(done.residual)


def test_words_and_registry():
    public = [getattr(completion, name) for name in completion.__all__]
    methods = {each for each in public if isinstance(each, type) and Method in each.__mro__[1:]}
    assert {completions[name] for name in completions.names()} == methods
    assert completions.make("als:rank=10,ridge=0.03") == ALS(rank=10, ridge=0.03)
    assert str(ALS(rank=10, ridge=0.03)) == "als:rank=10,ridge=0.03"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ALS(rank=0), "rank = 0: must be at least 1"),
        (lambda: ALS(ridge=-1), "ridge = -1"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_errors_name_the_place():
    M, seen = np.zeros((2, 3, 4)), np.ones((3, 4))
    M[1, 2, 3] = np.nan
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"matrices\[1, 2, 3\] is nan: where nothing was seen"):
        ALS()(M, seen, rng)
    with pytest.raises(ValueError, match=r"weights has shape \(4, 3\)"):
        ALS()(np.zeros((2, 3, 4)), seen.T, rng)
    with pytest.raises(ValueError, match=r"pass M\[None\]"):
        ALS()(np.zeros((3, 4)), seen, rng)
    with pytest.raises(ValueError, match=r"weights\[0, 1\] is -2"):
        ALS()(np.zeros((2, 3, 4)), np.where(np.arange(4) == 1, -2.0, seen), rng)


def test_the_default_beats_the_authors_setting_in_accuracy():
    data = seen_data(50, 40, 40)
    default = ALS()(data.matrices, data.weights, np.random.default_rng(0))
    authors = ALS(rank=10, ridge=0.03)(data.matrices, data.weights, np.random.default_rng(0))
    joint = Tucker()(data.matrices, data.weights, np.random.default_rng(0))
    assert l1_error(data, default.matrices) < 0.5 * l1_error(data, authors.matrices)
    assert l1_error(data, joint.matrices) < 0.5 * l1_error(data, default.matrices)


def test_examples_in_docstrings():
    assert doctest.testmod(base).failed == 0


def test_a_matrix_that_has_settled_is_left_alone():
    """1 is within .5 after one halving, 8 after four."""

    def halved(x):
        return (x / 2,), x[:, 0] / 2

    start = (np.array([[1.0], [8.0]]),)
    (final,), iterations, settled = until_settled(halved, start, 0.5, 10)
    assert (final.tolist(), iterations, settled) == ([[0.5], [0.5]], 4, True)
    (final,), iterations, settled = until_settled(halved, start, 0.5, 2)
    assert (final.tolist(), iterations, settled) == ([[0.5], [2.0]], 2, False)


def test_optspace_finds_the_least_squares_fit_of_its_rank():
    _, data, seen = noisy(seed=2)
    weights = seen * np.random.default_rng(0).integers(1, 9, seen.shape)
    for method in (OptSpace(rank=2, ridge=0), OptSpace(rank=2)):
        done = method(data, weights, np.random.default_rng(0))
        exact = ALS(rank=2, ridge=0, tolerance=1e-9)(data, weights, np.random.default_rng(0))
        assert done.converged
        assert exact.converged
        assert relative_error(done.matrices, exact.matrices) < 2e-3
    assert OptSpace(rank=2, ridge=0)(data, weights, np.random.default_rng(0)).residual == (
        pytest.approx(exact.residual, rel=1e-6)
    )


def test_a_matrix_of_zeros_does_not_keep_others_from_being_completed():
    truth = np.outer([1.0, 2.0, 3.0], [1.0, 0.5, 2.0])
    seen = np.ones((3, 3))
    seen[0, 0] = 0.0
    done = ALS(rank=1, ridge=0)(
        np.stack([np.zeros((3, 3)), truth]) * seen, seen, np.random.default_rng(0)
    )
    assert not done.matrices[0].any()
    assert done.matrices[1] == pytest.approx(truth)
    assert done.rank.tolist() == [0, 1]


def test_a_fit_of_nothing_but_zeros_ends():
    """All is 0, and the length of the factors with it: there is no relative change to wait for."""
    U, V = free_actions(np.zeros((4, 3, 2)), np.ones((3, 2)), 2, 0.1, np.random.default_rng(0))
    assert not np.einsum("sr,ark->sak", U, V).any()


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_optspace_does_not_ask_in_what_units_data_are(ridge):
    rng = np.random.default_rng(1)
    M = rng.standard_normal((2, 12, 2)) @ rng.standard_normal((2, 2, 9))
    seen = (rng.random((12, 9)) < 0.7).astype(float)
    method = completion.OptSpace(rank=2, ridge=ridge)
    one, small = (method(scale * M, seen, rng) for scale in (1.0, 1e-3))
    assert small.iterations == one.iterations
    np.testing.assert_allclose(1e3 * small.matrices, one.matrices, rtol=0, atol=1e-9)
