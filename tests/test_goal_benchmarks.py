"""Benchmarks with targets: SysAdmin, transfer between grids, rules beside the truth."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import gim
from benchmarks import analogies, sysadmin, transfer
from gim.envs.four_rooms import MAP

# -- SysAdmin: when a run has settled


class Played:
    """A run whose best policy is worth `value(episodes)`; half of an episode is inference."""

    def __init__(self, value):
        self.task, self.at, self.value = SimpleNamespace(H=10), [], value
        self.seconds = {"compiling": 99.0, "inferring": 0.0, "planning": 1.0}

    def pause_at(self, steps):
        self.at.append(steps // 10)
        self.seconds["inferring"] = steps / 20

    def now(self, _run):
        return self.value(self.at[-1])


def settled(value, end):
    run = Played(value)
    return sysadmin.settle(run, run.now, end), run


def test_looks_are_five_apart_and_then_a_twentieth():
    looks = list(islice(sysadmin.looks(), 60))
    assert looks[:20] == list(range(5, 101, 5))
    assert looks[20:24] == [105, 110, 115, 120]
    assert looks[-1] > 400
    assert all(5 <= b - a <= max(5, 0.05 * a) for a, b in pairwise(looks))


def test_what_counts_is_the_first_look_after_the_last_bad_one():
    found, run = settled(lambda n: 0.95 if n >= 12 and n != 30 else 0.5, lambda at: 50)
    assert (found.at, found.episodes) == (35, 50)
    assert run.at == list(range(5, 51, 5))
    assert found.inferring == (17.5 / 18.5, 25 / 26)  # compiling does not count


def test_a_run_that_falls_back_plays_on():
    found, _ = settled(
        lambda n: 0.9 if n >= 10 and n != 25 else 0.8, lambda at: 3 * at if at else 200
    )
    assert (found.at, found.episodes) == (30, 90)
    never, run = settled(lambda n: 0.89, lambda at: 33)
    assert (never.at, never.episodes) == (None, 33)
    assert run.at[-1] == 33  # the last look is at the end
    late, _ = settled(lambda n: float(n == 33), lambda at: 33)
    assert late.at == 33


def test_the_twin_is_stopped_at_ten_times_the_episodes(capsys):
    assert sysadmin.main(["--machines", "2", "--seeds", "1", "--first", "8400"]) in (0, 1)
    heads, _, row = capsys.readouterr().out.splitlines()[1:4]
    assert heads.split()[:3] == ["seed", "analogist", "plain"]
    assert row.split()[0] == "8400"
    mdp = gim.make("sysadmin", machines=2)
    ours, twin, memory = sysadmin.compare(mdp, 8400)
    assert ours.at
    assert row.split()[1] == str(ours.at)
    assert ours.episodes == max(60, 3 * ours.at)
    assert twin.episodes == 10 * ours.at
    assert twin.inferring == (0.0, 0.0)
    assert 10 < memory < 4096


@pytest.mark.parametrize(
    ("ours", "twin", "memory", "status", "told"),
    [
        (20, None, 900.0, 0, "> 200"),
        (20, 200, 900.0, 1, "200"),  # it took the twin no more than ten times as long
        (20, None, 2100.0, 1, "> 200"),
    ],
)
def test_a_twin_that_settles_in_time_is_a_miss(
    monkeypatch, capsys, ours, twin, memory, status, told
):
    found = (
        sysadmin.Settled(ours, 60, (0.7, 0.4)),
        sysadmin.Settled(twin, 10 * ours, (0.0, 0.0)),
        memory,
    )
    monkeypatch.setattr(sysadmin, "compare", lambda *_: found)
    assert sysadmin.main(["--machines", "2", "--seeds", "1"]) == status
    assert f"7000         20  {told:>10}  " in capsys.readouterr().out


# -- transfer


def test_in_a_wrong_model_every_move_goes_the_other_way():
    right, wrong = (transfer.learned(kind, 4, 40, 5) for kind in "rw")
    for a, b in enumerate((1, 0, 3, 2)):
        both = right.visits[:, a] * wrong.visits[:, b] > 20
        assert both.sum() >= 2
        assert np.abs(right.transitions[both, a] - wrong.transitions[both, b]).max() < 0.5
        moves = both & (right.transitions[np.arange(16), a].argmax(axis=1) != np.arange(16))
        assert moves.any()
        ways = [model.transitions[moves, a].argmax(axis=1) for model in (right, wrong)]
        assert (ways[0] != ways[1]).all()


def test_seeds_are_added_until_the_error_is_small(monkeypatch, capsys):
    gains = iter([0.3, 0.5, 0.4, 0.4, 0.4, 9.0])
    asked = []

    def scores(part, seed, side, taught):
        asked.append((seed, side, taught))
        return [0.1, 0.1 + next(gains)]

    monkeypatch.setattr(transfer, "scores", scores)
    assert transfer.main(["larger", "--least", "2", "--error", "0.04"]) == 0
    assert asked == [(seed, 8, 200) for seed in range(7000, 7005)]  # .1, .058, .041, .032
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:4] == ["larger", "16x16", "30", "5"]
    assert row[4:] == ["0.100", "0.500", "+0.4000", "0.0316", "+0.300", "+0.20"]
    gains = iter([0.3, 0.5])
    assert transfer.main(["larger", "--most", "2"]) == 1  # an error too large is a miss
    gains = iter([0.1, 0.1])
    assert transfer.main(["larger", "--most", "2", "--least", "2"]) == 1
    with pytest.raises(SystemExit):
        transfer.main(["nothing"])
    assert "there is no part 'nothing': larger, wrong, several, far" in capsys.readouterr().err


def test_a_model_is_played_with_and_without(monkeypatch):
    given = []
    play = gim.run

    def run(agent, mdp, episodes, seed, **more):
        given.append((mdp.S, episodes, seed, len(more.get("prior") or ())))
        return play(agent, mdp, episodes, seed, **more)

    monkeypatch.setattr(transfer.gim, "run", run)
    alone, told = transfer.scores(transfer.Part(5, 4, "wrw", 0.0), 8400, 3, 10)
    assert given[:3] == [(9, 10, 18400, 0), (9, 10, 18400, 0), (9, 10, 28400, 0)]
    assert given[3:] == [(25, 4, 8400, 0), (25, 4, 8400, 3)]
    assert -1 < alone < 1.5
    assert -1 < told < 1.5


def test_far_is_the_corner_across_from_the_goals():
    near, far = (transfer.grid(5, far) for far in (False, True))
    assert (near.horizon, near.start.argmax(), far.start.argmax()) == (25, 0, 24)
    assert far.optimal_return() < near.optimal_return()


# -- rules beside the truth


def test_chances_are_those_of_an_open_cell():
    up, _, left, _ = analogies.chances(gim.make("gridworld:height=5,width=5,slip=0.2"))
    assert up == pytest.approx({(("row", -1),): 0.8, (("col", -1),): 0.1, (("col", 1),): 0.1})
    assert left == pytest.approx({(("col", -1),): 0.8, (("row", -1),): 0.1, (("row", 1),): 0.1})


def test_walls_are_those_of_the_map():
    mdp, grid = gim.make("four_rooms"), MAP.splitlines()
    ways = ((-1, 0), (1, 0), (0, -1), (0, 1))
    expected = {
        ((r, c), a)
        for r in range(1, 12)
        for c in range(1, 12)
        for a, (down, across) in enumerate(ways)
        if grid[r][c] in "S." and grid[r + down][c + across] == "#"
    }
    inner, outer = analogies.walls(mdp)
    found = inner | outer
    assert {(mdp.variables.values(s), a) for s, a in found} == expected
    assert Counter(a for _, a in found) == {0: 20, 1: 20, 2: 19, 3: 19}
    assert Counter(a for _, a in inner) == {0: 10, 1: 10, 2: 9, 3: 9}
    inner, outer = analogies.walls(gim.make("gridworld:height=4,width=4"))
    assert not inner
    assert len(outer) == 16


def test_what_is_said_is_counted():
    run = gim.run("analogist", "four_rooms", 30, seed=8400)
    belief = run.agent.belief(run.memory)
    N = belief.counts.next.reshape(104, 4, 104)
    inner, outer = ({p for p in walls if N[*p, p[0]] > 0} for walls in analogies.walls(run.mdp))
    assert inner
    assert outer
    right = [
        gim.Rule(run.mdp.action_label(a), tuple((dict(by), p) for by, p in true.items()), 1, 1, ())
        for a, true in enumerate(analogies.chances(run.mdp))
    ]
    assert analogies.compare(run, right) == (4, 0.0, set(), inner, outer)
    less = analogies.compare(run, right[1:])
    assert less.named == 3
    assert less.error == pytest.approx(2 / 3)
    odd = gim.Rule("up", (({"row": -1}, 0.7), ({}, 0.3)), 1, 1.0, ((0, 0),))
    other = analogies.compare(run, [odd, *right[1:]])
    assert (other.named, other.listed) == (3, {(0, 0)})
    assert other.error == pytest.approx(0.3)


def test_the_table_says_the_rules_on_demand(capsys):
    world = "gridworld:height=4,width=4,slip=0.2"
    assert (
        analogies.main([world, "--episodes", "40", "--seeds", "1", "--first", "8400", "--say"]) == 0
    )
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in told[:4]] == ["up", "down", "left", "right"]
    assert told[-1].split()[:3] == ["gridworld", "40", "8400"]
    assert told[-1].split()[3:6] == ["4", "of", "4"]
