"""Models drawn from a belief: the compiled dice against literal ones, and against their moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gim._compile.jit import plain
from gim.belief.certificate.draws import (
    REST,
    Rewards,
    Rows,
    errors_in_models,
    join,
    no_ways,
    returns_in_models,
)
from gim.belief.certificate.judges import parts_of
from tests import naive_certificate as naive


def some_rows(S, A, models, seed, c=1.5):
    """Pairs that were met, that are predicted, both, or neither; some with a leak."""
    rng = np.random.default_rng(seed)
    N = rng.poisson(2.0, (S * A, S)) * (rng.random((S * A, S)) < 0.3)
    q = rng.dirichlet(np.full(S, 0.2), S * A) * (rng.random((S * A, 1)) < 0.7)
    q[q < 1e-3] = 0.0
    q /= np.where(q.sum(axis=1) > 0, q.sum(axis=1), 1.0)[:, None]
    N[0], q[0] = 0, 0  # nothing at all is known of the first
    parts = join(*parts_of(sparse.csr_array(N * 1.0)), *parts_of(sparse.csr_array(q)))
    told = q.any(axis=1)
    leak = np.where(rng.random(S * A) < 0.5, 0.2, 0.0)
    n0 = rng.choice([0.3, 4.0, 50.0], (models, S * A))
    ways = rng.choice([0.0, 0.3], (models, 2, S * A))
    holds = np.where(told, rng.random(S * A), 0.0)
    return Rows(*parts, leak, holds, n0, c, np.array([1, S - 1]), ways, 0.1), N, q


def some_rewards(S, A, seed, successors):
    rng = np.random.default_rng(seed)
    mean, sd = rng.normal(size=(2, S * A)), rng.random((2, S * A)) * (rng.random(S * A) < 0.5)
    free = rng.choice([0.0, 0.3, 1.0], S * A)
    by_next = rng.normal(size=(2, successors))
    visits, pays = rng.choice([0.2, 3.0], (2, S * A)), np.array([-1.0, 0.0, 0.5, 1.0])
    held = rng.random(S * A)
    return Rewards(mean, sd, held, free, by_next, pays, -1.0, 1.0, visits, 0.3 * (seed % 2))


def test_two_tables_are_joined():
    _, N, q = some_rows(7, 3, 1, seed=2)
    first, next, n, says = join(
        *parts_of(sparse.csr_array(N * 1.0)), *parts_of(sparse.csr_array(q))
    )
    for i in range(21):
        here = slice(first[i], first[i + 1])
        assert next[here].tolist() == np.flatnonzero((N[i] > 0) | (q[i] > 0)).tolist()
        assert np.array_equal(n[here], N[i][next[here]])
        assert np.array_equal(says[here], q[i][next[here]])


@pytest.mark.parametrize("few", ["visits", "predictions"])
def test_few_numbers_in_a_large_world_are_joined(few):
    """The states may be numbered higher than there are numbers."""
    row = sparse.csr_array(([1.0, 2.0], ([0, 1], [90, 99])), shape=(2, 100))
    tables = [row, sparse.csr_array((2, 100))]
    mine, told = tables if few == "visits" else tables[::-1]
    first, next, n, says = join(*parts_of(mine), *parts_of(told))
    assert first.tolist() == [0, 1, 2]
    assert next.tolist() == [90, 99]
    assert (n if few == "visits" else says).tolist() == [1.0, 2.0]
    assert not (says if few == "visits" else n).any()


@pytest.mark.parametrize("S", [4, REST + 5])
@pytest.mark.parametrize("by_next", [False, True])
@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_models_are_drawn_and_planned_as_by_hand(S, by_next, discount):
    A, H = 3, 4
    rng = np.random.default_rng(S)
    rows, _, _ = some_rows(S, A, 5, seed=S)
    rewards = some_rewards(S, A, S, rows.next.size if by_next else 0)
    playable = rng.random((S, A)) < 0.8
    playable[:, 1] = True
    end = rng.choice([0.0, 0.5, 1.0], S, p=[0.7, 0.2, 0.1])
    policy = playable * rng.random((H if discount == 1.0 else 1, S, A)) ** 8
    policy /= policy.sum(axis=2, keepdims=True)
    start = 0.9 * rng.dirichlet(np.ones(S), 5 if by_next else 1)
    elsewhere = np.array([[0.1, 0.7], [0.0, 0.0], [0.3, -1.0], [0.0, 1.0], [0.02, 0.4]])
    arguments = (rows, rewards, playable, end, policy, start, elsewhere, H, discount)
    found = returns_in_models(*arguments, np.random.default_rng(1))
    slow = naive.returns(rows, rewards, *arguments[2:], np.random.default_rng(1))
    assert np.allclose(found, slow, rtol=1e-9, atol=1e-9)
    assert (found[:, 0] >= found[:, 1] - 1e-12).all()
    same = plain(returns_in_models)(*arguments, np.random.default_rng(1))
    assert np.allclose(found, same, rtol=1e-12)


@pytest.mark.parametrize("S", [5, REST + 3])
def test_errors_are_those_of_the_rows_that_are_drawn(S):
    A, models = 2, 6
    rows, _, _ = some_rows(S, A, models, seed=1)
    rng = np.random.default_rng(5)
    F, model = rng.normal(size=(S, 3)), rng.dirichlet(np.full(S, 0.3), S * A)
    model[model < 0.01] = 0.0
    pairs = np.array([0, 3, 2 * S - 1])
    table = sparse.csr_array(model)
    values, l1 = errors_in_models(
        rows, pairs, F, (model @ F)[pairs], parts_of(table), np.random.default_rng(2)
    )
    again = np.random.default_rng(2)
    for b, i in enumerate(pairs):
        for m in range(models):
            p, _ = naive.row(rows, i, m, S, again)
            assert np.allclose(values[m, b], (p - model[i]) @ F, atol=1e-9)
            assert l1[m, b] == pytest.approx(np.abs(p - model[i]).sum(), abs=1e-9)


@pytest.mark.parametrize("S", [6, 60])
def test_rows_have_the_moments_of_their_mixture(S):
    """Both parts of the mixture, over all states and over REST of them."""
    rng = np.random.default_rng(0)
    n, q = np.zeros(S), np.zeros(S)
    n[[0, 2]], q[[2, 3]] = (3.0, 1.0), (0.75, 0.25)
    w, n0, leak, c, draws = 0.6, 8.0, 0.25, 2.0, 40_000
    parts = join(*parts_of(sparse.csr_array(n[None])), *parts_of(sparse.csr_array(q[None])))
    own = np.array([leak]), np.array([w]), np.full((draws, 1), n0), c
    rows = Rows(*parts, *own, *no_ways(draws, 1))
    F = rng.normal(size=(S, 2))
    here = np.zeros((1, 2))
    empty = parts_of(sparse.csr_array((1, S)))
    values, l1 = errors_in_models(rows, np.array([0]), F, here, empty, np.random.default_rng(3))
    drawn = values[:, 0]
    assert np.allclose(l1, 1.0)
    spike, slab = n + n0 * ((1 - leak) * q + leak / S), n + c / S
    means = [alpha @ F / alpha.sum() for alpha in (spike, slab)]
    mean = w * means[0] + (1 - w) * means[1]
    assert np.allclose(drawn.mean(axis=0), mean, atol=5 * drawn.std(axis=0) / np.sqrt(draws))
    variance = -(mean**2)
    for share, alpha, middle in ((w, spike, means[0]), (1 - w, slab, means[1])):
        inside = alpha @ F**2 / alpha.sum() - middle**2
        variance = variance + share * (inside / (alpha.sum() + 1) + middle**2)
    ratio = drawn.var(axis=0) / variance
    assert (ratio > 0.96).all()
    assert (ratio < (1.04 if S <= REST else 1 + max(c, n0 * leak) / REST + 0.04)).all()


def test_what_is_certain_stays_so():
    N = np.zeros((2, 2))
    N[0, 1], N[1, 0] = 5.0, 1.0
    parts = join(*parts_of(sparse.csr_array(N)), *parts_of(sparse.csr_array((2, 2))))
    rows = Rows(*parts, np.zeros(2), np.zeros(2), np.ones((50, 2)), 1e-9, *no_ways(50, 2))
    one = np.ones((2, 2))
    paid = np.zeros(2), np.zeros((2, 0)), np.arange(2.0), 0.0, 1.0, one
    rewards = Rewards(one, 0 * one, np.ones(2), *paid)
    found = returns_in_models(
        rows, rewards, np.ones((2, 1), bool), np.zeros(2), np.ones((3, 2, 1)),
        np.array([[1.0, 0.0]]), np.zeros((1, 2)), 3, 1.0, np.random.default_rng(0),
    )  # fmt: skip
    assert np.allclose(found, 3.0)
