"""States that nobody has logged: declared, inferred, and answered for."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import gim
from gim.cli import main
from gim.logs import declaring

LEVELS = {"x": range(8), "y": range(8)}


def walk(n=4000, seed=0, odd=lambda x, y: (3 * x + y) % 5 == 0):
    """A walk over 8x8 cells, of which every fifth is never logged; the corner pays."""
    rng, rows = np.random.default_rng(seed), []
    moves = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    while len(rows) < n:
        x, y, a = int(rng.integers(8)), int(rng.integers(8)), int(rng.integers(4))
        u, v = (min(7, max(0, i + d)) for i, d in zip((x, y), moves[a], strict=True))
        if not odd(x, y) and not odd(u, v):
            rows.append((x, y, a, float((u, v) == (7, 7)), u, v))
    names = ("x", "y", "a", "r", "u", "v")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


WHAT = {"state": ["x", "y"], "next_state": ["u", "v"], "reward_range": (0, 1)}


def toward(policy, state):
    """Whether it goes right or down, as one must."""
    return policy(state) in (0, 2)


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_rules_speak_of_declared_states(keep):
    rows = walk()
    plain, log = (gim.from_log(rows, keep=keep, variables=v, **WHAT) for v in (None, LEVELS))
    assert plain.S < log.S == 64
    assert set(plain.states) < set(log.states)
    assert len(plain) == len(log)
    for s in plain.states:
        i, j = plain.states.index(s), log.states.index(s)
        assert plain.counts.n[i].tolist() == log.counts.n[j].tolist()
    learned = gim.learn(log, discount=0.9)
    unmet = [s for s in log.states if s not in plain.states]
    assert sum(toward(learned.policy, s) for s in unmet) >= 0.9 * len(unmet)
    n = learned.behind.case.n[[log.states.index(s) for s in unmet]]
    assert (n > 0).mean() > 0.9  # what stands behind is told
    with pytest.raises(ValueError, match="is no state"):
        gim.learn(plain, discount=0.9).policy(unmet[0])


def test_where_too_many_to_list_policies_answer_on_demand(monkeypatch, tmp_path):
    monkeypatch.setattr(declaring, "LISTED", 40)
    log = gim.from_log(walk(), variables=LEVELS, **WHAT)
    assert log.S < 64
    learned = gim.learn(log, discount=0.9)
    learned.policy.save(tmp_path / "policy.npz")
    policies = [learned.policy, gim.load(tmp_path / "policy.npz")]
    unmet = [s for s in itertools.product(range(8), range(8)) if s not in log.states]
    for policy in policies:
        assert sum(toward(policy, s) for s in unmet) >= 0.9 * len(unmet)
        assert policy({"x": unmet[0][0], "y": unmet[0][1]}) == policy(np.array(unmet[0]))
        with pytest.raises(ValueError, match=r"x = 8 is none of what there can be"):
            policy((8, 0))


def test_the_nearest_states_decide_as_a_loop_finds_them():
    rng = np.random.default_rng(1)
    states = [
        tuple(x) for x in rng.permutation(list(itertools.product(range(5), range(5))))[:9].tolist()
    ]
    array = rng.integers(0, 3, (4, 9))
    policy = gim.Policy(array, states, 3, declared={"x": range(5), "y": range(5)})
    for state in itertools.product(range(5), range(5)):
        for h in range(4):
            far = [abs(state[0] - x) + abs(state[1] - y) for x, y in states]
            votes = [
                sum(f == min(far) and array[h, k] == a for k, f in enumerate(far)) for a in range(3)
            ]
            assert policy(state, h) == max(range(3), key=lambda a, votes=votes: votes[a])


def test_states_may_be_listed_one_by_one():
    rows = [("x", "go", 1.0, "y"), ("y", "go", 0.0, "x")] * 9
    log = gim.from_log(rows, states=["z", "x"])
    assert log.states == ("x", "y", "z")
    assert log.left.tolist() == [True, True, False]
    assert gim.learn(log, horizon=3).policy("x") == "go"
    with pytest.raises(ValueError, match="made of other columns"):
        gim.from_log(rows, states=[("z", 1)])
    with pytest.raises(ValueError, match=r"variables = .*: give the values of each column"):
        gim.from_log(walk(50), variables={"x": range(8)}, **WHAT)
    with pytest.raises(ValueError, match="the log has y = 7, which variables= leaves out"):
        gim.from_log(walk(), variables={"x": range(8), "y": range(7)}, **WHAT)


def test_the_command_takes_what_there_can_be(tmp_path, capsys):
    path, rows = tmp_path / "walk.csv", walk(600)
    lines = [",".join(rows), *(",".join(map(str, x)) for x in zip(*rows.values(), strict=True))]
    path.write_text("\n".join(lines))
    words = [str(path), "--state", "x,y", "--next", "u,v", "--variables"]
    assert main(["check", *words, "x=0..7", "--variables", "y=0,1,2,3,4,5,6,7"]) == 0
    assert re.search("states +64, ", capsys.readouterr().out)
    rows = ["s,a,r,s2", *["low,go,1,mid", "mid,go,0,low"] * 9]
    path.write_text("\n".join(rows))
    words = ["learn", str(path), "--next", "s2", "--horizon", "3", "--out", str(tmp_path / "out")]
    assert main([*words, "--states", "high", "--states", "low"]) == 0
    assert re.search(
        "(?s)states +3, 2 of them left.*try first +go in high", capsys.readouterr().out
    )
    for more, message in (
        (["--variables", "s=9..0"], "--variables s=9..0: give COLUMN=0..9, or COLUMN=VALUE,"),
        (["--variables", "s=0..99999999"], "--variables s=0..99999999: give COLUMN=0..9"),
        (["--variables", "x=0..3"], "--variables = {'x': range(0, 4)}: give the values of each"),
    ):
        assert main([*words, *more]) == 2
        assert message in capsys.readouterr().err


def test_where_all_states_are_listed_no_episode_comes_to_another(tmp_path):
    """Few rows leave open that there are states that nobody has met, unless that is said."""
    rng, rows, s = np.random.default_rng(0), [], 2
    for _ in range(40):
        a = int(rng.integers(0, 6))
        y = min(s + a, 20)
        t = max(y - int(rng.poisson(1.3)), 0)
        rows.append((s, a, float(y - t), t))
        s = t
    told = {"reward_range": (0, 20), "start": 2}
    met = sorted({row[0] for row in rows} | {row[3] for row in rows})
    listed, open_ = (gim.from_log(rows, **told, states=states) for states in (met, None))
    assert listed.listed
    assert not open_.listed
    np.testing.assert_array_equal(listed.counts.n, open_.counts.n)
    narrow, wide = (gim.learn(log, horizon=20).value for log in (listed, open_))
    assert narrow.upper - narrow.lower < 0.9 * (wide.upper - wide.lower)
    listed.save(tmp_path / "log.npz")
    assert gim.load(tmp_path / "log.npz").listed
    assert (listed + listed).listed
    assert not (listed + open_).listed
