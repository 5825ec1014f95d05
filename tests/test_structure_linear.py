"""Planes of rewards: least absolute errors, which outliers do not bend, by hand."""

import numpy as np
import pytest

from gim.analogy.structure import rewards as linear
from gim.analogy.structure.rewards import least_absolute


def line(n):
    x = np.arange(n, dtype=float)
    return np.column_stack([np.ones(n), x]), 3.0 - 2.0 * x


def test_outliers_do_not_bend_a_line():
    X, y = line(20)
    y[[3, 11, 19]] += [5.0, -40.0, 100.0]
    assert least_absolute(X, y, np.ones((1, 20)))[0] == pytest.approx([3.0, -2.0], abs=1e-6)


def test_each_plane_has_its_own_weights():
    X, y = line(20)
    other = np.where(np.arange(20) < 10, y, 7.0 + X[:, 1])
    first = (np.arange(20) < 10) * 1.0
    found = least_absolute(X, other, np.array([first, 1 - first, 0 * first]))
    expected = np.array([[3.0, -2.0], [7.0, 1.0], [0.0, 0.0]])
    assert np.allclose(found, expected, atol=1e-6)


def test_what_never_varies_is_a_constant():
    X, _ = line(8)
    assert least_absolute(X, np.full(8, 2.5), np.ones((1, 8)))[0].tolist() == [2.5, 0.0]


def test_of_many_a_sample_is_looked_at_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(linear, "SAMPLED", 5)
    X, y = line(41)
    seen = np.arange(0, 41, 10)
    y[np.setdiff1d(np.arange(41), seen)] += 50.0  # nobody looks at these
    assert least_absolute(X, y, np.ones((1, 41)))[0] == pytest.approx([3.0, -2.0], abs=1e-6)
