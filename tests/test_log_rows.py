"""Rows that cannot be used: named, or left out whole, and nothing is made of the gap they leave."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections import Counter

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import gim
from gim._base.arguments import flag
from gim.logs.off_policy import steps_of
from gim.logs.worth import values_of
from gim.mdp.gymnasium_table import read_table
from gim.model.counts import transitions


def counted(log):
    """The transitions of a log by label, with how often each was seen."""
    N = transitions(log.counts).reshape(log.S, log.A, log.S)
    found = {}
    for s, a, t in np.argwhere(N > 0).tolist():
        found[log.states[s], log.actions[a], log.states[t]] = int(N[s, a, t])
    return found


def rows_of(states, **more):
    """A row for each state, action "go", reward 1, with more columns."""
    n = len(states)
    return {"s": list(states), "a": ["go"] * n, "r": [1.0] * n} | more


def test_a_row_that_is_left_out_is_no_target_and_its_gap_no_transition():
    rows = rows_of("wxyzw")
    rows["r"][2] = math.nan  # of y
    log = gim.from_log(rows, next_state=None, strict=False)
    assert counted(log) == {("w", "go", "x"): 1, ("z", "go", "w"): 1}
    assert "y" not in log.states
    assert (log.skipped, log.censored) == (1, 2)  # x before the gap, w at the end
    assert log.lengths.tolist() == [2]
    assert log.unbroken.tolist() == [1]
    assert log.start[log.states.index("w")] == 1
    assert "gaps         1 row after one that is left out or missing" in log.describe()


def test_a_label_with_a_typo_is_left_out_as_a_next_state_too():
    rows = rows_of(["low", "high", "low ", "high"] * 5)
    rows["s"][-1] = rows["s"][0] = "low"
    log = gim.from_log(rows, next_state=None, strict=False)
    assert log.states == ("high", "low")
    assert log.skipped == 5
    rows = [("low", "go", 1.0, "high"), ("high", "go", 1.0, "low "), ("high", "go", 1.0, "low")]
    log = gim.from_log(rows, strict=False)
    assert log.states == ("high", "low")
    assert counted(log) == {("low", "go", "high"): 1, ("high", "go", "low"): 1}
    with pytest.raises(ValueError, match="row 2, column 's2': 'low ' and 'low' differ in blanks"):
        gim.from_log(rows)


def test_next_states_of_their_own_column_stay_and_only_the_bad_row_goes():
    rows = [(0, 0, 1.0, 1), (1, 0, math.nan, 2), (2, 0, 1.0, 0), (0, 0, 1.0, 1)]
    log = gim.from_log(rows, strict=False)
    assert counted(log) == {(0, 0, 1): 2, (2, 0, 0): 1}
    assert log.lengths.tolist() == [3]
    assert log.unbroken.tolist() == [1]
    assert log.start.tolist() == [1, 0, 0]  # 2 is no beginning
    columns = dict(zip(("s", "a", "r", "s2"), zip(*rows, strict=True), strict=True))
    log = gim.from_log(columns | {"e": [1] * 4}, episode="e", strict=False)
    assert (log.skipped, log.unbroken.tolist()) == (1, [1])


def test_a_neighbour_is_not_blamed_for_what_stands_in_a_bad_row():
    rows = [{"e": 1, "s": s, "a": 0, "r": 1.0, "s2": t} for s, t in ("xy", "yx", "xy", "yx")]
    rows[2]["s"] = "x "
    log = gim.from_log(rows, episode="e", strict=False)
    assert log.skipped == 1
    assert counted(log) == {("x", 0, "y"): 1, ("y", 0, "x"): 2}


def test_a_beginning_that_is_left_out_leaves_no_other():
    rows = rows_of("abcabc", e=[1, 1, 1, 2, 2, 2], d=[0, 0, 1, 0, 0, 1])
    rows["r"][0] = math.inf
    log = gim.from_log(rows, next_state=None, episode="e", done="d", strict=False)
    assert dict(zip(log.states, log.start.tolist(), strict=True))["a"] == 1
    assert log.unbroken.tolist() == [0, 3]
    assert log.lengths.tolist() == [2, 3]
    learned = gim.learn(log, infer=None)
    assert learned.evaluated() == {}  # one episode is left that can say something
    rows["r"][3] = math.nan
    log = gim.from_log(rows, next_state=None, episode="e", done="d", strict=False)
    assert log.start.tolist() == [1, 0, 0]  # the first that are known, where none is better
    case = gim.learn(log, infer=None).behind.case
    policy = np.zeros((case.horizon, log.S), int)
    with pytest.raises(ValueError, match="no episode can be evaluated"):
        steps_of(log, case, policy, values_of(case, policy))


def test_rows_without_an_episode_may_belong_between_their_neighbours():
    rows = rows_of("abcdef", e=[1, 1, None, 1, 2, 2])
    log = gim.from_log(rows, next_state=None, episode="e", strict=False)
    assert counted(log) == {("a", "go", "b"): 1, ("e", "go", "f"): 1}  # b to d is not known
    assert (log.skipped, log.censored) == (1, 3)
    rows = rows_of("abcdef", e=[1, 1, 1, None, 2, 2])
    log = gim.from_log(rows, next_state=None, episode="e", strict=False)
    assert log.unbroken.tolist() == [2, 0]  # d may have been the first of episode 2
    stepped = rows_of("abcdef", e=[1, 1, None, 1, 2, 2], k=[0, 1, 7, 2, 0, 1])
    log = gim.from_log(stepped, next_state=None, episode="e", step="k", strict=False)
    assert counted(log)["b", "go", "d"] == 1  # steps say that nothing is missing


def test_steps_that_are_missing_break_an_episode():
    rows = rows_of("abcd", e=[1] * 4, k=[0, 1, 3, 4], s2=list("bcda"))
    log = gim.from_log(rows, episode="e", step="k")
    assert log.unbroken.tolist() == [2]
    assert log.rows.resumed.tolist() == [False, False, True, False]


def test_parts_know_their_gaps():
    rows = rows_of("abcabc", e=[1, 1, 1, 2, 2, 2], s2=list("bcabca"))
    log = gim.from_log(rows, episode="e")
    assert not log.rows.resumed.any()
    some = log.only(np.array([True, False, True, False, True, True]))
    assert some.rows.resumed.tolist() == [False, True, True, False]
    assert some.unbroken.tolist() == [1, 0]
    assert log.part([1]).unbroken.tolist() == [3]


def loop_over(states, rewards, episodes, done):
    """Transitions and rows left out, in plain Python, of rows in their order without steps."""
    n = len(states)
    bad = [states[i] is None or not math.isfinite(rewards[i]) for i in range(n)]
    found, censored = {}, 0
    for i in range(n):
        if bad[i]:
            continue
        if done[i]:
            to = "(end)"
        elif i + 1 < n and episodes[i + 1] == episodes[i] and not bad[i + 1]:
            to = states[i + 1]
        else:
            censored += 1
            continue
        found[states[i], "go", to] = found.get((states[i], "go", to), 0) + 1
    return found, sum(bad), censored


def test_random_faults_are_treated_as_a_plain_loop_treats_them():
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(4, 25))
        episodes = np.sort(rng.integers(0, 3, n)).tolist()
        states = [None if rng.random() < 0.1 else "abcd"[rng.integers(4)] for _ in range(n)]
        rewards = [math.nan if rng.random() < 0.15 else 1.0 for _ in range(n)]
        ends = [i + 1 == n or episodes[i + 1] != episodes[i] for i in range(n)]
        done = [end and bool(rng.random() < 0.5) for end in ends]
        columns = {"s": states, "a": ["go"] * n, "r": rewards, "e": episodes, "d": done}
        expected, skipped, censored = loop_over(states, rewards, episodes, done)
        if not expected:
            continue
        log = gim.from_log(columns, next_state=None, episode="e", done="d", strict=False)
        assert counted(log) == expected
        assert (log.skipped, log.censored) == (skipped, censored)


@pytest.mark.parametrize("told", [True, False])
def test_gaps_and_beginnings_are_those_of_a_plain_loop(told):
    """Episodes "begin", 1, 2, ... with next states; of some rows the reward is missing."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        rows, whole, expected = [], [], 0
        for e in range(int(rng.integers(2, 5))):
            path = ["begin", *rng.integers(1, 4, rng.integers(1, 6)).tolist(), "over"]
            bad = rng.random(len(path) - 1) < 0.2
            for k, (s, t) in enumerate(itertools.pairwise(path)):
                done = k + 2 == len(path)
                pay = math.nan if bad[k] else 1.0
                rows.append({"e": e, "s": s, "a": 0, "r": pay, "s2": t, "d": done})
            if not bad.all():
                whole.append(int(bad.argmax()) if bad.any() else len(bad))
            expected += int((~bad).sum())
        if not whole or not any(whole):
            continue
        episode = "e" if told else None
        log = gim.from_log(rows, episode=episode, done="d", strict=False)
        assert len(log) == expected
        assert log.unbroken.tolist() == whole
        assert log.start[log.states.index("begin")] == 1
        good = [(row["s"], 0, row["s2"]) for row in rows if row["r"] == 1]
        assert counted(log) == dict(Counter(good))


