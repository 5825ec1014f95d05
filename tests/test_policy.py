"""`gim.Policy`: what it says, in whose names, and that every file gives it back exactly."""

from __future__ import annotations

import csv
import enum
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gim
from gim import Policy
from gim._base import files
from gim.mdp.names import Names
from gim.mdp.policy.csv_file import cell, label

ACTIONS = np.array([[1, 0, 2], [1, 0, 2], [0, 0, 1], [1, 0, 1]])  # [H, S]
CHANCES = np.array([[0.5, 0.5, 0], [1, 0, 0], [0.2, 0.3, 0.5]])  # [S, A]
FORMS = {
    "[S]": ACTIONS[0],
    "[H, S]": ACTIONS,
    "[1, S]": ACTIONS[:1],
    "[S, A]": CHANCES,
    "[H, S, A]": np.stack([CHANCES, CHANCES, CHANCES[::-1]]),
}
ENDINGS = {"npz": Policy.save, "csv": Policy.to_csv, "json": Policy.to_json}


def again(policy: Policy, ending: str, folder: Path) -> Policy:
    ENDINGS[ending](policy, folder / f"policy.{ending}")
    found = gim.load(folder / f"policy.{ending}")
    assert isinstance(found, Policy)
    return found


def assert_same(a: Policy, b: Policy) -> None:
    one, two = np.asarray(a), np.asarray(b)
    assert one.dtype == two.dtype
    assert one.shape == two.shape
    assert np.array_equal(one, two)
    assert (a.states, a.actions, a.horizon) == (b.states, b.actions, b.horizon)
    for names, others in ((a.states, b.states), (a.actions, b.actions)):
        for k in range(len(names)):
            assert repr(names[k]) == repr(others[k])  # 1 is not 1.0, nor "1", nor True
    assert (a.seen is None) == (b.seen is None)
    assert a.seen is None or np.array_equal(a.seen, b.seen)


# -- what it says


@pytest.mark.parametrize("form", ["[S]", "[H, S]", "[1, S]"])
def test_actions_by_number(form):
    policy, array = Policy(FORMS[form], actions=3), FORMS[form]
    for s in range(3):
        for h in range(len(array) if array.ndim == 2 else 2):
            wanted = array[h, s] if array.ndim == 2 else array[s]
            assert policy(s, h) == policy.index(s, h) == policy(np.int64(s), step=np.int32(h))
            assert policy(s, h) == wanted
            assert type(policy(s, h)) is int


@pytest.mark.parametrize("form", FORMS)
def test_it_is_an_array(form):
    policy = Policy(FORMS[form])
    assert np.array_equal(np.asarray(policy), FORMS[form])
    assert np.array_equal(np.array(policy) + 1, FORMS[form] + 1)
    assert np.asarray(policy, float).dtype == float
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(policy)[0] = 1
    given = FORMS[form].copy()
    kept = Policy(given)
    given[:] = 0
    assert np.array_equal(np.asarray(kept), FORMS[form])


class Cell(enum.Enum):
    """States that no file can hold as they are."""

    LEFT = 1
    RIGHT = 2


@pytest.mark.parametrize(
    ("labels", "asked"),
    [
        (["a", "b"], ["a", "b"]),
        ([10, 20], [10, np.int64(20)]),
        ([-1, "end"], [-1, "end"]),
        ([(0, 1), (1, 0)], [(0, 1), np.array([1, 0])]),
        ([(0, 1), (1, 0)], [[0, 1], {"0": 1, "1": 0}]),
        ([(0, 1), (1, 0)], [0, 1]),  # no label is a number: numbers are numbers
        ([("a", (1, 2)), ("b", (1, 2))], [("a", (1, 2)), ("b", (1, 2))]),
        ([Cell.LEFT, Cell.RIGHT], [Cell.LEFT, Cell.RIGHT]),
        ([float("nan"), 1.0], [np.float64("nan"), 1]),
        (range(2), [0, 1]),
        (range(1, 3), [1, 2]),
        (None, [0, np.uint8(1)]),
    ],
)
def test_states_go_by_their_own_names(labels, asked):
    policy = Policy([0, 1], labels)
    assert [policy(state) for state in asked] == [0, 1]


