"""Counts and prior together: against literal formulas, and what a pair's own visits overrule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from gim._compile.jit import plain
from gim.analogy import prior as likelihoods
from gim.analogy.prior import (
    check_prior,
    compare_likelihoods,
    log_gamma,
    no_prior,
    prior_of,
    rewards_hold,
)
from gim.belief.evidence import add_csr, csr_of, evidence
from gim.model import counts as counting
from gim.model.counts import dense, new_counts


def counted(N):
    """Counts of these visits [S, A, S]."""
    S, A, _ = N.shape
    counts = new_counts(S, A)
    counts.n[:] = N.sum(axis=2)
    counts.next[:] = N.ravel()
    return counts


def made_up(seed, S=5, A=3):
    """Counts and a prior that speaks of most pairs."""
    rng = np.random.default_rng(seed)
    N = rng.poisson(0.7, (S, A, S)).astype(float)
    q = rng.dirichlet(np.full(S, 0.5), (S, A)) * (rng.random((S, A, S)) < 0.7)
    q /= np.maximum(q.sum(axis=2, keepdims=True), 1e-300)
    n0 = np.where((q.sum(axis=2) > 0.5) & (rng.random((S, A)) < 0.8), rng.uniform(0.5, 9), 0.0)
    share = {name: rng.uniform(0.01, 0.5, (S, A)) for name in ("doubt", "leak")}
    return N, q, n0, prior_of(q, n0, **share)


def dirichlet_multinomial(N, alpha):
    """Probability of a sequence with these counts, draw by draw (Polya's urn)."""
    p, urn = 1.0, list(alpha)
    for t, k in enumerate(N):
        for _ in range(int(k)):
            if sum(urn) == 0:
                return 0.0
            p *= urn[t] / sum(urn)
            urn[t] += 1
    return p


@pytest.mark.parametrize("seed", range(10))
def test_evidence_is_the_literal_formula(seed):
    N, q, n0, prior = made_up(seed)
    S, A, _ = N.shape
    terminal = np.arange(S) == 4
    seen = evidence(counted(N), prior, terminal)
    for s in range(S):
        for a in range(A):
            w = 1.0
            if n0[s, a] > 0:
                mixed = (1 - prior.leak[s, a]) * q[s, a] + prior.leak[s, a] / S
                yes = dirichlet_multinomial(N[s, a], n0[s, a] * mixed) * (1 - prior.doubt[s, a])
                no = dirichlet_multinomial(N[s, a], np.full(S, 1 / S)) * prior.doubt[s, a]
                w = yes / (yes + no)
            worth = 0.0 if terminal[s] else w * n0[s, a]
            assert seen.n[s, a] == pytest.approx(N[s, a].sum() + worth)
            assert dense(seen.N, (S, A))[s, a] == pytest.approx(N[s, a] + worth * q[s, a])


@pytest.mark.parametrize("seed", range(5))
def test_dense_and_sparse_agree_bit_for_bit(seed, monkeypatch):
    N, _, _, prior = made_up(seed)
    S, A, _ = N.shape
    ends = np.zeros(S, bool)
    one = evidence(counted(N), prior, ends)
    monkeypatch.setattr(counting, "LARGE", 0)  # large and nearly empty: the sum is CSR
    monkeypatch.setattr(counting, "CROWDED", 0)
    two = evidence(counted(N), prior, ends)
    assert sparse.issparse(two.N)
    assert np.array_equal(dense(two.N, (S, A)), one.N)
    for name in ("n", "R", "R2", "n_r"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_kernels_give_the_same_bits_compiled_and_plain(monkeypatch):
    monkeypatch.setattr("gim._compile.jit.MUCH", -1)  # small work is not left to plain Python
    N, _, n0, prior = made_up(3)
    S, A, _ = N.shape
    rows = csr_of(N, counted(N).n)
    said = prior.q, prior.next, prior.first
    args = (rows, said, n0.ravel(), prior.leak.ravel(), S)
    sides = compare_likelihoods(*args)
    assert np.array_equal(sides, plain(compare_likelihoods)(*args))
    met = prior.rows().toarray().ravel()[np.flatnonzero(N)]  # the same, of what was met alone
    assert np.array_equal(sides, compare_likelihoods(rows, (met, *rows[1:]), *args[2:]))
    args = (*rows, prior.q, prior.next, prior.first, np.ones(S * A), n0.ravel())
    for one, two in zip(add_csr(*args), plain(add_csr)(*args), strict=True):
        assert np.array_equal(one, two)
    one, two = np.ones((2, S * A))
    likelihoods._hold(sides, prior.doubt.ravel(), one)
    plain(likelihoods._hold)(sides, prior.doubt.ravel(), two)
    assert np.array_equal(one, two)
    assert (one < 1).any()


def test_log_gamma_is_that_of_the_library():
    for x in (1e-8, 0.02, 0.5, 1.0, 3.7, 9.99, 10.0, 123.4, 1e6):
        assert plain(log_gamma)(x) == pytest.approx(math.lgamma(x), rel=1e-12, abs=1e-12)


def test_one_visit_that_contradicts_a_sharp_prediction_removes_it_many_that_agree_leave_it():
    q = np.zeros((3, 1, 3))
    q[:, 0, 1] = 1.0
    prior = prior_of(q, np.full((3, 1), 50.0), doubt=np.full((3, 1), 0.1))
    N = np.zeros((3, 1, 3))
    N[0, 0, 2] = 1  # against it
    N[1, 0, 1] = 6  # for it
    seen = evidence(counted(N), prior, np.zeros(3, bool))
    assert seen.n[0, 0] == 1
    assert 55.3 < seen.n[1, 0] < 56
    assert seen.n[2, 0] == pytest.approx(45)  # never met: as probable as analogies are


def test_a_prediction_worth_infinitely_many_visits_replaces_what_was_seen():
    N, q, n0, _ = made_up(1)
    everywhere = np.where(n0 > 0, np.inf, 0.0)
    prior = prior_of(q, everywhere, r=np.ones(n0.shape), r_n0=everywhere)
    counts = counted(N)
    counts.R[:] = 7.0
    seen = evidence(counts, prior, np.zeros(len(N), bool))
    told = n0 > 0
    assert np.array_equal(seen.N[told], q[told])
    assert (seen.n[told] == 1).all()
    assert (seen.R[told] == 1).all()
    assert np.array_equal(seen.N[~told], N[~told])
    assert (seen.R[~told] == 7).all()


def test_a_pair_that_paid_0_thirteen_times_pays_0():
    S, A = 2, 2
    counts = counted(np.zeros((S, A, S)))
    counts.n[:] = [[13, 13], [13, 0]]
    counts.R[:] = [[0.0, 13 * 14.0], [0.0, 0.0]]
    counts.R2[:] = [[0.0, 13 * 14.0**2], [0.0, 0.0]]
    one = np.ones((S, A))
    prior = no_prior(S, A)._replace(r=14.0 * one, r_n0=5 * one, r_doubt=0.1 * one)
    seen = evidence(counts, prior, np.zeros(S, bool))
    assert rewards_hold(counts, prior) == pytest.approx(np.array([[0, 1], [0, 1]]), abs=1e-3)
    assert seen.R[0, 0] == pytest.approx(0.0, abs=1e-3)
    assert seen.R[0, 1] / seen.n_r[0, 1] == pytest.approx(14.0)
    assert seen.R[1, 1] / seen.n_r[1, 1] == pytest.approx(14.0)


def test_noisy_rewards_are_overruled_by_many_and_not_by_one():
    one = np.ones((1, 3))
    counts = counted(np.zeros((1, 3, 1)))
    counts.n[:] = [[1, 100, 1]]
    counts.R[:] = [[1.0, 100.0, 0.1]]
    counts.R2[:] = [[1.0, 200.0, 0.01]]
    prior = no_prior(1, 3)._replace(r=0 * one, r_n0=20 * one, r_doubt=0.05 * one, r_noise=one)
    hold = rewards_hold(counts, prior)[0]
    assert hold[0] > 0.8
    assert hold[1] < 0.05
    assert hold[2] > hold[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"next": np.array([1, 0, 0, 1])}, "must rise within each pair"),
        ({"next": np.array([0, 2, 0, 1])}, "do not name successors"),
        ({"first": np.array([0, 3, 2])}, "do not name successors"),
        ({"doubt": np.full((2, 1), 1.5)}, "doubt has entries above 1"),
        ({"leak": np.full((2, 1), -0.1)}, "leak has entries that are negative"),
        ({"r": np.array([[np.inf], [0.0]])}, "r has entries that are not finite"),
    ],
)
def test_what_is_no_prior_is_refused(change, message):
    good = prior_of(np.full((2, 1, 2), 0.5), np.ones((2, 1)))
    check_prior(good, 2, 1)
    with pytest.raises(ValueError, match=message):
        check_prior(good._replace(**change), 2, 1)


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_added_however_few_their_entries_and_far_their_states(seed):
    """There may be fewer entries in all than there are states."""
    rng = np.random.default_rng(seed)
    S, A = 40, 2
    shape = {"shape": (S * A, S), "density": 3 / (S * A * S), "random_state": rng}
    N, q = (sparse.csr_array(sparse.random_array(**shape)) for _ in range(2))
    keep, n0 = rng.random(S * A), rng.random(S * A)
    parts = add_csr(N.data, N.indices, N.indptr, q.data, q.indices, q.indptr, keep, n0)
    found = sparse.csr_array(parts, shape=(S * A, S))
    expected = keep[:, None] * N.toarray() + n0[:, None] * q.toarray()
    assert found.nnz == np.count_nonzero(expected)
    assert found.toarray() == pytest.approx(expected)
