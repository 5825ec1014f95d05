"""The tool that counts chosen numbers: what it counts, as which kind, and how many there are."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from tools.scalars import CHOICE, KINDS, LIMIT, PAPER, SHOWN, everything, scalars

SOURCE = '''
"""A module."""
FEW = 3  # things
ONE = 1.0  # a named number counts whatever it is
LARGE = 1 << 20  # how much is done at once
STAY, CLIP, WRAP = 0, 1, 2
FREE = -1
GRID = (0.5, 1.0, 2.0)  # one choice
SPACED = 10.0 ** np.arange(-3.0, 4.0)  # one choice
NEAR = 1e-9  # rounding
ITERATIONS = 50  # limit: of a loop
WORDS = 5  # shown: in a sentence
# paper: Miller 1955
MILLER = 7
HOUSE = 9  # paper: somebody said so


def f(x, shift=3, half=0.5, few=FEW):
    limit = 0.3  # limit: not a constant of the module
    return x * 0.7 + x[:4] + np.zeros(9) + np.zeros(3, axis=5) + (x.ndim == 6)
'''


@pytest.fixture
def found(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return {(each.name, each.value): each.kind for each in scalars(path)}


def test_what_counts_as_what(found):
    assert found == {
        ("FEW", 3.0): CHOICE,
        ("ONE", 1.0): CHOICE,
        ("GRID", 0.5): CHOICE,
        ("SPACED", 10.0): CHOICE,
        ("ITERATIONS", 50.0): LIMIT,
        ("WORDS", 5.0): SHOWN,
        ("MILLER", 7.0): PAPER,
        ("HOUSE", 9.0): CHOICE,  # without a name and a year it is nobody's
        ("shift", 3.0): CHOICE,
        ("", 0.3): CHOICE,  # what only a comment calls a limit
        ("", 0.7): CHOICE,
    }


def test_there_are_no_more_than_there_were():
    """Of inference and the default learner: whoever needs another takes one away."""
    rooms = ("gim/analogy", "gim/agents")
    many = Counter(each.kind for each in everything() if each.file.startswith(rooms))
    assert set(many) <= set(KINDS)
    assert many[CHOICE] <= 56
    assert many[LIMIT] <= 50
    assert math.isfinite(sum(each.value for each in everything()))