# -- look-alikes


@pytest.mark.parametrize(
    ("odd", "usual", "how"),
    [("low ", "low", "blanks"), (" low", "low", "blanks"), ("1", 1, "form"), ("1.0", "1", "form"),
     ("2.0", 2, "form"), ("True", True, "form"), ("cafe\u0301", "caf\u00e9", "form"),
     ("lo\u200bw", "low", "form"), ((1, "low "), (1, "low"), "form")],
)  # fmt: skip
def test_labels_that_look_alike_are_reported_and_the_rarer_goes(odd, usual, how):
    rows = [(usual, "go", 1.0, "x"), ("x", "go", 1.0, usual)] * 3 + [(odd, "go", 1.0, "x")]
    text = re.escape(f"row 7, column 's': {odd!r} and {usual!r} differ in {how} only")
    with pytest.raises(ValueError, match=text):
        gim.from_log(rows)
    log = gim.from_log(rows, strict=False)
    assert set(log.states) == {usual, "x"}
    assert len(log) == 6
    rows = [("x", usual, 1.0, "x")] * 3 + [("x", odd, 1.0, "x"), ("x", "stay", 1.0, "x")]
    with pytest.raises(ValueError, match="row 4, column 'a'"):
        gim.from_log(rows)


def test_equal_numbers_are_one_label():
    log = gim.from_log([(1, 1.0, 1.0, np.int8(1)), (1.0, 1, 1.0, 1)])
    assert (log.states, log.actions) == ((1,), (1,))