def test_variables_have_names():
    cells = Names("state", 2, variables=[(0, 3), (1, 3)], names=("row", "column"))
    policy = Policy([1, 0], cells, [("up", 1), ("down", 2)])
    assert policy({"row": 1, "column": 3, "colour": "red"}) == ("up", 1)
    assert policy((0, 3)) == ("down", 2)
    labelled = Names("state", 2, ["here", "there"], [(0, 3), (1, 3)])
    assert Policy([1, 0], labelled)("here") == Policy([1, 0], labelled)((0, 3)) == 1
    with pytest.raises(ValueError, match=r"stands for several states: use policy.index"):
        Policy([1, 0], Names("state", 2, variables=[(0, 3), (0, 3)]))((0, 3))


@pytest.mark.parametrize(
    ("labels", "asked", "says"),
    [
        (None, 3, "3 is no state of this policy: they are the numbers 0 to 1"),
        (None, -1, "-1 is no state"),
        (None, "0", "'0' is no state"),
        (None, True, "True is no state"),
        (["a", "b"], 0, "0 is no state .*'a', 'b'; policy.index takes numbers"),
        ([1, 2], 0, "0 is no state .* 1, 2; policy.index takes numbers"),
        ([(0, 1), (1, 0)], (1, 1), r"\(1, 1\) is no state .*\(0, 1\), \(1, 0\)$"),
        ([(0, 1), (1, 0)], {"row": 1}, "is no state"),
        (["a", "b"], None, "None is no state"),
    ],
)
def test_a_state_that_there_is_not(labels, asked, says):
    with pytest.raises(ValueError, match=says):
        Policy([0, 1], labels)(asked)


def test_steps_and_numbers_are_checked():
    policy = Policy(ACTIONS)
    for step in (4, -1, 1.0, None):
        with pytest.raises(ValueError, match=r"step = .* from 0 to 3 \(the policy is for 4 steps"):
            policy(0, step)
    for s in (3, -1, "0"):
        with pytest.raises(ValueError, match=r"state = .*from 0 to 2"):
            policy.index(s)
    assert Policy(ACTIONS[0])(0, step=10**9) == 1  # every step is alike


def test_a_state_never_seen_is_an_error():
    policy = Policy([0, 1, 1], ["a", "b", "c"], seen=[True, False, True])
    assert policy("a") == 0
    for ask in (lambda: policy("b"), lambda: policy.index(1)):
        with pytest.raises(ValueError, match="state 'b' was never seen"):
            ask()
    assert policy.table().splitlines()[3].endswith(" (never seen)")
    timed = Policy(ACTIONS, ["a", "b", "c"], seen=[False, True, True])
    assert timed.table().splitlines()[2].endswith(" (never seen)")


@pytest.mark.parametrize(
    ("array", "more", "says"),
    [
        ([], {}, "neither actions"),
        (np.zeros((0, 2), int), {}, "empty"),
        (["a"], {}, "neither actions"),
        ([True, False], {}, "neither actions"),
        ([0.0, 1.0], {}, "neither actions"),
        (np.zeros((1, 2, 3), int), {}, "neither actions"),
        ([0, -1], {}, "negative action"),
        ([[0.5, 0.4]], {}, r"policy\[0\] sums to 0.9, not 1"),
        ([[0.5, np.nan]], {}, "no probability"),
        ([[1.5, -0.5]], {}, "no probability"),
        ([0, 1], {"states": ["a"]}, "1 states were named, the policy has 2"),
        ([0, 1], {"actions": 1}, "1 actions were named, the policy has 2"),
        (CHANCES, {"actions": 4}, "4 actions were named, the policy has 3"),
        ([0, 1], {"states": ["a", "a"]}, "'a' stands twice"),
        ([0, 1], {"states": [1, "1"]}, "'1' stands twice"),
        ([0, 1], {"states": [1, True]}, "stands twice"),
        ([0, 1], {"seen": [True]}, r"seen must be bool \[2\]"),
        ([0, 1], {"seen": [1, 0]}, r"seen must be bool \[2\]"),
    ],
)
def test_what_is_no_policy(array, more, says):
    with pytest.raises(ValueError, match=says):
        Policy(array, **more)


