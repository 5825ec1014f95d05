"""Variables: from any form to codes and back, found fast, kept by MDPs and files."""

import doctest
import itertools
import re
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gim
from gim import Variables
from gim.mdp.columns import MOST, Finder

P2 = np.array([[[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.0, 1.0]]])

# -- by hand


def test_values_become_codes_and_are_kept():
    v = Variables(
        {"row": [3, 3, 4, 4], "col": [0, 10, 0, 10], "floor": ["wet", "dry", "dry", "wet"]}
    )
    assert v.names == ("row", "col", "floor")
    assert v.sizes == (2, 2, 2)
    assert v.ordinal == (True, True, False)
    assert v.codes.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
    assert v.values(1) == (3, 10, "dry")
    assert v.label(1) == "row=3, col=10, floor=dry"
    assert v.state((4, 10, "wet")) == 3
    assert v.state({"col": 0, "floor": "dry", "row": 4}) == 2
    assert v.state(np.array([3, 10, "dry"], object)) == 1
    assert len(v) == 4
    assert repr(v) == "<Variables of 4: row 3..4, col 0..10 by 10, floor {dry, wet}>"
    assert "<td>floor</td><td>nominal</td><td>2</td>" in v._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        v.codes[0, 0] = 5


@pytest.mark.parametrize(
    ("values", "codes", "levels", "ordinal"),
    [
        ([2, 4, 8], [0, 1, 3], [2, 4, 6, 8], True),  # distances are kept
        ([7], [0], [7], True),
        ([-3, 0, -1], [0, 3, 2], [-3, -2, -1, 0], True),
        ([0.0, 1.0, 3.0], [0, 1, 3], [0, 1, 2, 3], True),  # whole numbers, however written
        ([0.1, 0.3, 0.2], [0, 2, 1], [0.1, 0.2, 0.3], True),
        ([0.5, 2.0, 1.0], [0, 3, 1], [0.5, 1.0, 1.5, 2.0], True),
        ([0.0, 1.0, 2.5], [0, 1, 2], [0.0, 1.0, 2.5], True),  # no common step: ranks
        ([0, 1, 10**9], [0, 1, 2], [0, 1, 10**9], True),  # too far apart: ranks
        ([True, False], [1, 0], [False, True], False),
        ([True], [1], [False, True], False),
        (["b", "a", "c"], [1, 0, 2], ["a", "b", "c"], False),
        (["b", 3, None], [0, 1, 2], ["b", 3, None], False),  # cannot be sorted: as they come
        ([np.int64(3), "b"], [0, 1], [3, "b"], False),
        ([0, 2.5, True], [0, 2, 1], [0.0, 1.0, 2.5], True),
        ([2**70, 1], [1, 0], [1, 2**70], False),  # beyond 64 bits: names
        (np.array([5, 6], np.uint8), [0, 1], [5, 6], True),
        (np.array(["x", "y"]), [0, 1], ["x", "y"], False),
    ],
)
def test_columns_by_hand(values, codes, levels, ordinal):
    v = Variables({"it": values})
    assert v.codes[:, 0].tolist() == codes
    assert list(v.levels[0]) == levels
    assert v.ordinal == (ordinal,)
    for s, value in enumerate(values):
        assert v.values(s) == (value,)
        assert v.state(value) == s
        assert v.label(s) == str(v.values(s)[0])


def test_kinds_can_be_told():
    table = {"a": [0, 5, 9], "b": [1, 1, 2]}
    assert Variables(table, ordinal=False).ordinal == (False, False)
    assert Variables(table, ordinal=False).sizes == (3, 2)
    assert Variables(table, ordinal={"a": False}).ordinal == (False, True)
    again = Variables(Variables(table, ordinal=False), names=["x", "y"], ordinal=[True, False])
    assert again.names == ("x", "y")
    assert again.sizes == (10, 2)
    assert again.ordinal == (True, False)


Cell = namedtuple("Cell", "row col")


@dataclass(frozen=True)
class Stock:
    pears: int
    place: Cell


