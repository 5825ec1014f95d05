"""Candidates: fast kernels against slow twins, exact where their class is true, and no cheating."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import linalg, sparse

import gim
from gim.analogy.candidates import Data, candidates, suited
from gim.analogy.candidates.data import STARTS, largest, nonzeros
from gim.analogy.candidates.lowrank import Population, Residuals, low_rank, posterior
from gim.analogy.candidates.means import _effect
from gim.analogy.cross_validation import FINALISTS, finalists
from tests.sampled_counts import sampled


def of_size(S, A):
    """The candidates for so many states and actions, by name."""
    empty = Data(np.zeros((S, A, S)), np.zeros((S, A)), np.ones((S, A), bool))
    return {str(each): each for each in suited(empty)}


def predicted(candidate, data, pairs=None):
    """What a candidate says of these pairs, [pairs, S], or of all, [S, A, S]."""
    S, A = data.n.shape
    if pairs is not None:
        return candidate.fit(data).rows(np.flatnonzero(pairs)).toarray()
    everything = candidate.fit(data).rows(np.flatnonzero(data.available)).toarray()
    q = np.zeros((S * A, S))
    q[np.flatnonzero(data.available)] = everything
    return q.reshape(S, A, S)


CANDIDATES = of_size(40, 30)
RIDGE = 2.0


def counted(S=9, A=7, visits=3, seed=0):
    """Counts of unrelated pairs, some of them never met."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(visits, (S, A))
    N = rng.multinomial(n, rng.dirichlet(np.full(S, 0.5), (S, A)))
    return N.astype(float), n.astype(float)


# ---------------------------------------------------------------------------- kernels and twins


def test_nonzeros_are_those_of_pairs_that_count():
    N, n = counted()
    n[2, 3] = 0
    values, columns, starts = nonzeros(N, n)
    found = sparse.csr_array((values, columns, starts), shape=(63, 9)).toarray()
    assert np.array_equal(found, (N * (n > 0)[:, :, None]).reshape(63, 9))


@pytest.mark.parametrize("mode", ["state", "action"])
def test_effects_are_shrunken_by_what_pairs_have_in_common(mode):
    """Products of residuals of two pairs of an item, on average: the variance of its effect."""
    N, n = counted(visits=4)
    N[:4, :, 0] += 6 * (n[:4] > 0)  # what states, or actions, have in common
    N[:, :3, 1] += 6 * (n[:, :3] > 0)
    n = N.sum(axis=2)
    data = Data(N, n, np.ones(n.shape, bool))
    off = N - n[:, :, None] * data.mu
    items = [off[s] for s in range(9)] if mode == "state" else [off[:, a] for a in range(7)]
    visits = list(n) if mode == "state" else list(n.T)
    common = couples = own = 0.0
    for residuals, many in zip(items, visits, strict=True):
        for i, j in np.ndindex(len(many), len(many)):
            if i != j:
                common += residuals[i] @ residuals[j]
                couples += many[i] * many[j]
            else:
                own += residuals[i] @ residuals[i]
    variance = common / couples
    rest = (own - variance * (n**2).sum()) / n.sum()
    assert min(variance, rest) > 0
    effect, ridge, sums = _effect(data, mode)
    assert ridge == pytest.approx(rest / variance)
    assert np.allclose(sums, [each.sum(axis=0) for each in items])
    assert np.allclose(effect, [x / (m.sum() + ridge) for x, m in zip(sums, visits, strict=True)])


def naive_posterior(gram, right, mean, precision):
    """Beliefs about every item, and what they have on average: one inverse after the other."""
    K, r, items, d = right.shape
    x, second = np.zeros(right.shape), np.zeros(gram.shape)
    means, precisions = np.zeros(mean.shape), np.zeros(precision.shape)
    for k in range(K):
        for i in range(items):
            covariance = np.linalg.inv(gram[k, :, :, i] + precision[k])
            x[k, :, i] = covariance @ (right[k, :, i] + precision[k] @ mean[k])
            second[k, :, :, i] = d * covariance + x[k, :, i] @ x[k, :, i].T
        means[k] = x[k].mean(axis=1)
        spread = (second[k].mean(axis=2) - means[k] @ means[k].T) / d
        spread += (1e-9 * np.trace(spread) + 1e-12) * np.eye(r)
        precisions[k] = np.linalg.inv(spread)
    return second, x, means, precisions


