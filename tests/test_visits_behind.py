"""Visits behind predictions: by hand, along chains of contexts, by types, by action or state."""

import numpy as np
import pytest

from gim.analogy.candidates import candidates as everyone
from gim.analogy.candidates.base import MOST
from gim.analogy.candidates.data import Data
from gim.analogy.structure.block import Block, Form, lent
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.product import Product
from gim.analogy.structure.state_types import KAPPA, by_types
from tests.structured_worlds import grid, inventory


def block_of(triples, kappa=(0.5, 2.0, 4.0), without=None):
    """Contexts: all pairs, the action, the action with the first variable."""
    data = Explained(triples, Move(tuple(range(triples.k))))
    chain = ((), (triples.k,), (0, triples.k))
    return Block(data, Form(data.move, chain, kappa), without)


def by_hand(block, pair):
    """1 visit for the base measure; each level has its own visits, and what is lent to it."""
    behind = 1.0
    for level, kappa in enumerate(block.form.kappa):
        keys = block.data.triples.context(block.form.chain[level], np.array([pair]))
        met = np.flatnonzero(block.levels[level].keys == keys)
        n = block.stack.n[block.first[level] + met[0]] if met.size else 0.0
        behind = n + kappa * behind / (kappa + behind)
    return behind


@pytest.mark.parametrize("without", [None, 1])
def test_a_context_has_its_own_visits_and_what_coarser_ones_lend_it(without):
    block = block_of(grid(4, 4).sampled(2, share=0.4), without=without)
    pairs = np.arange(block.data.triples.S * block.data.triples.A)
    expected = [by_hand(block, pair) for pair in pairs]
    assert np.allclose(block.visits_behind(pairs), expected)
    depth = block.find(pairs)[0]
    assert {1, 2} <= set(depth.tolist())  # some were never met in their finest context
    assert (block.visits_behind(pairs)[depth == 1] <= block.form.kappa[2]).all()


def test_what_is_lent_is_neither_above_the_shrinkage_nor_what_there_is():
    assert lent(3.0, 6.0) == 2.0
    assert lent(1e9, 6.0) == pytest.approx(6.0)
    assert lent(3.0, 1e9) == pytest.approx(3.0)


def test_of_several_blocks_the_one_with_the_fewest_visits_counts():
    triples = inventory(8, 4, 2.0).walked(60)
    blocks = [block_of(triples, kappa) for kappa in ((0.5, 2.0, 4.0), (0.5, 0.1, 0.2))]
    product = Product(triples, blocks)
    pairs = np.arange(triples.S * triples.A)
    few = np.minimum(blocks[0].visits_behind(pairs), blocks[1].visits_behind(pairs))
    assert np.array_equal(product.visits_behind(pairs), few)


def test_apart_a_pair_does_not_count_its_own_visits():
    triples = grid(4, 4).sampled(3, share=0.6)
    product = Product(triples, [block_of(triples)])
    met = product.blocks[0].data.pairs
    whole, apart = product.visits_behind(met), product.visits_behind(met, apart=True)
    assert (apart < whole).all()


def test_types_that_a_state_may_be_of_add_their_variances():
    triples = grid(5, 5, walls={(1, 1), (2, 3)}).sampled(3, share=0.7)
    typed = by_types(triples, 2)
    pairs = np.arange(triples.S * triples.A)
    found, gamma = typed.visits_behind(pairs), typed.chances(pairs)
    action_only = lent(typed.block.visits_behind(pairs), KAPPA)
    for pair in pairs[::7]:
        n = typed.mixture.n[:, pair % triples.A]  # contexts of actions are in their order here
        assert found[pair] == pytest.approx(1 / (gamma[pair] / (n + action_only[pair])).sum())


@pytest.mark.parametrize(
    ("name", "axis"),
    [("marginal", None), ("means:by=state", 1), ("means:by=action", 0), ("factors:rank=1", 0)],
)
def test_means_rest_on_the_visits_that_they_are_means_of(name, axis):
    rng = np.random.default_rng(0)
    N = rng.integers(0, 3, (8, 4, 8)) * (rng.random((8, 4, 1)) < 0.7)
    data = Data(N.astype(float), N.sum(axis=2), np.ones((8, 4), bool))
    found = everyone.make(name).fit(data).visits_behind(np.arange(32)).reshape(8, 4)
    counted = data.n / (1 + data.n / MOST)
    if axis is None:
        assert np.allclose(found, 1 + counted.sum())
    else:
        assert np.allclose(
            found, np.broadcast_to(1 + counted.sum(axis=axis, keepdims=True), (8, 4))
        )
