"""Tails of predicted rows: what is cut, against sorting, ties and all."""

import numpy as np
import pytest
from scipy import sparse

from gim._compile.jit import plain
from gim.analogy.analogy import cut, leading
from gim.analogy.structure.triples import distinct


def sorted_out(row, tail):
    """Which numbers of a row stay: the least go, in a stable order, up to the tail."""
    order = np.argsort(row, kind="stable")
    keep = np.ones(row.size, bool)
    keep[order[np.cumsum(row[order]) <= tail]] = False
    return keep


@pytest.mark.parametrize("tail", [1e-3, 0.02, 0.3])
@pytest.mark.parametrize("ties", [True, False])
def test_the_least_go_the_first_of_equals_first(ties, tail):
    rng = np.random.default_rng(0)
    sizes = [0, 1, 2, 7, 40, 200]
    rows = [rng.integers(1, 4, k) ** 4.0 if ties else rng.random(k) ** 4 for k in sizes]
    rows = [row / max(row.sum(), 1.0) for row in rows]
    data, first = np.concatenate(rows), np.append(0, np.cumsum(sizes))
    keep = leading(data, first, tail)
    np.testing.assert_array_equal(keep, plain(leading)(data, first, tail))
    np.testing.assert_array_equal(keep, np.concatenate([sorted_out(row, tail) for row in rows]))


def test_what_is_left_is_a_distribution():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(30, 0.1), 20)
    table[3] = 0.0  # no opinion
    found = cut(sparse.csr_array(table), 0.01)
    assert found.nnz < 0.7 * np.count_nonzero(table)
    sums = found.sum(axis=1)
    assert sums[3] == 0.0
    np.testing.assert_allclose(np.delete(sums, 3), 1.0)
    assert np.abs(found.toarray() - table).sum(axis=1).max() < 0.02 + 1e-9


@pytest.mark.parametrize("most", [3, 50, 10**12])
def test_different_numbers_need_no_sorting(most):
    key = np.random.default_rng(2).integers(0, most, 100)
    values, place = distinct(key)
    expected = np.unique(key, return_inverse=True)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(place, expected[1])
    assert distinct(key[:0])[1].size == 0
