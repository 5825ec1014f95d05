"""Which variables change together, and which of many are looked at."""

import itertools

import numpy as np
import pytest

from gim.analogy.structure import blocks, search
from gim.analogy.structure.explanations import Explained, Move
from tests.structured_worlds import World


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_errors_are_correlated_whatever_their_size(size, monkeypatch):
    """Errors that are each other's opposite: all of four visits, in standard errors."""
    monkeypatch.setattr(blocks, "weights", lambda triples: np.array([1.0, 3.0]))
    one = blocks.Part(None, None, size * np.array([[2.0, 1.0]]))
    other = blocks.Part(None, None, np.array([[-2.0, -1.0]]))
    assert blocks.correlation(None, one, other) == pytest.approx(2.0)
    none = blocks.Part(None, None, np.zeros((1, 2)))
    assert blocks.correlation(None, one, none) == 0.0


def test_variables_that_change_together_are_one_block_beside_the_others():
    """Two of four are drawn together, the others each by itself."""

    def outcomes(x, a):
        for both, one, other in itertools.product(range(3), repeat=3):
            yield (both, both, one, other), 1 / 27, 0.0

    states = itertools.product(range(3), repeat=4)
    forms, _ = blocks.search(World(states, 2, outcomes).sampled(4, seed=1))
    assert sorted(form.move.variables for form in forms) == [(0, 1), (2,), (3,)]


def test_of_many_features_those_that_tell_most_are_looked_at():
    """What is rarely set and decides is worth more than what is set half of the time."""
    rng = np.random.default_rng(0)
    many = search.MOST_FEATURES + 6
    codes = rng.integers(0, 2, (150, many))
    codes[:, 0] = rng.random(150) < 0.15
    states = sorted({(*map(int, each), last) for each in codes for last in range(3)})

    def outcomes(x, a):
        yield (*x[:-1], (x[-1] + 1 + x[0]) % 3), 1.0, 0.0

    triples = World(states, 2, outcomes).sampled(2, seed=0)
    data = Explained(triples, Move((many,)))
    found = search.relevant(data)
    assert len(found) == search.MOST_FEATURES < triples.features
    assert found == sorted(found)
    assert {0, many} <= set(found)