@pytest.mark.parametrize(
    ("rows", "names", "last"),
    [
        ([(0, "a"), (1, "a")], ("x0", "x1"), (1, "a")),
        ([[0, 4], [1, 4]], ("x0", "x1"), (1, 4)),
        ([3, 5], ("x0",), (5,)),
        ([Cell(0, 1), Cell(2, 1)], ("row", "col"), (2, 1)),
        ([((0, 1), "a"), ((0, 2), "b")], ("x0", "x1", "x2"), (0, 2, "b")),
        (
            [Stock(3, Cell(0, 0)), Stock(4, Cell(0, 1))],
            ("pears", "place.row", "place.col"),
            (4, 0, 1),
        ),
        (np.array([[0, 1], [1, 1]]), ("x0", "x1"), (1, 1)),
        (np.array([(0, 1.5), (2, 0.5)], [("a", int), ("b", float)]), ("a", "b"), (2, 0.5)),
    ],
)
def test_rows_of_any_form(rows, names, last):
    v = Variables(rows)
    assert v.names == names
    assert v.values(1) == last
    assert v.state(rows[1]) == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Variables([]), "at least one row"),
        (lambda: Variables([(1, 2), (1,)]), "row 1 has 1 values, row 0 has 2"),
        (lambda: Variables({"a": [1, 2], "b": [1, 2, 3]}), "numbers of values: a 2, b 3"),
        (lambda: Variables({"a": [1, 2, 1]}), "0 and 2 are both a=1: add the variable in which"),
        (lambda: Variables({"a": [1.0, float("nan")]}), "variable 'a' is nan in row 1"),
        (lambda: Variables({"a": ["x", "y"]}, ordinal=True), "cannot be ordinal.*'x'"),
        (lambda: Variables({"a": [1, 2]}, ordinal={"b": True}), "no variable is called 'b'"),
        (lambda: Variables({"a": [1, 2]}, ordinal=[True, False]), "2 entries for 1 variables"),
        (lambda: Variables([(1, 2)], names=["a"]), "2 variables but 1 names: a"),
        (lambda: Variables([(1, 2)], names=["a", "a"]), "two variables are called 'a'"),
        (lambda: Variables(np.zeros((2, 2, 2))), r"shape \(2, 2, 2\): give an array \[n, k\]"),
        (lambda: Variables.coded([[0, 2]], [range(2)] * 2, "ab", [True] * 2), "'b' must be from 0"),
        (lambda: Variables.coded([[0]], [("x", "x")], ["a"], [True]), "stands twice in its levels"),
        (lambda: Variables.coded([[0.5]], [range(2)], ["a"], [True]), "give whole numbers"),
        (lambda: Variables.coded([[0]], [range(2)], ["a"], []), "1 variables, 1 levels, 0 kinds"),
        (lambda: Variables({"a": [1, 4]}).state(9), "a = 9: it must be in 1..4"),
        (lambda: Variables({"a": [1, 4]}).state([]), "give a"),
        (lambda: Variables({"a": [1, 4, 2]}).state(3), "nothing has a=3"),
        (lambda: Variables({"a": [1, 4]}).state({"b": 1}), "give a"),
        (lambda: Variables({"a": [1, 4]}).state(({},)), "a = {}"),
        (lambda: Variables({"a": [1, 4]}).index_of([[1, 2]]), r"give whole numbers \[..., 1\]"),
        (lambda: Variables({"a": [1, 4]}).index_of([0.0]), "give whole numbers"),
    ],
)
def test_what_is_wrong_is_said(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# -- found again, whatever the sizes


values = st.one_of(
    st.integers(-50, 50),
    st.floats(-5, 5, allow_nan=False).map(lambda x: round(x, 1)),
    st.text("abc", max_size=2),
    st.booleans(),
    st.none(),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(values, values), min_size=1, max_size=30, unique_by=lambda row: hash(row))
)
def test_every_row_is_found_by_its_values_and_by_its_codes(rows):
    v = Variables(rows)
    assert np.array_equal(v.index_of(v.codes), np.arange(len(rows)))
    for s, row in enumerate(rows):
        assert v.values(s) == row
        assert v.state(row) == s
    assert (v.codes < np.array(v.sizes)).all()
    assert v == Variables.unpack(*v.pack())


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 1000, 2**31, 2**40]), min_size=1, max_size=6),
    st.integers(0, 1000),
)
def test_the_finder_agrees_with_a_dictionary(sizes, seed):
    """Products of sizes from 1 to 2^240: tables, sorted keys and keys that are cut."""
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [
            rng.integers(0, min(size, 5) + (size - 5) * (seed % 2) * (size > 5), 40)
            for size in sizes
        ],
        1,
    )
    codes = np.unique(codes, axis=0)
    codes = codes[rng.permutation(len(codes))]
    there = {tuple(row): i for i, row in enumerate(codes.tolist())}
    finder = Finder(codes, sizes)
    asked = np.concatenate(
        [codes, rng.permuted(codes, axis=0), rng.integers(0, sizes, (20, len(sizes)))]
    )
    expected = [there.get(tuple(row), -1) for row in asked.tolist()]
    assert finder.find(asked).tolist() == expected


