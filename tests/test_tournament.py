"""Tournaments: uniform draws among the best, whatever keys come and go."""

from __future__ import annotations

import numpy as np
import pytest

from gim._compile.jit import plain
from gim.paper.walks.base import new_options
from gim.paper.walks.planned import UNTRIED
from gim.paper.walks.tournament import (
    OUT,
    UNKNOWN,
    count_up,
    draw,
    new_tournament,
    put,
    replay,
)

PUT, COUNT_UP, DRAW, REPLAY = plain(put), plain(count_up), plain(draw), plain(replay)


def ties_of(tree, s, A):
    """The actions that some number draws, with the share of the numbers that draw them."""
    numbers = 0.2 + 0.8 * (np.arange(840) + 0.5) / 840  # a multiple of 1 to 8
    drawn = [DRAW(tree, s, u, 0.2) for u in numbers]
    assert drawn == sorted(drawn)  # in the order of the actions, as a list of ties has it
    assert DRAW(tree, s, 0.2, 0.2) == drawn[0]
    assert DRAW(tree, s, np.nextafter(1, 0), 0.2) == drawn[-1]
    return {a: drawn.count(a) / 840 for a in set(drawn)}


@pytest.mark.parametrize("A", [1, 2, 3, 5, 8])
def test_a_tournament_draws_uniformly_among_the_best(A):
    rng = np.random.default_rng(A)
    keys = rng.integers(0, 3, size=(4, A)).astype(float)
    keys[:, 1:][rng.random((4, A - 1)) < 0.3] = OUT
    tree = new_tournament(keys)
    for step in range(60):
        for s in range(4):
            best = np.flatnonzero(keys[s] == keys[s].max())
            assert ties_of(tree, s, A) == {a: pytest.approx(1 / best.size) for a in best}
        s, a = int(rng.integers(4)), int(rng.integers(A))
        keys[s, a] = rng.choice([OUT, 0.0, 1.0, 2.0, float(step)])
        if (keys[s] == OUT).all():
            keys[s, a] = 0.0
        PUT(tree, s, a, keys[s, a])
        again = new_tournament(keys)
        assert np.array_equal(tree.top, again.top)
        assert np.array_equal(tree.ties[:, 1], again.ties[:, 1])
        for s in np.flatnonzero(tree.sole != UNKNOWN):
            assert np.flatnonzero(keys[s] == keys[s].max()).tolist() == [tree.sole[s]]
    tree.top[0, tree.top.shape[1] // 2 :][:A] = keys[1]
    REPLAY(tree, 0)
    assert ties_of(tree, 0, A) == ties_of(new_tournament(keys), 1, A)


@pytest.mark.parametrize("untried", [0.0, UNTRIED])
@pytest.mark.parametrize("A", [1, 2, 3, 5, 8])
def test_counting_up_draws_the_same(A, untried):
    """Visits grow by 1 and actions go out one by one; a tree made anew each time is the twin."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        available = np.arange(A + 1)[None] < A  # the last action is not there
        options = new_options(available, 0.2)
        n, out = np.zeros((1, A + 1), np.int64), np.zeros((1, A + 1), bool)

        def keys(n=n, out=out, available=available):
            return np.where(out | ~available, OUT, np.where(n > 0, n, untried))

        tree = new_tournament(keys())
        for _ in range(40 * A):
            u = rng.random()
            a = DRAW(tree, 0, u, 0.0)
            assert a == DRAW(new_tournament(keys()), 0, u, 0.0)
            a = int(rng.integers(A)) if rng.random() < 0.4 else a
            if not out[0, a]:
                n[0, a] += 1
                out[0, a] = n[0, a] == 7 and out.sum() < A - 1
                COUNT_UP(tree, options, n, out, 0, a, untried)
            assert tree.fault() == ""
            if tree.sole[0] != UNKNOWN:
                assert np.flatnonzero(keys()[0] == keys().max()).tolist() == [tree.sole[0]]
            else:
                assert np.array_equal(tree.top, new_tournament(keys()).top)
