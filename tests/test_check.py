"""`gim.check` says what is wrong before anything is learned."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import gim
from gim.cli import main


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    names = np.array(["low", "mid", "high"])
    s, t = rng.integers(0, 3, (2, n))
    return {"s": names[s].tolist(), "a": rng.integers(0, 2, n).tolist(),
            "r": (s + 0.5 * t).tolist(), "s2": names[t].tolist()}  # fmt: skip


def says(found, text):
    return any(text in each for each in found)


def test_typos_and_orders_are_named_and_a_clean_log_has_none():
    table = rows()
    found = gim.check(gim.from_log(table, reward_range=(0, 3)))
    assert found.ok
    assert repr(found) == str(found)
    assert not says(found.warnings, "typo")
    assert says(
        found.warnings, "the column of the state seems to rise: low, mid, high; levels= says so"
    )
    table["s"][7], table["s2"][7] = "hgih", "low"
    found = gim.check(gim.from_log(table, reward_range=(0, 3)))
    assert says(found.warnings, "state 'hgih' (once) may be 'high'")
    ordered = gim.from_log(rows(), levels={"s": ["low", "mid", "high"]})
    assert not says(gim.check(ordered).warnings, "rise")


def test_identifiers_missing_ends_and_rows_left_out_are_problems():
    n = 200
    table = {"s": list(range(n)), "a": [0, 1] * (n // 2), "r": [1.0, 2.0] * (n // 2)}
    found = gim.check(gim.from_log(table, next_state=None))
    assert says(found.problems, "states were left once or never")
    table = rows() | {"e": list(range(150)) * 2}
    table["r"][3] = float("nan")
    log = gim.from_log(table, next_state=None, episode="e", strict=False)
    found = gim.check(log)
    assert says(found.problems, "1 row cannot be used: r: the reward is missing")
    assert says(found.problems, "nobody saw where they led")
    flat = rows()
    flat["r"] = [1.0] * len(flat["r"])
    assert says(gim.check(gim.from_log(flat)).problems, "every pair pays 1")


def test_what_is_random_where_nothing_else_is():
    table = [(s, a, float(a), (s + a) % 6) for s in range(6) for a in (0, 1)] * 100
    assert not says(gim.check(gim.from_log(table)).warnings, "led elsewhere")
    table[0] = (0, 0, 0.0, 5)
    warned = gim.check(gim.from_log(table)).warnings
    assert says(warned, "0 in 0 led elsewhere 1 of 100 times, where 11 other pairs always do")


class Walk(gymnasium.Env):
    observation_space, action_space = Discrete(4), Discrete(2)
    reward_range = (0.0, 1.0)
    pays, drawn = 1.0, True

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        rng = self.np_random if self.drawn else np.random.default_rng()
        self.at = int(rng.integers(4)) if action else self.at
        return self.at, self.pays * (self.at == 3), False, self.at == 3, {}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, ""),
        ({"pays": 2.0}, "reward_range says 0 to 1, but steps paid 0 to 2"),
        ({"drawn": False}, "the same seed gives another episode"),
        ({"pays": float("nan")}, "a reward is a finite number"),
        ({"observation_space": Box(0.0, 1.0, (2,))}, "observation_space"),
        ({"observation_space": Discrete(3)}, "an observation is not in its space"),
        ({"reward_range": (1, 0)}, "reward_range = "),
    ],
)
def test_environments_are_played(change, text):
    env = Walk()
    for name, value in change.items():
        setattr(env, name, value)
    found = gim.check(env)
    assert found.ok == (not text)
    assert says(found.problems, text) == bool(text)


def test_tables_say_what_is_never_reached():
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 2] = 1
    mdp = gim.TabularMDP(P, [[0, 1], [1, 0], [0, 0]], horizon=4, start=[1, 0, 0])
    found = gim.check(mdp)
    assert found.ok
    assert says(found.warnings, "1 of 3 states are never reached")
    assert says(
        gim.check(gim.TabularMDP(P, np.ones((3, 2)), horizon=4)).problems, "every pair pays"
    )


def test_the_command_prints_writes_a_page_and_says_by_its_status(tmp_path, capsys):
    table = rows()
    lines = ["s,a,r,s2", *(",".join(map(str, x)) for x in zip(*table.values(), strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    words = ["check", str(tmp_path / "log.csv"), "--next", "s2"]
    assert main([*words, "--out", str(tmp_path / "page.html")]) == 0
    said = capsys.readouterr().out
    assert "0 problems" in said
    assert "low, mid, high; --levels says so" in said
    assert "--reward-range 0 3 if those seen" in said
    assert "<h2>Warnings</h2>" in (tmp_path / "page.html").read_text()
    (tmp_path / "log.csv").write_text("\n".join([*lines, "low,0,x,<b>"]) + "\n")
    assert main([*words, "--skip"]) == 1
    assert "problem:" in capsys.readouterr().out
    assert main(["check", "riverswim"]) == 0
    assert main(["check", str(tmp_path / "nothing.csv")]) == 2