def test_all_three_ways_to_find_are_taken():
    small, wide = Finder(np.array([[0, 1]]), (2, 2)), Finder(np.array([[0, 1]]), (2**30, 2**30))
    long = Finder(np.array([[0, 1, 2]]), (2**30,) * 3)
    assert (small.table.size, wide.table.size, len(long.cuts)) == (4, 0, 1)
    assert 2**60 < MOST < 2**90


def test_codes_of_any_shape_and_out_of_range():
    v = Variables([(i, j) for i in range(3) for j in range(4)])
    grid = np.stack(np.meshgrid(np.arange(-1, 4), np.arange(-1, 5), indexing="ij"), axis=-1)
    found = v.index_of(grid)
    assert found.shape == (5, 6)
    assert found[1:4, 1:5].ravel().tolist() == list(range(12))
    assert (found == -1).sum() == 30 - 12
    assert v.index_of([2, 3]) == 11


def test_a_hundred_thousand_states():
    rows = list(itertools.product(range(100), range(20), range(10), "abcde"))
    v = Variables(rows, names=["stock", "place", "day", "kind"])
    assert v.sizes == (100, 20, 10, 5)
    assert np.array_equal(v.index_of(v.codes[::-1]), np.arange(len(v))[::-1])
    assert v.values(99_999) == rows[99_999]
    rng = np.random.default_rng(0)
    few = Variables(rng.permutation(2**20)[:100_000, None] * 977)  # sorted keys, no table
    assert np.array_equal(few.index_of(few.codes), np.arange(100_000))


def test_equality():
    v = Variables({"a": [0, 1]})
    assert v == Variables({"a": range(2)})
    assert v != Variables({"b": [0, 1]})
    assert v != Variables({"a": [0, 1]}, ordinal=False)
    assert v != Variables({"a": [1, 0]})
    assert v != Variables({"a": [5, 6]})
    assert v != 3


# -- of an MDP


def mdp(**options):
    return gim.TabularMDP(P2, np.zeros((2, 2)), horizon=3, **options)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"row": [0, 1], "col": [5, 5]}, (("row", "col"), [[0, 0], [1, 0]])),
        ([[0, 3], [1, 3]], (("x0", "x1"), [[0, 0], [1, 0]])),
        (np.array([4, 2]), (("state",), [[1], [0]])),
        (Variables({"a": ["y", "x"]}), (("a",), [[1], [0]])),
    ],
)
def test_variables_given_to_an_mdp(given_, expected):
    v = mdp(variables=given_).variables
    assert (v.names, v.codes.tolist()) == expected


def test_labels_that_tell_what_things_are_made_of():
    made = mdp(state_labels=[(0, "dry"), (1, "dry")], action_labels=[-1, 1])
    assert made.variables.names == ("x0", "x1")
    assert made.variables.values(1) == (1, "dry")
    assert made.action_variables.names == ("action",)
    assert made.action_variables.sizes == (2,)  # -1 and 1 are one step apart
    assert made.action_variables.values(0) == (-1,)
    assert made.state_label(1) == "(1, 'dry')"
    pairs = mdp(action_labels=[(0, 1), (1, 0)]).action_variables
    assert pairs.names == ("a0", "a1")
    named = mdp(state_labels=[Cell(0, 1), Cell(1, 1)])
    assert named.variables.names == ("row", "col")