def test_drawn_actions_follow_the_probabilities():
    policy = Policy(CHANCES, actions=["a", "b", "c"])
    rng = np.random.default_rng(5)
    drawn = np.array([policy.index(2, rng=rng) for _ in range(6000)])
    share = np.bincount(drawn, minlength=3) / drawn.size
    assert np.abs(share - CHANCES[2]).max() < 4 * np.sqrt(0.25 / drawn.size)
    assert {policy(0, rng=rng) for _ in range(200)} == {"a", "b"}  # never what has probability 0
    assert {policy(1, rng=rng) for _ in range(20)} == {"a"}
    one = [policy(2, rng=np.random.default_rng(k)) for k in range(50)]
    assert one == [policy(2, rng=np.random.default_rng(k)) for k in range(50)]
    own = [Policy(CHANCES).index(2) for _ in range(3)]  # a stream of its own, from its beginning
    assert own == own[:1] * 3


# -- tables


def test_table_names_changes_by_the_step_from_which_they_hold():
    policy = Policy(ACTIONS, ["a", "b", "c"], ["stay", "go", "jump"])
    assert policy.table().splitlines() == [
        "state  action (from step)",
        "─────  ────────────────────────",
        "a      go (0), stay (2), go (3)",
        "b      stay",
        "c      jump (0), go (2)",
    ]
    assert Policy(ACTIONS[0]).table().splitlines()[0] == "state  action"
    often = Policy(np.arange(20).reshape(20, 1) % 2).table()  # a line, not a screen, for each state
    assert often.endswith("0 (4), 1 (5), ... (14 more)")
    shown = Policy(CHANCES, actions=["stay", "go", "jump"]).table().splitlines()
    assert shown[2].endswith("stay 0.50 / go 0.50")
    assert shown[3].endswith("stay 1.00")


# -- files


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_comes_back_from_every_file(form, ending, tmp_path):
    array = FORMS[form]
    actions = Names("action", 3, variables=[(0, "x"), (1, "y"), (2, "z")], names=["n", "m"])
    both = Names("state", 3, ["a", "b", "c"], [(0, 1)] * 3, ["share of it", "step of 2, =x"])
    for states in (None, ["a", "b", "c"], [(0, 0.5), (1, 1.5), (2, -0.5)], both):
        for named in (actions, ["left", "right", "never played"], 3):
            for seen in (None, [True, False, True]):
                policy = Policy(array, states, named, seen=seen)
                assert_same(policy, again(policy, ending, tmp_path))


FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\r"]
LIKE_NUMBERS = ["1", "1.0", "1e5", "1_0", "nan", "inf", "true", "null", "[1]", "{}"]
ODD = ["", " ", "'", "''=x", "[", "a,b", 'a"b', "a\nb", "a\r\nb", "ä€😀", "state", "\\"]
TEXTS = [*FORMULAS, *LIKE_NUMBERS, *ODD]
NUMBERS = [7, -7, 10**30, 2.5, -0.0, 1e300, 5e-324, float("-inf")]
NASTY = [*TEXTS, *NUMBERS, None, ("a", 1), (), ((1,), "x")]


@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_of_every_kind_come_back_exactly(ending, tmp_path):
    S = len(NASTY)
    policy = Policy(np.arange(S) % 3, NASTY, ["=cmd|' /C calc'!A0", -1, ("x", None)])
    assert_same(policy, again(policy, ending, tmp_path))
    timed = Policy(np.arange(3 * S).reshape(3, S) % S, NASTY, NASTY)
    assert_same(timed, again(timed, ending, tmp_path))


