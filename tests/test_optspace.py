"""OptSpace: its steps down the gradient, its trimming."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gim.model.completion import optspace as descending
from gim.model.completion.optspace import _inverse, core, descend, trimmed


def test_a_step_of_optspace_is_as_long_as_is_best():
    """Near the fit a step down the gradient loses no more than one of any other length would."""
    rng = np.random.default_rng(2)
    X, Y = (np.linalg.qr(rng.normal(size=(1, n, 2)))[0] for n in (12, 9))
    M = X @ np.diag([3.0, 2.0]) @ Y.swapaxes(1, 2)
    weights = (rng.random((12, 9)) < 0.4).astype(float)
    near = [np.linalg.qr(Z + 1e-4 * rng.normal(size=Z.shape))[0] for Z in (X, Y)]
    F = core(M, weights, np.zeros(1), *near)[1][0]
    (_, *after, _), _ = descend(weights, 0.0, M, *near, np.ones(1))
    gone = [a - b for a, b in zip(after, near, strict=True)]

    def at(length):
        moved = [np.linalg.qr(b + length * g)[0] for b, g in zip(near, gone, strict=True)]
        return core(M, weights, np.zeros(1), *moved)[1][0]

    lowest = min(at(length) for length in np.linspace(0.25, 4, 46))
    assert at(1.0) <= lowest + 0.02 * (F - lowest)
    assert lowest < 0.7 * F


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_inverses_of_optspace_do_not_depend_on_units(scale):
    square = np.array([[[2.0, 1.0], [1.0, 1.0]]])
    assert np.allclose(scale * _inverse(scale * square), [[1, -1], [-1, 2]], atol=1e-6)


def test_trimming_drops_crowded_rows_and_columns():
    seen = np.eye(8, dtype=bool)  # 8 + 7 + 7 - 1 entries seen: at most 5 a row and a column stay
    seen[0], seen[:, 1] = True, True
    kept = trimmed(seen)
    assert not kept[0].any()
    assert not kept[:, 1].any()
    assert np.array_equal(np.argwhere(kept), [[i, i] for i in range(2, 8)])
    everything = np.ones((4, 3), bool)
    assert trimmed(everything).all()


def test_a_step_of_optspace_goes_down_however_far_it_aimed(monkeypatch):
    """Where the first length is too long it is halved until the step pays; ridge 0."""
    rng, tried, lengths = np.random.default_rng(0), [], []
    M = rng.normal(size=(60, 6, 5))
    weights = (rng.random((6, 5)) < 0.6).astype(float)
    X, Y = (np.linalg.qr(rng.normal(size=(60, size, 2)))[0] for size in (6, 5))

    def counted(*given, core=core):
        tried.append(core(*given)[1])
        return core(*given)

    def noted(path, length, at=descending.Geodesic.at):
        lengths.append(length)
        return at(path, length)

    monkeypatch.setattr(descending, "core", counted)
    monkeypatch.setattr(descending.Geodesic, "at", noted)
    none = np.zeros(60)
    (_, new_X, new_Y, share), change = descend(weights, 1e-9, M, X, Y, none)
    assert len(tried) > 2  # some were halved
    halved = [later / earlier for earlier, later in pairwise(lengths[::2])]
    assert set(np.concatenate(halved).tolist()) == {0.5, 1.0}
    before, after = tried[0], tried[-1]
    assert (after < before).all()
    assert change == pytest.approx(np.sqrt((before - after) / before))
    for one in (new_X, new_Y):  # they stay orthonormal
        assert np.allclose(np.swapaxes(one, 1, 2) @ one, np.eye(2))
    assert ((share > 0) & (share < 1)).all()
