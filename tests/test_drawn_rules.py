"""Rules drawn: they scatter about what is predicted as the visits behind it say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gim.analogy.candidates.base import LIMIT, tilted
from gim.analogy.ridge import RidgeRewards
from gim.analogy.structure.block import Block, Form
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.product import Product
from gim.analogy.structure.state_types import by_types
from tests.structured_worlds import grid, inventory

DRAWS = 600


def block_of(triples, chain, kappa):
    data = Explained(triples, Move(tuple(range(triples.k))))
    return Block(data, Form(data.move, chain, kappa))


def chances(block, draws, seed=0):
    """Chances of all lists in so many draws."""
    rng = np.random.default_rng(seed)
    return np.array([block.drawn(rng).lists.chance for _ in range(draws)])


def rows_of(fitted, pairs, draws, seed=0):
    """Rows of these pairs in so many draws, [draws, pairs, S]."""
    rng = np.random.default_rng(seed)
    return np.array([fitted.drawn(rng).rows(pairs).toarray() for _ in range(draws)])


def near(found, mean, draws=DRAWS, least=0.0):
    """Whether means of draws are as they should be, within standard errors of these."""
    error = found.std(axis=0) / np.sqrt(draws)
    off = np.abs(found.mean(axis=0) - mean)
    assert (off <= 5 * error + least + 1e-12).all(), (off / np.maximum(error, 1e-12)).max()


def test_one_context_is_a_dirichlet_of_its_visits():
    """Chances p of N visits and kappa of the base measure: variance p (1 - p) / (N + kappa + 1)."""
    block = block_of(grid(4, 4).sampled(2, share=0.5), ((),), (1.5,))
    found, p = chances(block, 4000), block.lists.chance
    total = block.stack.n[0] + 1.5
    assert total > 10
    assert np.allclose(found.sum(axis=1), 1.0)
    near(found, p, 4000)
    assert np.allclose(
        found.var(axis=0)[p > 0.01], (p * (1 - p) / (total + 1))[p > 0.01], rtol=0.12
    )


def test_a_context_below_another_shares_its_luck_as_far_as_it_shrinks():
    """theta_c | theta ~ Dirichlet(E_c + kappa theta): its variance and what it has of the parent's.

    Var = E[theta (1 - theta)] / (total + 1) + Var(mean), and Cov(theta_c, theta) = kappa / total
    Var(theta).
    """
    triples = grid(4, 4).sampled(3, share=0.6)
    block = block_of(triples, ((), (triples.k,)), (1.0, 6.0))
    found, lists = chances(block, 4000), block.lists
    near(found, lists.chance, 4000)
    begin, end = lists.start[0], lists.start[1]
    for context in range(1, len(lists.start) - 1):
        total = block.stack.n[context] + 6.0
        for at in range(lists.start[context], lists.start[context + 1]):
            above = begin + np.flatnonzero(lists.outcome[begin:end] == lists.outcome[at])
            if lists.chance[at] < 0.05 or not above.size:
                continue
            mine, parent = found[:, at], found[:, above[0]]
            own = (
                mine.mean() - np.mean(mine**2)
            ) / total  # E[m (1 - m)] = E[x (1 - x)] (t + 1) / t
            lent = (6.0 / total) ** 2 * parent.var()
            assert mine.var() == pytest.approx(own + lent, rel=0.15)
            noise = np.sqrt(mine.var() * parent.var() / 4000)
            assert np.cov(mine, parent)[0, 1] == pytest.approx(
                6.0 / total * parent.var(), abs=5 * noise
            )


def test_pairs_of_one_context_get_the_same_draw():
    """In the middle of a grid an action does the same everywhere; others have other luck."""
    triples = grid(5, 5).sampled(1, share=0.5)
    product = Product(triples, [block_of(triples, ((), (triples.k,)), (1.0, 4.0))])
    block, A = product.blocks[0], triples.A
    drawn = product.drawn(np.random.default_rng(3)).blocks[0]
    pairs = np.arange(triples.S * A)
    context, start = block.find(pairs)[1], drawn.lists.start
    assert np.array_equal(drawn.find(pairs)[1], context)
    for a in range(A):
        assert np.unique(context[pairs % A == a]).size == 1
        one = slice(start[context[a]], start[context[a] + 1])
        assert not np.allclose(drawn.lists.chance[one], block.lists.chance[one])
    begin, value, chance = drawn.distribution(pairs)
    moves = {a: [] for a in range(A)}
    for pair in pairs:
        part = slice(begin[pair], begin[pair + 1])
        if not {0, 4} & set(triples.codes[pair // A].tolist()):  # no move ends in a wall
            moves[pair % A].append(np.sort(chance[part]).round(12).tolist())
        assert chance[part].sum() == pytest.approx(1.0)
    for each in moves.values():
        assert len(each) == 9
        assert all(one == each[0] for one in each)
    assert moves[0][0] != moves[1][0]
    assert value.max() < triples.S


def never_played(kappa, finer=False):
    """A grid in which two of four actions were never played."""
    triples = grid(5, 5).sampled(4, share=1.0)
    pair = np.repeat(np.arange(triples.S * triples.A), np.diff(triples.indptr))
    keep = pair % triples.A < 2
    kept = np.searchsorted(pair[keep], np.arange(triples.S * triples.A + 1))
    chain = ((), (triples.k,), (0, triples.k))[: 3 if finer else 2]
    fewer = type(triples)(
        kept, triples.indices[keep], triples.counts[keep], triples.available, codes=triples.codes
    )
    return Product(fewer, [block_of(fewer, chain, kappa)])


@pytest.mark.parametrize("kappa", [(1.0, 3.0), (1.0, 12.0), (1.0, 6.0, 6.0)])
def test_a_context_never_met_scatters_as_kappa_says(kappa):
    """About the coarser one by 1 / (kappa + 1) of p (1 - p); of two levels 1 / kappa add up."""
    product = never_played(kappa, len(kappa) == 3)
    A, middle = product.triples.A, 12
    pairs = np.array([middle * A + 2, middle * A + 3])
    assert (product.blocks[0].find(pairs)[0] == 0).all()
    found, mean = rows_of(product, pairs, DRAWS), product.rows(pairs).toarray()
    near(found, mean, least=2e-3)  # chances below a cut are left out
    effective = 1.0 / sum(1.0 / each for each in kappa[1:])
    for k in range(2):
        p = mean[k]
        at = p > 0.1
        assert at.any()
        expected = (p * (1 - p) / (effective + 1.0))[at]
        assert np.allclose(found[:, k].var(axis=0)[at], expected, rtol=0.25)
    at = int(mean[0].argmax())
    assert abs(np.corrcoef(found[:, 0, at], found[:, 1, at])[0, 1]) < 0.2  # two that are not one


def test_pairs_of_a_context_never_met_get_the_same_draw():
    product = never_played((1.0, 3.0))
    A, cells = product.triples.A, [(row, col) for row in (1, 2, 3) for col in (1, 2, 3)]
    pairs = np.array([(row * 5 + col) * A + 2 for row, col in cells])
    rows = product.drawn(np.random.default_rng(0)).rows(pairs).toarray()
    alike = [np.sort(row[row > 0]).round(9).tolist() for row in rows]
    assert all(one == alike[0] for one in alike)
    assert len(alike[0]) > 1


@pytest.mark.parametrize(
    "made",
    [
        lambda t: Product(t, [block_of(t, ((), (t.k,), (0, t.k)), (1.0, 2.0, 4.0))]),
        lambda t: by_types(t, 2),
    ],
    ids=["product", "types"],
)
def test_rows_are_the_mean_of_those_drawn(made):
    triples = grid(4, 4, walls={(1, 1)}).sampled(3, share=0.7)
    fitted = made(triples)
    pairs = np.flatnonzero(triples.available.ravel())
    found = rows_of(fitted, pairs, DRAWS)
    sums = found.sum(axis=2)
    assert np.allclose(sums[sums > 0], 1.0)
    near(found, fitted.rows(pairs).toarray(), least=0.01)  # products are cut, types are rounded
    assert found.std(axis=0).max() > 0.02


def test_what_is_drawn_rests_on_the_seed_alone_and_leaves_the_rest_alone():
    triples = inventory(8, 4, 2.0).walked(60)
    product = Product(triples, [block_of(triples, ((), (triples.k,)), (1.0, 3.0))])
    pairs = np.arange(triples.S * triples.A)
    before = product.rows(pairs).toarray()
    one, same, other = (rows_of(product, pairs, 1, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.array_equal(product.rows(pairs).toarray(), before)


# -- predictions without contexts


def some_rows(K=4, S=5, seed=0):
    q = np.random.default_rng(seed).dirichlet(np.ones(S), K)
    q[q < 0.05] = 0.0
    return q / q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("visits", [4.0, 40.0])
def test_a_row_of_its_own_is_a_dirichlet_of_the_visits_behind_it(visits):
    q, rng = some_rows(), np.random.default_rng(1)
    alone = sparse.csr_array(q), np.arange(4), np.full(4, visits)
    found = np.array([tilted(*alone, rng).toarray() for _ in range(3000)])
    near(found, q, 3000)
    assert np.allclose(found.var(axis=0), q * (1 - q) / (visits + 1), atol=0.15 * 0.25 / visits)
    assert not found[:, q == 0].any()


def test_rows_of_a_group_get_more_or_less_of_the_same_states():
    q, rng = some_rows(), np.random.default_rng(1)
    q[1] = q[0]
    given = sparse.csr_array(q), np.array([7, 7, 7, 3]), np.full(4, 20.0)
    found = np.array([tilted(*given, rng).toarray() for _ in range(2000)])
    assert np.allclose(found.sum(axis=2), 1.0)
    assert np.array_equal(found[:, 0], found[:, 1])
    both = np.flatnonzero((q[0] > 0) & (q[2] > 0))
    odds = [found[:, k, both] / q[k, both] for k in (0, 2)]
    ratios = [each / each[:, :1] for each in odds]
    assert np.allclose(ratios[0], ratios[1])  # the same tilt
    near(found, q, 2000, least=0.02)
    assert abs(np.corrcoef(found[:, 0, both[0]], found[:, 3, both[0]])[0, 1]) < 0.1


def test_what_rests_on_visits_without_limit_is_certain():
    q = some_rows()
    found = tilted(
        sparse.csr_array(q), np.arange(4), np.full(4, np.inf), np.random.default_rng(0)
    ).toarray()
    assert np.allclose(found, q, atol=6 / np.sqrt(LIMIT))


# -- rewards


def test_rewards_are_drawn_as_far_as_their_parts_are_open():
    triples = inventory(8, 4, 2.0).walked(80, noise=1.0)
    ridge = RidgeRewards(triples)
    pair = np.repeat(np.arange(triples.S * triples.A), 3)[::7]
    t = np.arange(pair.size) % triples.S
    off = ridge.drawn(pair, t, 4000, np.random.default_rng(0))
    parts = np.asarray(ridge._parts(pair, t)[0])
    covariance = ridge.noise * np.linalg.inv(ridge.factor @ ridge.factor.T)
    expected = np.einsum("kp,pq,kq->k", parts, covariance, parts)
    told = ridge.predict(pair, t)
    room = np.minimum(told.r - ridge.low, ridge.high - told.r)
    free = room > 3 * np.sqrt(expected)  # not clipped
    assert free.sum() > 5
    assert np.allclose(off[:, free].var(axis=0), expected[free], rtol=0.15)
    assert (told.variance[free] >= expected[free] - 1e-9).all()
    near(off[:, free], 0.0, 4000)
    rewards = told.r + off
    assert (rewards >= ridge.low - 1e-9).all()
    assert (rewards <= ridge.high + 1e-9).all()
    assert np.array_equal(off[:2], ridge.drawn(pair, t, 4000, np.random.default_rng(0))[:2])