labels = st.one_of(
    st.text(max_size=6),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.tuples(st.text(max_size=2), st.integers()),
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_policies_come_back(tmp_path_factory, data):
    def names(n):
        unique = st.lists(labels, min_size=n, max_size=n, unique_by=(str, lambda x: x))
        return data.draw(st.none() | unique)

    S, A, H = (data.draw(st.integers(1, 4)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    drawn, timed = data.draw(st.booleans()), data.draw(st.booleans())
    array = rng.integers(A, size=(H, S))
    if drawn:
        array = np.eye(A)[array]
        array[0, 0] = rng.dirichlet(np.ones(A))
    policy = Policy(array if timed else array[0], names(S), names(A) or A)
    folder = tmp_path_factory.mktemp("policies")
    for ending in ENDINGS:
        assert_same(policy, again(policy, ending, folder))


@pytest.mark.parametrize("text", TEXTS)
def test_no_cell_of_text_is_a_formula(text):
    written = cell(text)
    assert not written.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert label(written) == text
    assert type(label(written)) is str


def test_csv_is_a_plain_table(tmp_path):
    states = Names("state", 3, variables=[(0, 0), (0, 1), (1, 0)], names=["row", "column"])
    policy = Policy(ACTIONS, states, ["stay", "go", "jump"])
    policy.to_csv(tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["state", "state.row", "state.column", "step of 4", 'action of ["stay", "go", "jump"]'],
        ["0", "0", "0", "0", "go"],
        ["0", "0", "0", "2", "stay"],
        ["0", "0", "0", "3", "go"],
        ["1", "0", "1", "0", "stay"],
        ["2", "1", "0", "0", "jump"],
        ["2", "1", "0", "2", "go"],
    ]
    edited = (tmp_path / "p.csv").read_text().replace("1,0,1,0,stay", "1,0,1,0,jump")
    (tmp_path / "p.csv").write_text("\ufeff" + edited)  # as a spreadsheet may save it
    assert gim.load(tmp_path / "p.csv")((0, 1)) == "jump"


def test_json_is_what_its_page_says(tmp_path):
    Policy(ACTIONS[:, :2], actions=["stay", "go"], seen=[True, False]).to_json(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text()) == {
        "gim": "policy",
        "format": 1,
        "states": 2,
        "actions": ["stay", "go"],
        "steps": 4,
        "unseen": [1],
        "policy": [[[0, 1], [2, 0], [3, 1]], 0],
    }


def test_what_no_file_can_hold_becomes_text(tmp_path):
    policy = Policy([1, 0], list(Cell))
    for ending in ENDINGS:
        found = again(policy, ending, tmp_path)
        assert [found(str(state)) for state in Cell] == [policy(state) for state in Cell]


@pytest.mark.parametrize("ending", ENDINGS)
def test_large_policies_stay_small(ending, tmp_path):
    """100,000 states over 50 steps, 40 MB as an array: a change of mind in one state of ten."""
    S, H, rng = 100_000, 50, np.random.default_rng(3)
    array = np.tile(rng.integers(4, size=S), (H, 1))
    late = rng.choice(S, S // 10, replace=False)
    array[30:, late] = (array[30:, late] + 1) % 4
    policy = Policy(array, actions=["up", "down", "left", "right"])
    assert_same(policy, again(policy, ending, tmp_path))
    assert (tmp_path / f"policy.{ending}").stat().st_size < 16 * S


CSV = {
    "state,step\n0,0\n": "the head is not that of a policy",
    "state,action\n0,0\n": "cannot read the head",
    "state,action of 0\n0,0\n": "cannot read the head",
    "state,action of [\n0,0\n": "cannot read the head",
    "state,step of 0,action of 2\n0,0,0\n": "cannot read the head",
    "state,step of x,action of 2\n0,0,0\n": "cannot read the head",
    "state,action of 2,state.x\n0,0,0\n": "the head is not that of a policy",
    "state,action of 2\n": "no line below the head",
    "state,action of 2\n0\n": "line 2 has 1 cells, the head 2",
    "state,action of 2\n0,2\n": "line 2: 2 is no action of this policy",
    "state,action of 2\n0,0\n0,1\n": "line 3 says the same step of the same state again",
    "state,action of 2\n0,0\n1,0\n0,1\n": "0 stands twice",
    "state,step of 3,action of 2\n0,1,0\n": "rising steps that begin at 0",
    "state,step of 3,action of 2\n0,0,0\n0,2,1\n0,1,0\n": "rising steps",
    "state,step of 3,action of 2\n0,0,0\n0,3,1\n": "a step beyond 0 to 2",
    "state,step of 3,action of 2\n0,0,0\n0,-1,1\n": "a step beyond 0 to 2",
    "state,step of 1000000000000,action of 2\n0,0,0\n": "the limit is",
    "state,action of 1000000000000,probability\n0,0,1\n": "the limit is",
    "state,action of 2,probability\n0,0,0.5\n": r"policy\[0\] sums to 0.5, not 1",
    "state,action of 2,probability\n0,0,0.5\n0,0,0.5\n": "line 3 says the same action again",
    "state,action of 2,probability\n0,0,x\n": "line 2: could not convert",
    "state,action of 2,seen\n0,0,yes\n": "line 2: seen must be true or false",
    'state,action of 2\n"0,0\n': "line 2: unexpected end of data",
}
JSON = {
    '"policy"': "no policy: ",
    "}": "it is JSON, but no policy",
    '"gim": "policy", "format": 2}': "has format 2, this gim reads 1",
    '"gim": "policy", "format": 1}': "states must be a number above 0",
    '"gim": "policy", "format": 1, "states": ' + "[" * 100_000: "nested too deep",
}
ENTRIES = {  # what is wrong with a policy of one state and two actions
    '"states": 2, "policy": [0]': "an entry for each of the 2 states",
    '"policy": [2]': r"an action of policy\[0\] = 2: give a whole number from 0 to 1",
    '"policy": [[1]]': r"policy\[0\] must be an action, or a list of \[step, action\]",
    '"policy": [[[1, 1]]]': r"a step of policy\[0\] = 1",
    '"policy": [[]]': "need a row each",
    '"policy": [{"2": 1}]': r"policy\[0\] must be probabilities by action",
    '"policy": [{"x": 1}]': r"policy\[0\] must be probabilities by action",
    '"policy": [{"0": "x"}]': r"policy\[0\] must be probabilities by action",
    '"policy": ["a"]': r"an action of policy\[0\] = 'a'",
    '"actions": 1000000000000, "policy": [{"0": 1}]': "the limit is",
    '"policy": [0], "steps": 1000000000000': "the limit is",
    '"policy": [0], "unseen": [1]': "unseen = 1",
    '"policy": [0], "unseen": 0': "unseen = None",
    '"policy": [0], "states": [{}]': "labels of states must be a list",
    '"policy": [0], "states": {}': "neither labels nor values",
    '"policy": [0], "steps": 2.5': "steps = 2.5",
}
JSON |= {
    f'"gim": "policy", "format": 1, "states": 1, "actions": 2, {entry}}}': says
    for entry, says in ENTRIES.items()
}
BAD = CSV | {"{" + text: says for text, says in JSON.items()}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[-40:])
def test_files_that_are_no_policy(text, tmp_path):
    path = tmp_path / ("p.json" if text.startswith("{") else "p.csv")
    path.write_text(text)
    with pytest.raises(ValueError, match=BAD[text]) as raised:
        gim.load(path, "policy")
    assert str(raised.value).startswith(f"{path} is no policy: ")


@pytest.mark.parametrize("ending", ["csv", "json"])
@pytest.mark.parametrize("form", FORMS)
def test_damaged_text_is_an_error_or_another_policy(ending, form, tmp_path):
    """Characters changed, lost or doubled, 150 times: never anything but a ValueError."""
    path = tmp_path / f"policy.{ending}"
    policy = Policy(FORMS[form], ["a", 2, (1, "b")], ["x", "y", "z"], seen=[True, True, False])
    ENDINGS[ending](policy, path)
    whole, luck = path.read_text(), random.Random(7)
    refused = 0
    for _ in range(150):
        at = luck.randrange(len(whole))
        put = luck.choice(["", whole[at] * 2, luck.choice('0123456789,."[]{}=-\n\x00e')])
        path.write_text(whole[:at] + put + whole[at + 1 :])
        try:
            assert isinstance(gim.load(path), Policy)
        except ValueError:  # and nothing else
            refused += 1
    assert refused > 20


def test_a_damaged_file_is_refused(tmp_path):
    arrays, meta = Policy(ACTIONS).pack()
    for change, says in (
        ({"rows": arrays["rows"][:-1]}, "need a row each|numbers"),
        ({"step": arrays["step"] + 9}, "beyond"),
        ({"state": arrays["state"][::-1]}, "in order"),
        ({"seen": np.ones(2, bool)}, "seen must be bool"),
    ):
        files.save(tmp_path / "p.npz", "policy", arrays | change, meta)
        with pytest.raises(ValueError, match=says):
            gim.load(tmp_path / "p.npz")
    huge = ({"steps": 10**12}, {"states": 10**12})
    for change in (*huge, {"steps": "x"}, {"states": 0}, {"actions": []}, {"states": 4}):
        files.save(tmp_path / "p.npz", "policy", arrays, meta | change)
        with pytest.raises(ValueError, match=r"p\.npz"):
            gim.load(tmp_path / "p.npz")


def test_a_limit_of_bytes(tmp_path):
    for ending in ENDINGS:
        path = tmp_path / f"policy.{ending}"
        ENDINGS[ending](Policy(ACTIONS), path)
        with pytest.raises(ValueError, match="the limit is 40"):
            gim.load(path, limit=40)


def test_equal_policies_make_equal_files(tmp_path):
    for ending in ENDINGS:
        for k in (1, 2):
            ENDINGS[ending](Policy(ACTIONS, "abc", "xyz"), tmp_path / f"{k}.{ending}")
        one, two = ((tmp_path / f"{k}.{ending}").read_bytes() for k in (1, 2))
        assert one == two


# -- the page


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    """Every block of docs/policies.md, in order; its figures are those that it states."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parent.parent / "docs" / "policies.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 7
    space: dict[str, Any] = {}
    exec(blocks[0], space)
    run, best = space["run"], space["best"]
    values = [run.mdp.policy_return(best), run.mdp.policy_return(run.policy)]
    assert f"gives {values[0]:.3f}, {values[1]:.3f} and {run.mdp.optimal_return():.3f}".replace(
        "0.", "."
    ) in re.sub(r"\s+", " ", page)
    exec(blocks[1], space)
    policy = space["policy"]
    assert (policy(0), policy(0, step=19), policy.index(0, step=19)) == ("right", "left", 0)
    exec(blocks[2], space)
    assert space["over"]
    assert space["step"] <= 100
    exec(blocks[4], space)  # what it states is compared by tests/test_evaluation.py
    exec(blocks[5], space)
    assert space["plan"]("room 0") == "right/pay"
    assert space["mdp"].policy_return(space["plan"]) == pytest.approx(
        space["mdp"].optimal_return(), rel=1e-12
    )
    exec(blocks[6], space)
    shown = re.search(r"```\n(state,.*?)```", page, re.S)[1].splitlines()
    assert Path("casino.csv").read_text().splitlines()[: len(shown)] == shown
    for ending in ENDINGS:
        assert_same(gim.load(f"casino.{ending}"), space["plan"])