def test_episodes_that_look_alike_are_reported():
    rows = [(s, "go", 1.0, t) for s, t in ("ab", "bc", "ca")]
    columns = dict(zip(("s", "a", "r", "s2"), zip(*rows, strict=True), strict=True))
    with pytest.raises(ValueError, match="row 2, column 'e': 'mon ' and 'mon' differ in blanks"):
        gim.from_log(columns | {"e": ["mon", "mon ", "mon"]}, episode="e")


def test_many_spellings_are_one_reason():
    names = [f"s{k}" for k in range(60)]
    rows = [(name, "go", 1.0, name) for name in names] * 2
    rows += [(f"{name} ", "go", 1.0, name) for name in names]
    log = gim.from_log(rows, strict=False)
    assert log.problems == {"s: 's0 ' and 's0' differ in blanks only: write one label one way; "
                            "others likewise": 60}  # fmt: skip
    assert len(log) == 120


def test_upper_and_lower_case_is_remarked_upon_and_kept():
    rows = [("Low", "go", 1.0, "low"), ("low", "go", 1.0, "x")]
    with pytest.warns(UserWarning, match="column 's': 'Low' and 'low' differ in upper and lower"):
        log = gim.from_log(rows)
    assert log.states == ("Low", "low", "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gim.from_log([("low", "go", 1.0, "high")])


# -- flags


@pytest.mark.parametrize("odd", ["no", "yes", "t", "f", 2, 0.5, math.nan, None, "", "maybe", -1])
def test_what_is_no_flag_is_an_error_or_a_row_left_out(odd):
    rows = [(0, 0, 1.0, 1, False), (1, 0, 1.0, 0, odd), (0, 0, 1.0, 1, True)]
    with pytest.raises(ValueError, match="row 2, column 'done': a flag is True, False, 0 or 1"):
        gim.from_log(rows, done="done")
    log = gim.from_log(rows, done="done", strict=False)
    assert (log.skipped, len(log)) == (1, 2)
    assert log.unbroken.tolist() == [1]


@pytest.mark.parametrize(
    ("no", "yes"),
    [(False, True), (0, 1), (0.0, 1.0), (np.False_, np.True_), ("False", "True"), ("0", "1"),
     ("FALSE", "TRUE"), ("0.0", "1.0")],
)  # fmt: skip
def test_flags_come_in_these_forms(no, yes):
    rows = [(0, 0, 1.0, 1, no), (1, 0, 1.0, 2, yes), (0, 0, 1.0, 1, no)]
    log = gim.from_log(rows, done="done")
    assert log.rows.done.tolist() == [False, True, False]


@pytest.mark.parametrize("odd", ["no", math.nan, None, 2, [True]])
def test_environments_must_say_so_too(odd):
    class Walk(gymnasium.Env):
        observation_space, action_space = Discrete(2), Discrete(2)
        said = (odd, False)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 1, 1.0, *self.said, {}

    for said, name in (((odd, False), "terminated"), ((False, odd), "truncated")):
        Walk.said = said
        with pytest.raises(ValueError, match=f"{name} = .*: a flag is True, False, 0 or 1"):
            gim.run("random", Walk(), 3, seed=0, horizon=4)
    for said in ((np.True_, 0), (1, np.False_), (True, False)):
        Walk.said = said
        assert gim.run("random", Walk(), 3, seed=0, horizon=4).returns.tolist() == [1, 1, 1]


def test_tables_of_environments_must_say_so_too():
    class Shown(gymnasium.Env):
        observation_space, action_space = Discrete(2), Discrete(1)
        initial_state_distrib = np.array([1.0, 0.0])

        def __init__(self, odd):
            self.P = {0: {0: [(1.0, 1, 1.0, odd)]}, 1: {0: [(1.0, 1, 0.0, False)]}}

    for odd in (None, 2, math.nan):
        with pytest.raises(ValueError, match=r"P\[0\]\[0\] of Shown .* a flag is True, False"):
            read_table("Shown", Shown(odd))
    assert read_table("Shown", Shown(True))[1].tolist() == [True, False]


def test_flag_takes_numpy_and_nothing_else():
    assert flag("x", np.array(1)) is True
    assert flag("x", np.float32(0)) is False
    for odd in (np.array([1]), "1", 1 + 1j, np.str_("0"), None):
        with pytest.raises(ValueError, match="x = "):
            flag("x", odd)


# -- the first twenty


def test_the_first_twenty_faults_are_named_in_one_message():
    rows = [[f"s{i % 4}", "go", 1.0, f"s{(i + 1) % 4}"] for i in range(60)]
    for i in range(10, 50):
        rows[i][2] = math.nan if i % 2 else math.inf
    rows[3][0], rows[5][1] = None, None
    with pytest.raises(ValueError, match="strict=False leaves such rows out") as problem:
        gim.from_log(list(map(tuple, rows)))
    text = str(problem.value)
    assert "\n" not in text
    parts = text.split("; ")
    assert parts[0] == "row 4, column 's': nothing stands here, but a label must"
    assert parts[1] == "row 6, column 'a': nothing stands here, but a label must"
    assert parts[2].startswith("rows 11, 13, 15, 17, 19, 21, 23, 25 and 27, column 'r': the reward")
    assert parts[3].startswith("rows 12, 14, 16, 18, 20, 22, 24, 26 and 28, column 'r': the rew")
    assert parts[4] == "and 22 more rows"
    log = gim.from_log(list(map(tuple, rows)), strict=False)
    assert log.skipped == 42 == sum(log.problems.values())


def test_what_follows_from_a_fault_is_not_named_as_another():
    rows = rows_of("abcd", e=[1] * 4)
    rows["s"][2] = None
    with pytest.raises(ValueError, match="nothing stands here") as problem:
        gim.from_log(rows, next_state=None, episode="e")
    assert str(problem.value) == (
        "row 3, column 's': nothing stands here, but a label must; strict=False leaves such rows "
        "out"
    )
