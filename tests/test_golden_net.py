"""What small worlds come to is what was written down; see `tests.golden_net`."""

import json

import numpy as np
import pytest

from tests.golden_net import CASES, FILE, as_json, differences, numbers, outcome

WRITTEN = json.loads(FILE.read_text())


def test_every_case_is_written_down():
    assert list(WRITTEN) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_it_comes_to_what_was_written_down(name):
    found = differences(as_json(outcome(name)), WRITTEN[name])
    assert not found, "\n".join(["if this is meant, `make golden` writes it anew:", *found[:20]])


def test_a_difference_is_told_and_rounding_is_none():
    then = as_json({"x": numbers(np.arange(5.0)), "word": "a", "nothing": float("nan")})
    assert differences(as_json({**then}), then) == []
    close = then | {"x": [4, 10.00005, then["x"][2] + 0.00005]}
    assert differences(close, then) == []
    assert differences({"r": [1, 1.002, 1.0]}, {"r": [1, 1.0, 1.0]}) == []
    for change in (
        {"x": numbers(np.arange(5.0)[::-1])},
        {"x": [4, 10.001, then["x"][2]]},
        {"x": [5, *then["x"][1:]]},
        {"x": then["x"][:2]},
        {"word": "b"},
        {"nothing": 0.0},
    ):
        (told,) = differences(as_json(then | change), then)
        assert ", and was " in told
