"""Where an MDP leads: reachable states and the diameter."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from gim import planning
from gim.planning import graph
from tests import naive_planning as naive
from tests.naive_planning import random_tiny, river, tiny


def test_reachable_states():
    for seed in range(60):
        mdp = random_tiny(seed, S=8, concentration=0.05)
        mdp.start = np.where(mdp.start > 0.3, mdp.start, 0)
        if mdp.start.any():
            for form in (mdp, mdp.to_sparse()):
                assert (planning.reachable(form) == naive.reachable(mdp)).all()


def ring(n):
    P = np.zeros((n, 1, n))
    P[np.arange(n), 0, (np.arange(n) + 1) % n] = 1
    return tiny(P, np.zeros((n, 1)))


@pytest.mark.parametrize("sweep_limit", [100, 1])
def test_diameter_by_hand(monkeypatch, sweep_limit):
    monkeypatch.setattr(graph, "SWEEPS", sweep_limit)
    assert planning.diameter(tiny([[[1.0]]], [[0]])) == 0
    assert planning.diameter(ring(2)) == pytest.approx(1)
    assert planning.diameter(ring(7)) == pytest.approx(6)
    for n in (2, 6, 40, 301):
        mdp, longest = river(n)
        assert planning.diameter(mdp.to_sparse()) == pytest.approx(longest, rel=1e-8)
    assert planning.diameter(river(40)[0]) == pytest.approx(river(40)[1], rel=1e-8)


@pytest.mark.parametrize("sweep_limit", [100, 0])
def test_the_fastest_way_need_not_have_the_fewest_steps(monkeypatch, sweep_limit):
    """A leap that succeeds once in twenty trials, or two sure steps."""
    monkeypatch.setattr(graph, "SWEEPS", sweep_limit)
    leap = [[0.95, 0, 0.05], [0, 0, 1], [1, 0, 0]]
    walk = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    mdp = tiny(np.stack([leap, walk], axis=1), np.zeros((3, 2)))
    assert planning.diameter(mdp) == pytest.approx(2)


def test_diameter_is_infinite_where_there_is_no_way():
    one_way = tiny([[[0.5, 0.5]], [[0, 1.0]]], np.zeros((2, 1)))
    assert planning.diameter(one_way) == np.inf
    ends = tiny([[[0.5, 0.5]], [[0, 1.0]]], np.zeros((2, 1)), terminal=[1])
    assert planning.diameter(ends) == np.inf
    P = np.array([[[0.5, 0.5], [1, 0]], [[0, 1.0], [0, 0]]])  # the way back is not available
    assert planning.diameter(tiny(P, np.zeros((2, 2)), [[1, 1], [1, 0]])) == np.inf


@pytest.mark.parametrize("sweep_limit", [100, 3])
def test_diameter_by_linear_programming(monkeypatch, sweep_limit):
    monkeypatch.setattr(graph, "SWEEPS", sweep_limit)
    finite_ones = 0
    for seed in range(40):
        mdp = random_tiny(seed, S=6, concentration=0.3, ends=False)
        longest = naive.diameter(mdp)
        finite_ones += np.isfinite(longest)
        for form in (mdp, mdp.to_sparse()):
            assert planning.diameter(form) == pytest.approx(longest, rel=1e-7)
    assert finite_ones >= 20


def test_diameter_over_several_batches(monkeypatch):
    mdp = tiny(np.random.default_rng(0).dirichlet(np.ones(30), (30, 3)), np.zeros((30, 3)))
    longest = naive.diameter(mdp)
    monkeypatch.setattr(graph, "BATCH", 7)
    assert planning.diameter(mdp) == pytest.approx(longest, rel=1e-8)


def test_a_zero_that_is_stored_is_no_way():
    """States 0 and 1 lead to each other, and neither to 2, though a 0 is stored for that."""
    P = sparse.csr_array(
        ([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], [1, 2, 1, 0, 2, 0, 2, 2], [0, 2, 3, 5, 6, 7, 8]),
        shape=(6, 3),
    )
    ways = graph._graph(SimpleNamespace(transitions=P, S=3, A=2))
    assert sorted(zip(*(part.tolist() for part in ways.nonzero()), strict=True)) == [
        (0, 1),
        (1, 0),
        (2, 2),
    ]
    assert ways.nnz == 3
