"""Benchmarks with targets: SysAdmin, transfer between grids, rules beside the truth."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import gim
from benchmarks import analogies, sysadmin, transfer
from gim.envs.four_rooms import MAP

# -- SysAdmin: when a run has settled


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
