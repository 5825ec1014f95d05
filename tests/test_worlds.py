"""Worlds made of variables: every row against the definition, spelled out."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import gim
from gim.envs.base import described, made_of
from gim.envs.walls import connected
from tests.literal import check_rows

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right


# -- what states are made of


def test_made_of_counts_the_last_variable_fastest():
    made = made_of(row=range(2), col=range(3), who="AB")
    assert made.labels[:4] == [(0, 0, "A"), (0, 0, "B"), (0, 1, "A"), (0, 1, "B")]
    assert made.codes.tolist() == [list(c) for c in product(range(2), range(3), range(2))]
    assert made.variables.names == ("row", "col", "who")
    assert made.variables.ordinal == (True, True, False)
    assert made.variables.values(3) == made.labels[3]
    assert made.take([5, 0]).labels == [(0, 2, "B"), (0, 0, "A")]
    assert made_of(stock=range(3)).labels == [0, 1, 2]


def test_described_tells_the_mdp():
    states, actions = made_of(x=range(2), y=range(2)), made_of(order=range(3))
    about = described(states, actions, layout={"cells": []})
    assert about["state_labels"] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert about["action_labels"] == [0, 1, 2]
    assert about["info"] == {"layout": {"cells": []}}
    assert about["variables"] == gim.Variables({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]})
    assert about["action_variables"] == gim.Variables({"order": range(3)})
    assert described(None, ("go", "stop")) == {"info": {}, "action_labels": ("go", "stop")}


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("button:size=3", "row col"),
        ("four_rooms", "row col"),
        ("inventory:lead=1,capacity=3,largest=2", "stock due_0"),
        ("inventory2:capacity=2", "stock1 stock2"),
        ("maintenance", "repair wear"),
        ("queues:capacity=2", "x y"),
        ("stock_trading:sectors=1", "own1 stock1_1 stock1_2"),
        ("sysadmin:machines=3", "machine0 machine1 machine2"),
        ("taxi:size=3", "row col passenger destination"),
        ("teleports:size=3", "row col"),
        ("walls:size=3,walls=2", "row col"),
        ("wet_chicken", "x y"),
        ("windy_grid", "row col"),
    ],
)
def test_labels_hold_the_variables(word, names):
    mdp = gim.make(word)
    v = mdp.variables
    assert v.names == tuple(names.split())
    labels = list(mdp.state_labels)
    assert [v.values(s) for s in range(mdp.S)] == labels
    for ordinal, column in zip(v.ordinal, zip(*labels, strict=True), strict=True):
        assert ordinal == all(isinstance(value, int) for value in column)
    assert gim.TabularMDP.unpack(*mdp.pack()).variables == v


# -- inventories


def poisson(mean, k):
    return math.exp(-mean) * mean**k / math.factorial(k)


def sales(y, mean):
    """What is left of y units, and the chance of it; all that would be sold beyond y is lost."""
    for d in range(y):
        yield y - d, poisson(mean, d)
    yield 0, 1 - sum(poisson(mean, d) for d in range(y)) if y else 1.0


def tail(y, mean):
    """P(d >= y), summed from its largest term: the complement above has no digits left at 50."""
    return sum(poisson(mean, d) for d in range(y, y + 60))


@pytest.mark.parametrize(
    ("given", "capacity", "largest"),
    [({}, 50, 20), ({"capacity": 49, "largest": 19}, 49, 19)],
)
def test_inventory_as_pinned(given, capacity, largest):
    mdp = gim.make("inventory", **given)
    assert (mdp.S, mdp.A, mdp.horizon) == (capacity + 1, largest + 1, 50)
    assert mdp.start[0] == 1

    def outcomes(s, a):
        y = min(s + a, capacity)
        for left in range(y + 1):
            p = tail(y, 8.0) if left == 0 else poisson(8.0, y - left)
            yield p, left, 4 * (y - left) - 2 * (y - s) - 0.1 * left - 3 * (a > 0)

    check_rows(mdp, outcomes)
    assert mdp.state_label(7) == "7"
    assert mdp.variables == gim.Variables({"stock": range(capacity + 1)})
    assert mdp.action_variables == gim.Variables({"order": range(largest + 1)})


def test_inventory_by_its_own_prices():
    mdp = gim.make(
        "inventory", capacity=5, largest=2, demand=1.5, price=7, cost=1, holding=0.5, fixed=2
    )

    def outcomes(s, a):
        y = min(s + a, 5)
        for left, p in sales(y, 1.5):
            yield p, left, 7 * (y - left) - (y - s) - 0.5 * left - 2 * (a > 0)

    check_rows(mdp, outcomes)
    nobody = gim.make("inventory", capacity=3, largest=1, demand=0.0)
    assert nobody.transitions[2, 1].tolist() == [0, 0, 0, 1]  # nothing is ever sold


@pytest.mark.parametrize("lead", [1, 2])
def test_inventory_with_a_lead_time(lead):
    capacity, largest, mean = 4, 2, 1.3
    mdp = gim.make("inventory", capacity=capacity, largest=largest, demand=mean, lead=lead)
    states = list(product(range(capacity + 1), *[range(largest + 1)] * lead))
    assert len(states) == mdp.S
    assert mdp.state_labels == tuple(states)
    assert mdp.variables.names == ("stock", "due_0", "due_1")[: lead + 1]

    def outcomes(s, a):
        stock, arriving, *later = states[s]
        y = min(stock + arriving, capacity)
        for left, p in sales(y, mean):
            r = 4 * (y - left) - 2 * (y - stock) - 0.1 * left - 3 * (a > 0)
            yield p, states.index((left, *later, a)), r

    check_rows(mdp, outcomes)


def test_a_lead_time_costs_and_is_stored_sparse():
    mdp = gim.make("inventory", lead=1)
    assert mdp.sparse
    assert mdp.S == 51 * 21
    assert mdp.optimal_return() < gim.make("inventory").optimal_return()


def test_inventory_of_two_items():
    mdp = gim.make("inventory2")
    assert (mdp.S, mdp.A, mdp.horizon) == (100, 25, 50)
    states, orders = list(product(range(10), repeat=2)), list(product(range(5), repeat=2))

    def outcomes(s, a):
        y = [min(stock + order, 9) for stock, order in zip(states[s], orders[a], strict=True)]
        for (left1, p1), (left2, p2) in product(sales(y[0], 2.0), sales(y[1], 1.0)):
            r = -3.0 * any(orders[a])
            for filled, stock, left in zip(y, states[s], (left1, left2), strict=True):
                r += 4 * (filled - left) - 2 * (filled - stock) - 0.1 * left
            yield p1 * p2, states.index((left1, left2)), r

    check_rows(mdp, outcomes)
    assert mdp.action_labels[7] == (1, 2)


# -- queues


def test_queues_as_pinned():
    mdp = gim.make("queues")
    assert (mdp.S, mdp.A, mdp.horizon) == (400, 3, 100)
    assert mdp.start[0] == 1
    assert mdp.sparse
    assert mdp.action_labels == ("turn away", "queue 1", "queue 2")

    def outcomes(s, a):
        for arrives, serves1, serves2 in product((True, False), repeat=3):
            p = 0.5 * (0.35 if serves1 else 0.65) * (0.2 if serves2 else 0.8)
            x, y, r = s // 20, s % 20, 0.0
            if arrives and a == 1 and x < 19:
                x, r = x + 1, 5.0
            if arrives and a == 2 and y < 19:
                y, r = y + 1, 5.0
            x -= serves1 and x > 0
            y -= serves2 and y > 0
            yield p, 20 * x + y, r - 0.3 * (x + y)

    check_rows(mdp, outcomes)


# -- grids that break their pattern


def moved(size, s, a):
    row, column = s // size + MOVES[a][0], s % size + MOVES[a][1]
    return size * row + column if 0 <= row < size and 0 <= column < size else s


@pytest.mark.parametrize("seed", [0, 1])
def test_button_as_pinned(seed):
    mdp = gim.make("button", seed=seed)
    assert (mdp.S, mdp.A, mdp.horizon) == (64, 5, 40)
    assert mdp.start[0] == 1

    def outcomes(s, a):
        if a == 4:
            yield 1.0, s, float(s == mdp.info["button"])
        else:
            t = moved(8, s, a)
            yield 1.0, t, 0.1 if t == 63 and s != 63 else 0.0

    check_rows(mdp, outcomes)
    assert (mdp.rewards[:, 4] == 1).sum() == 1


def test_the_button_may_be_in_any_cell():
    places = [gim.make("button", size=3, seed=k).info["button"] for k in range(200)]
    assert set(places) == set(range(9))


def slippery(size, s, a):
    for direction, p in [(a, 0.6), *((side, 0.2) for side in ((2, 3) if a < 2 else (0, 1)))]:
        yield p, moved(size, s, direction)


def test_teleports_lead_to_their_exits_and_nowhere_else():
    mdp = gim.make("teleports", seed=3)
    assert (mdp.S, mdp.A, mdp.horizon) == (64, 4, 20)
    exits = dict(mdp.info["exits"])
    assert len(exits) == 4
    assert all(there != here for here, there in exits.items())
    goals = (8 * 1 + 1, 8 * 2 + 2)
    assert not set(goals) & set(exits)

    def outcomes(s, a):
        for p, t in slippery(8, s, a):
            t = exits.get(s, t)
            yield p, t, 0.8 if t in goals else -0.2

    check_rows(mdp, outcomes)
    plain = gim.make("teleports", teleports=0)
    assert (plain.rows() != gim.make("gridworld", height=8, width=8).rows()).nnz == 0


def test_walls_stand_where_all_else_stays_connected():
    for seed in range(5):
        mdp = gim.make("walls", seed=seed)
        layout = mdp.info["layout"]
        assert (mdp.S, mdp.A, mdp.horizon) == (52, 4, 20)
        assert len(layout["walls"]) == 12
        cells = [tuple(cell) for cell in layout["cells"]]
        assert mdp.state_labels == tuple(cells)
        assert connected(set(cells))
        assert [cells[s] for s, c in enumerate(layout["symbols"]) if c == "G"] == [(1, 1), (2, 2)]
        assert mdp.reachable().all()

        def outcomes(s, a, cells=cells):
            for p, t in slippery(8, 8 * cells[s][0] + cells[s][1], a):
                t = cells.index(divmod(t, 8)) if divmod(t, 8) in cells else s
                yield p, t, 0.8 if cells[t] in ((1, 1), (2, 2)) else -0.2

        check_rows(mdp, outcomes)
    assert not connected({(0, 0), (0, 2)})


# -- machines


def stays_up(up, i, heard):
    share = (1 + sum(up[k] for k in heard)) / (1 + len(heard))
    return 0.45 + 0.5 * share if up[i] else 0.1


@pytest.mark.parametrize("topology", ["ring", "star"])
@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_sysadmin_as_pinned(topology, n):
    mdp = gim.make("sysadmin", machines=n, topology=topology)
    assert (mdp.S, mdp.A, mdp.horizon) == (2**n, n + 1, 50)
    states = list(product((0, 1), repeat=n))
    assert mdp.start[states.index((1,) * n)] == 1
    before = {"ring": lambda i: [i - 1] if n > 1 else [], "star": lambda i: [0] if i else []}

    def outcomes(s, a):
        up = states[s]
        q = [1.0 if a == i + 1 else stays_up(up, i, before[topology](i)) for i in range(n)]
        for t, then in enumerate(states):
            p = math.prod(q[i] if then[i] else 1 - q[i] for i in range(n))
            yield p, t, sum(up) - 0.75 * (a > 0)

    rng = np.random.default_rng(0)
    some = [(int(rng.integers(2**n)), int(rng.integers(n + 1))) for _ in range(40)]
    check_rows(mdp, outcomes, some if n == 10 else None)


def test_sysadmin_is_the_size_that_is_pinned():
    mdp = gim.make("sysadmin")
    assert (mdp.S, mdp.A) == (1024, 11)
    assert mdp.action_labels[:2] == ("nothing", "reboot 0")
    assert mdp.state_label(512) == str((1, *[0] * 9))  # machine 0 changes slowest
