"""What a user gives beside a log, and logs that tell little."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow
import pytest

import gim
from gim.logs import learning
from gim.logs.given import by_labels

ROWS = [("low", "buy", -1.0, "high"), ("high", "wait", 2.0, "low"), ("low", "wait", 0.0, "low")]


@pytest.fixture(scope="module")
def learned():
    return gim.learn(gim.from_log(ROWS * 20), horizon=6)


def buy(state):
    return {"low": "buy", "high": "wait"}[state]


@pytest.mark.parametrize("given", [buy, {"low": "buy", "high": "wait"}])
def test_labels_are_as_good_as_numbers(learned, given):
    numbers = [learned.log.actions.index(buy(s)) for s in learned.log.states]
    assert by_labels(given, learned.log).tolist() == numbers
    assert learned.against(given) == learned.against(np.array(numbers))
    again = gim.learn(learned.log, horizon=6, baseline=given)
    assert again.behind.case.baseline.argmax(axis=1).tolist() == numbers


def test_nobody_is_asked_at_an_end():
    rows = {"s": ["a"] * 9, "a": ["go"] * 9, "r": [1.0] * 9, "s2": ["end"] * 9, "end": [True] * 9}
    log = gim.from_log(pyarrow.table(rows), done="end")
    assert by_labels({"a": "go"}, log).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"low": "buy"}, "the policy says nothing of state 'high'"),
        (lambda state: "sell", "'sell' is no action of this log"),
        ([7, 7], "is no action: 0 to 1 are"),
        ([0, 1, 0], "shape"),
        (np.full((2, 2), 0.7), "policy"),
        ("buy", "neither actions"),
    ],
)
@pytest.mark.parametrize("way", ["against", "evaluated"])
def test_what_is_no_policy_is_said_to_be_none(learned, given, why, way):
    if way == "evaluated":  # which has nothing to say of one episode
        columns = dict(zip(("s", "a", "r", "s2"), zip(*ROWS * 9, strict=True), strict=True))
        table = pyarrow.table(columns | {"episode": np.repeat(np.arange(9), len(ROWS))})
        learned = gim.learn(gim.from_log(table, episode="episode"))
    with pytest.raises((ValueError, TypeError), match=why):
        getattr(learned, way)(given)


def test_a_log_in_which_nothing_was_met_often_has_values_on_the_floor():
    """They do not rise alike from sweep to sweep, however alike they are."""
    rows = [(f"s{k}", "go", 1.0 + k % 3, f"s{k + 1}") for k in range(50)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        learned = gim.learn(gim.from_log(rows), discount=0.9, infer=None)
    assert np.isfinite(learned.value.estimate)


def test_a_column_of_identifiers_is_noticed(monkeypatch):
    monkeypatch.setattr(learning, "IDENTIFIERS", 40)
    rows = [(f"s{k}", "go", 1.0 + k, f"s{k + 1}") for k in range(50)]
    with pytest.warns(UserWarning, match="100% of 51 states were left once or never"):
        gim.learn(gim.from_log(rows), horizon=3, infer=None)


def test_a_log_in_which_nothing_paid_more_than_the_rest_is_noticed():
    """Means of sums differ in their last bits; who gives the rewards is told nothing."""
    rows = [(f"s{k % 25}", "go", -0.2, f"s{(k + 1) % 25}") for k in range(80)]
    log = gim.from_log(rows)
    with pytest.warns(UserWarning, match=r"every pair of the log pays -0\.2, so all policies"):
        gim.learn(log, horizon=3, infer=None)
    gim.learn(log, horizon=3, infer=None, rewards=np.ones((25, 1)))
    gim.learn(gim.from_log([*rows, ("s0", "go", 1.0, "s1")]), horizon=3, infer=None)