@pytest.mark.parametrize("r", [1, 2, 5])
def test_posterior_agrees_with_inverses(r):
    rng = np.random.default_rng(r)
    root = rng.normal(size=(2, 7, r, r + 2))
    gram = np.ascontiguousarray((root @ root.swapaxes(2, 3)).transpose(0, 2, 3, 1))
    right, mean = rng.normal(size=(2, r, 7, 3)), rng.normal(size=(2, r, 3))
    precision = np.tile(np.diag(np.arange(1.0, r + 1)), (2, 1, 1))
    slow = naive_posterior(gram, right, mean, precision)
    found, average = posterior(gram, right, Population(mean, precision))
    for fast, twin in zip((found.second, found.mean, *average), slow, strict=True):
        assert np.allclose(fast, twin, rtol=1e-8, atol=1e-10)


def naive_low_rank(y, n, start, sweeps):
    """The same beliefs [1, S, A, d], pair by pair."""
    S, A, d = y.shape
    r = start.shape[0]
    u, spread = start.T.copy(), np.zeros((S, r, r))
    away = start - start.mean(axis=1, keepdims=True)
    of_u = start.mean(axis=1), np.linalg.inv(away @ away.T / S + 0.05 * np.eye(r))
    of_v = np.zeros((r, d)), RIDGE * np.eye(r)
    for _ in range(sweeps):
        v, wide = np.zeros((A, r, d)), np.zeros((A, r, r))
        for a in range(A):
            gram = sum(n[s, a] * (np.outer(u[s], u[s]) + spread[s]) for s in range(S))
            wide[a] = np.linalg.inv(gram + of_v[1])
            right = sum(np.outer(u[s], y[s, a]) for s in range(S))
            v[a] = wide[a] @ (right + of_v[1] @ of_v[0])
        M = v.mean(axis=0)
        T = sum((v[a] - M) @ (v[a] - M).T / d + wide[a] for a in range(A)) / A
        of_v = M, np.linalg.inv(T + (1e-9 * np.trace(T) + 1e-12) * np.eye(r))
        for s in range(S):
            gram = sum(n[s, a] * (v[a] @ v[a].T + d * wide[a]) for a in range(A))
            spread[s] = np.linalg.inv(gram + of_u[1])
            right = sum(v[a] @ y[s, a] for a in range(A))
            u[s] = spread[s] @ (right + of_u[1] @ of_u[0])
        m = u.mean(axis=0)
        C = sum(np.outer(u[s] - m, u[s] - m) + spread[s] for s in range(S)) / S
        of_u = m, np.linalg.inv(C + (1e-9 * np.trace(C) + 1e-12) * np.eye(r))
    return np.einsum("sr,ard->sad", u, v)


@pytest.mark.parametrize("mode", ["state", "action"])
def test_low_rank_agrees_with_loops(mode):
    N, n = counted()
    data = Data(N, n, n >= 0)
    found, scale = data.everywhere(mode)
    assert isinstance(found, Residuals)
    y = (N - n[:, :, None] * data.mu) / scale
    y, n = (y, n) if mode == "state" else (y.transpose(1, 0, 2), n.T)
    start = np.random.default_rng(0).normal(size=(1, 2, len(n)))
    slow = naive_low_rank(y, n, start[0], sweeps=4)
    assert np.allclose(low_rank(found, start, RIDGE, sweeps=4), slow, rtol=1e-8, atol=1e-10)


def test_noise_is_that_of_the_next_state_within_pairs():
    N, n = counted()
    data = Data(N, n, n >= 0)
    total = N.sum(axis=(0, 1))
    gram = sum(np.outer(N[i], N[i]) / n[i] for i in np.ndindex(n.shape) if n[i] > 0)
    within = np.diag(total) - gram + np.diag(data.mu) - np.outer(data.mu, data.mu)
    slow = np.trace(within) / (np.maximum(n - 1, 0).sum() + 1) / len(n)
    assert data.noise == pytest.approx(slow)


@pytest.mark.parametrize("mode", ["state", "action"])
def test_guesses_are_leading_vectors_of_shrunken_residual_means(mode):
    N, n = counted()
    data = Data(N, n, n >= 0)
    y = (N - n[:, :, None] * data.mu) / (n + data.ridge)[:, :, None]
    y = (y if mode == "state" else y.transpose(1, 0, 2)).reshape(9 if mode == "state" else 7, -1)
    U = np.linalg.svd(y, full_matrices=False)[0][:, :3]
    found = data.start(mode, 3)[0] / np.sqrt(len(y))
    assert np.allclose(np.abs(found @ U), np.eye(3), atol=1e-6)


