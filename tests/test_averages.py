"""Groups of equal size, and the curves that are drawn from them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gim
from gim._base import html
from gim._base.averages import equal_groups, size_for
from gim._base.terminal import sparkline
from gim_lab.report import study


@given(st.integers(0, 3000), st.integers(1, 70))
def test_groups_are_equal_in_order_and_leave_nothing_out(n, most):
    parts = equal_groups(n, size_for(n, most))
    assert len(parts) <= most
    assert sorted({*parts.ravel().tolist()}) == list(range(n))
    assert (np.diff(parts, axis=1) == 1).all()
    assert (np.diff(parts[:, 0]) > 0).all()
    assert (np.diff(parts[:-1, 0]) == parts.shape[1]).all()  # only the last may overlap


def test_the_size_is_the_least_that_fits():
    assert [size_for(n, 60) for n in (0, 1, 60, 61, 120, 121)] == [1, 1, 1, 2, 2, 3]


def test_alternating_values_are_drawn_as_a_level_line():
    """In groups of one and of two, 0, 1, 0, 1 ... would swing here and there."""
    swings = np.arange(90) % 2.0
    assert len(set(sparkline(swings, width=60, low=0, high=1))) == 1
    heights = re.findall(r",([\d.]+)", html.curve(swings, 0, 1))
    assert len(heights) > 40
    assert len(set(heights)) == 1
    plot = pytest.importorskip("gim.plot")
    run = gim.run("random", "riverswim", episodes=90)
    run._returns[:] = swings
    drawn = plot.curves(run).axes[0].lines[0].get_ydata()
    assert drawn == pytest.approx(np.full(45, 0.5))


def test_reports_draw_equal_groups():
    episode, swings = np.arange(1, 128), np.tile(np.arange(127) % 2.0, (5, 1))

    class Told:
        def __init__(self):
            self.curves = {"episode": [episode]}

        def curve(self, name):
            return swings

        def column(self, name):
            return np.ones(5)

    line = study._curve("x", Told())
    size = size_for(127, study.POINTS)
    assert size == 2
    assert line.y == pytest.approx([0.5] * 64)
    assert line.x[:2] == [1.5, 3.5]
