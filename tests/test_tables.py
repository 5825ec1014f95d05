"""Tables of an MDP: copied once, never shared with who may write to them, never out of bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import gim


def peak(job):
    """The most that a job has allocated at once, in bytes."""
    job()  # what is imported does not count
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def dense_tables(S=60, A=5):
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(S), (S, A)), rng.random((S, A, S))


def test_a_table_is_copied_once():
    P = dense_tables()[0]
    assert peak(lambda: gim.TabularMDP(P, np.zeros((60, 5)))) <= 1.3 * P.nbytes
    large = dense_tables(200)  # beside which the blocks that are worked in are small
    assert peak(lambda: gim.TabularMDP(*large)) <= 3.0 * large[0].nbytes
    rows = sparse.csr_array(P.reshape(300, 60))
    assert peak(lambda: gim.TabularMDP(rows, np.zeros((60, 5)))) <= 2.2 * P.nbytes  # and indices


def test_an_mdp_does_not_change_with_what_it_was_made_from():
    P, by_next = dense_tables()
    view = P[:]
    view.setflags(write=False)  # of an array that can be written to
    mdp, same = gim.TabularMDP(view, by_next), gim.TabularMDP(P.copy(), by_next.copy())
    P[:] = by_next[:] = 0
    assert (mdp.transitions == same.transitions).all()
    assert (mdp.rewards == same.rewards).all()


def test_a_table_that_is_marked_read_only_is_taken_as_it_is():
    P, by_next = dense_tables()
    P.setflags(write=False)
    by_next.setflags(write=False)
    assert gim.TabularMDP(P, by_next).transitions is P
    available = np.ones((60, 5), bool)
    available[4, 2] = False
    part = gim.TabularMDP(P, by_next, available=available)
    assert not part.transitions[4, 2].any()
    assert P[4, 2].any()  # what has to change is copied first


@pytest.mark.parametrize("column", [-1, 60])
def test_sparse_tables_that_point_outside_are_refused(column):
    rows = sparse.csr_array(dense_tables()[0].reshape(300, 60))
    rows.indices[17] = column
    with pytest.raises(ValueError, match=f"transitions: column {column} in row 0 of"):
        gim.TabularMDP(rows, np.zeros((60, 5)))