@pytest.mark.parametrize("size", [5, STARTS, 20])
@pytest.mark.parametrize("too_few", [False, True])
def test_where_the_solver_for_a_few_eigenvalues_fails_the_one_for_all_takes_over(
    size, too_few, monkeypatch
):
    root = np.random.default_rng(0).standard_normal((size, 4))
    expected = largest(root @ root.T, np.ones(size, bool))
    solve = linalg.eigh

    def failing(*args, **options):
        if "subset_by_index" in options:
            if too_few:
                values, vectors = solve(*args, **options)
                return values[:-2], vectors[:, :-2]
            raise linalg.LinAlgError("Internal Error")
        return solve(*args, **options)

    monkeypatch.setattr(linalg, "eigh", failing)
    found = largest(root @ root.T, np.ones(size, bool))
    assert found.shape == expected.shape
    assert np.allclose(np.abs(np.sum(found[:4] * expected[:4], axis=1)), 1)


@pytest.mark.parametrize("missing", [[], [3], [0, 1, 7, 11], list(range(2, 18))])
def test_factors_begin_alike_whether_or_not_items_that_were_never_met_are_left_out(missing):
    root = np.random.default_rng(1).standard_normal((20, 5)) * [5, 4, 3, 2, 1]
    root[missing] = 0.0
    met = root.any(axis=1)
    found = largest(root @ root.T, met)
    expected = largest(root @ root.T, np.ones(20, bool))
    assert found.shape == expected.shape == (STARTS, 20)
    many = min(5, met.sum())
    assert np.allclose(np.abs(np.sum(found[:many] * expected[:many], axis=1)), 1)
    assert np.allclose(found @ found.T, np.eye(STARTS))


# ------------------------------------------------------------------------- exact on their own class

S, A = 40, 30


def of_kind(kind, rng):
    """Dynamics p [S, A, S] that are exactly of the class of a candidate."""
    next_states = rng.dirichlet(np.full(S, 0.1), 3)  # [K, S]

    def mixing(*shape):
        return rng.dirichlet(np.full(shape[-1], 0.3), shape[:-1])

    if kind == "marginal":
        return np.broadcast_to(next_states[0], (S, A, S))
    if kind == "means":
        return np.broadcast_to((mixing(S, 3) @ next_states)[:, None], (S, A, S))
    if kind == "means(by=action)":
        return np.broadcast_to((mixing(A, 3) @ next_states)[None], (S, A, S))
    if kind == "means(by=both)":
        return 0.5 * (of_kind("means", rng) + of_kind("means(by=action)", rng))
    if kind == "factors":
        return np.einsum("sj,ajk,kt->sat", mixing(S, 2), mixing(A, 2, 3), next_states)
    assert kind == "factors(mode=action)"
    return np.einsum("aj,sjk,kt->sat", mixing(A, 2), mixing(S, 2, 3), next_states)


@pytest.mark.parametrize(
    "kind",
    [
        "marginal",
        "means",
        "means(by=action)",
        "means(by=both)",
        "factors",
        "factors(mode=action)",
    ],
)
def test_noiseless_counts_of_its_own_class_are_recovered(kind):
    rng = np.random.default_rng(6)
    p = of_kind(kind, rng)
    n = np.where(rng.random((S, A)) < 0.6, 1e5, 0.0)
    data = Data(p * n[:, :, None], n, n >= 0)
    trivial = max(((p - data.mu) ** 2).sum(axis=2).mean(), 1e-9)
    chosen = candidates.make(kind)
    error = ((predicted(chosen, data, n == 0) - p[n == 0]) ** 2).sum(axis=1).mean()
    assert error < 0.005 * trivial


def test_shrinkage_is_that_of_the_data():
    # Pairs that have nothing in common: means by state or action say no more than the marginal.
    N, n = counted(S=30, A=30, visits=3)
    data = Data(N, n, n >= 0)
    for by in ("state", "action", "both"):
        means = candidates["means"](by)
        assert ((predicted(means, data) - data.mu) ** 2).sum(axis=2).mean() < 2e-3