@pytest.mark.parametrize(
    "labels",
    [
        None,
        ["a", "b"],
        [(0, 1), "end"],
        [(0, 1), (0, 1, 2)],
        [0, "end"],
        [True, False],
        [(), (1,)],
        [0.5, float("nan")],
    ],
)
def test_labels_that_do_not(labels):
    assert mdp(state_labels=labels).variables is None


def test_variables_can_be_withheld():
    made = mdp(state_labels=[(0, 1), (1, 1)], variables=None)
    assert made.variables is None
    assert made.with_(horizon=5).variables is None
    assert gim.TabularMDP.unpack(*made.pack()).variables is None


def test_states_are_named_by_their_variables():
    made = mdp(variables={"row": [0, 1], "col": [5, 5]}, action_variables={"move": [-1, 1]})
    assert made.state_label(1) == "row=1, col=5"
    assert made.action_label(0) == "-1"
    table = gim.run("optimal", made, 1).policy_table()
    assert "(1, 5)" in table


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variables": "car"}, 'give "auto", None'),
        ({"variables": [[0], [1], [2]]}, "variables describe 3 states, but there are 2"),
        ({"action_variables": {"a": [0]}}, "variables describe 1 actions, but there are 2"),
        ({"variables": [[0, 1], [0, 1]]}, "0 and 1 are both x0=0, x1=1"),
    ],
)
def test_wrong_variables_of_an_mdp(options, message):
    with pytest.raises(ValueError, match=message):
        mdp(**options)


def test_variables_are_kept(tmp_path):
    made = mdp(
        variables={"row": [3, 5], "floor": ["wet", "dry"]},
        action_variables=Variables.coded([[0], [2]], [("n", "s", "e")], ["move"], [False]),
    )
    made.save(tmp_path / "my.npz")
    for other in (gim.load(tmp_path / "my.npz"), made.with_(horizon=9), made.to_sparse()):
        assert other.variables == made.variables
        assert other.action_variables == made.action_variables
    run = gim.run("ucbvi", made, 20)
    assert run.model.variables == made.variables
    run.model.save(tmp_path / "model.npz")
    assert gim.load(tmp_path / "model.npz").action_variables == made.action_variables
    run.save(tmp_path / "run.npz")
    assert gim.load(tmp_path / "run.npz").mdp.variables == made.variables


def test_values_that_json_does_not_hold_come_back_as_text():
    v = Variables({"at": [frozenset([1]), frozenset([2])]})
    again = Variables.unpack(*v.pack())
    assert again.values(0) == ("frozenset({1})",)
    assert np.array_equal(again.codes, v.codes)
    alike = [type("Alike", (), {"__str__": lambda self: "me"})() for _ in range(2)]
    again = Variables.unpack(*Variables({"who": alike}).pack())
    assert again.levels == (("me (0)", "me (1)"),)


# -- our tasks


@pytest.mark.parametrize(
    ("word", "names", "sizes", "ordinal"),
    [
        ("gridworld:height=3,width=5", ("row", "col"), (3, 5), (True, True)),
        ("table1", ("row", "col"), (2, 3), (True, True)),
        ("riverswim:length=7", ("position",), (7,), (True,)),
        ("casinoland", ("room", "lever"), (4, 2), (True, False)),
    ],
)
def test_variables_of_our_tasks(word, names, sizes, ordinal):
    v = gim.make(word).variables
    assert (v.names, v.sizes, v.ordinal) == (names, sizes, ordinal)


def test_a_grid_with_walls_is_named_as_its_labels_are():
    made = gim.make("gridworld", map="S#G/...")
    for s in range(made.S):
        assert made.state_labels[s] == "({},{})".format(*made.variables.values(s))
    assert made.variables.index_of([0, 1]) == -1  # the wall


@pytest.mark.parametrize("word", ["synthetic", "mixtures", "shared_factors"])
def test_tasks_without_variables(word):
    assert gim.make(word).variables is None


# -- pages


@pytest.mark.parametrize("page", ["variables.md", "gymnasium.md"])
def test_examples_on_the_page_are_true(page):
    text = (Path(__file__).parent.parent / "docs" / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
