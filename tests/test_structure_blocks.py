"""Which variables change together: correlations of the errors of two blocks, by hand."""

import numpy as np
import pytest

from gim.inference.structure import blocks


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_errors_are_correlated_whatever_their_size(size, monkeypatch):
    """Errors that are each other's opposite: all of four visits, in standard errors."""
    monkeypatch.setattr(blocks, "weights", lambda triples: np.array([1.0, 3.0]))
    one = blocks.Part(None, None, size * np.array([[2.0, 1.0]]))
    other = blocks.Part(None, None, np.array([[-2.0, -1.0]]))
    assert blocks.correlation(None, one, other) == pytest.approx(2.0)
    none = blocks.Part(None, None, np.zeros((1, 2)))
    assert blocks.correlation(None, one, none) == 0.0