@pytest.mark.parametrize("visits", [3, 10])
def test_low_rank_is_far_better_than_any_mean_where_states_share_factors(visits):
    mdp = gim.make("shared_factors", S=50, A=40, J=2, K=5, seed=1)
    _, N, n = sampled(mdp, visits, seed=1)
    data = Data(N, n, mdp.available)
    error = {
        name: ((predicted(each, data) - mdp.transitions) ** 2).sum(axis=2).mean()
        for name, each in of_size(50, 40).items()
        if name.startswith(("marginal", "means")) or name == "factors"
    }
    least = error.pop("factors")  # of states, of rank 2
    assert len(error) == 4
    assert least < {3: 0.5, 10: 0.25}[visits] * min(error.values())


# --------------------------------------------------------------------------------- no cheating


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_candidate_gives_distributions_and_uses_the_others_only(name):
    chosen = CANDIDATES[name]
    N, n = counted(S=18, A=10, visits=4)
    out = np.zeros(n.shape, bool)
    out[2, 3], out[5, 1], out[:, 9] = True, True, True  # an action that was never played, too
    data = Data(N, np.where(out, 0.0, n), n >= 0)
    q = predicted(chosen, data)
    said = q.sum(axis=2) > 0  # a candidate may have no opinion
    assert np.allclose(q.sum(axis=2)[said], 1)
    assert q.min() >= 0
    changed = np.where(out[:, :, None], np.roll(N, 1, axis=2) + 5, N)
    again = Data(changed, np.where(out, 0.0, n), n >= 0)
    assert np.array_equal(q, predicted(chosen, again))  # held-out pairs leave no trace
    assert np.allclose(predicted(chosen, data, out), q[out], rtol=1e-12, atol=1e-14)
    rows = sparse.csr_array(N.reshape(-1, 18))
    assert np.array_equal(q, predicted(chosen, Data(rows, np.where(out, 0.0, n), n >= 0)))


@pytest.mark.parametrize("size", [(2, 1), (3, 2), (6, 2), (16, 4), (130, 3)])
def test_candidates_stand_any_size_and_any_counts(size):
    found = of_size(*size)
    assert 4 <= len(found) <= 12
    N, n = counted(*size, visits=2)
    once = N * (np.cumsum(N, axis=2) <= 1)
    few = np.zeros(n.shape)
    few[0, 0] = n[0, 0]
    for counts in ((N, n), (N, 0 * n), (N, few), (once, once.sum(axis=2)), (N * 1e6, n * 1e6)):
        data = Data(*counts, n >= 0)
        for name, each in found.items():
            sums = predicted(each, data).sum(axis=2)
            assert np.allclose(sums[sums > 0], 1), name


@pytest.mark.parametrize("A", [1, 4, 8])
def test_a_single_state_is_predicted_without_a_warning(A):
    """It has no noise at all, by which residuals are divided."""
    n = np.arange(A)[None, ::-1] * 3.0
    data = Data(n[:, :, None], n, n >= 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, each in of_size(1, A).items():
            q = predicted(each, data)
            assert np.allclose(q[q > 0], 1), name


def test_unavailable_pairs_are_not_predicted_and_do_not_count():
    N, n = counted(visits=5)
    available = np.ones(n.shape, bool)
    available[4] = False
    additive = candidates["means"]("both")
    q = predicted(additive, Data(N, n, available))
    assert not q[4].any()
    N[4] = 7.0
    assert np.array_equal(q, predicted(additive, Data(N, n, available)))


# ------------------------------------------------------------------------------------ screening


def test_finalists_are_those_not_clearly_behind():
    rng = np.random.default_rng(7)
    hard = rng.normal(0, 10, 400)  # pairs differ much more than candidates do
    errors = {"far": hard + 1 + rng.normal(0, 0.1, 400), "best": hard}
    errors["near"] = hard + 0.005 + rng.normal(0, 0.1, 400)
    assert finalists(errors, np.ones(400)) == ["best", "near"]
    # A judge without weight has no say.
    errors["far"][1:] = hard[1:] - 1
    weights = np.zeros(400)
    weights[0] = 1.0
    errors["far"][0] = hard[0] + 1
    assert finalists(errors, weights)[0] == "best"


def test_finalists_are_few_and_include_equals():
    errors = {str(i): np.ones(5) for i in range(20)}
    assert finalists(errors, np.ones(5)) == [str(i) for i in range(FINALISTS)]
