"""Worlds of the literature: every row as published, and the published figures."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from itertools import product

import gymnasium
import numpy as np
import pytest

import gim
from gim.envs.taxi import PROBES, city, probes, streets
from gim.envs.wet_chicken import baseline
from tests.literal import check_rows

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right


# -- Wet Chicken


def test_wet_chicken_row_by_row():
    mdp = gim.make("wet_chicken")
    assert (mdp.S, mdp.A, mdp.horizon, mdp.discount) == (25, 5, 100, 0.95)
    assert mdp.start[0] == 1
    paddled = [(0, 0), (-1, 0), (-2, 0), (0, -1), (0, 1)]

    def outcomes(s, a):
        x, y = divmod(s, 5)
        v = Fraction(3 * y, 5)
        b = Fraction(7, 2) - v
        y2 = min(max(y + paddled[a][1], 0), 4)
        middle = x + paddled[a][0] + v
        for k in range(-10, 20):  # the integer that x^ is rounded to
            half = Fraction(1, 2)
            width = min(k + half, middle + b) - max(k - half, middle - b)
            if width > 0:
                t, r = (0, 0) if k >= 5 else (5 * max(k, 0) + y2, max(k, 0))
                yield float(width / (2 * b)), t, r

    check_rows(mdp, outcomes)


def test_wet_chicken_by_simulation():
    """The rule as it is simulated: a uniform number, rounded."""
    mdp, rng = gim.make("wet_chicken"), np.random.default_rng(0)
    for s, a in ((13, 0), (4, 2), (20, 4), (24, 0), (2, 3)):
        x, y = divmod(s, 5)
        down, across = ((0, 0), (-1, 0), (-2, 0), (0, -1), (0, 1))[a]
        v = 3 * y / 5
        x2 = np.round(x + down + v + (3.5 - v) * rng.uniform(-1, 1, 100_000))
        t = np.where(x2 >= 5, 0, 5 * x2.clip(0) + min(max(y + across, 0), 4)).astype(int)
        share = np.bincount(t, minlength=25) / t.size
        assert share == pytest.approx(mdp.transitions[s, a], abs=0.007)


def test_wet_chicken_has_the_published_figures():
    mdp = gim.make("wet_chicken")
    assert mdp.plan(discount=0.95).v[0] == pytest.approx(43.08, abs=0.005)
    assert mdp.value(mdp.uniform_policy(), discount=0.95)[0] == pytest.approx(20.66, abs=0.005)
    assert mdp.value(baseline(0.1), discount=0.95)[0] == pytest.approx(29.75, abs=0.005)
    assert baseline(0.3).sum(axis=1) == pytest.approx(np.ones(25))


def test_wet_chicken_of_other_sizes():
    mdp = gim.make("wet_chicken", length=3, width=2, turbulence=3.0)
    assert mdp.state_labels == tuple(product(range(3), range(2)))
    # At (1, 0): x^ is uniform in [-2, 4]; 2.5 of 6 below 0.5, one to 1.5, one to 2.5, 1.5 over.
    expected = np.array([2.5 + 1.5, 0, 1, 0, 1, 0]) / 6
    assert mdp.transitions[2, 0] == pytest.approx(expected)


# -- stock trading


@pytest.mark.parametrize(("sectors", "stocks"), [(3, 2), (1, 1), (2, 3)])
def test_stock_trading_row_by_row(sectors, stocks):
    mdp = gim.make("stock_trading", sectors=sectors, stocks=stocks)
    n = sectors * (stocks + 1)
    assert (mdp.S, mdp.A, mdp.horizon) == (2**n, 2 * sectors + 1, 50)
    assert mdp.start[0] == 1
    states = list(product((0, 1), repeat=n))

    def outcomes(s, a):
        parts = [states[s][k * (stocks + 1) :][: stocks + 1] for k in range(sectors)]
        paid, q = 0, []  # the chance of each variable to be 1
        for k, (own, *risen) in enumerate(parts, start=1):
            paid += own * sum(1 if up else -1 for up in risen)
            q.append(1.0 if a == k else 0.0 if a == sectors + k else own)
            q += [0.1 + 0.8 * sum(risen) / stocks] * stocks
        for t, then in enumerate(states):
            yield math.prod(c if bit else 1 - c for c, bit in zip(q, then, strict=True)), t, paid

    rng = np.random.default_rng(0)
    some = [(int(rng.integers(mdp.S)), int(rng.integers(mdp.A))) for _ in range(300)]
    check_rows(mdp, outcomes, some if mdp.S > 100 else None)
    assert mdp.action_labels[:2] == ("nothing", "buy 1")
    assert mdp.action_labels[-1] == f"sell {sectors}"


def test_stock_trading_pays_who_owns_what_rises():
    mdp = gim.make("stock_trading")
    assert mdp.sparse
    assert mdp.transitions.nnz == 512 * 7 * 64
    label = mdp.state_labels.index((1, 1, 1, 1, 0, 0, 0, 1, 1))
    assert mdp.rewards[label].tolist() == [0] * 7  # + 2 - 2, and the third sector is not owned


# -- maintenance


def test_maintenance_row_by_row():
    mdp = gim.make("maintenance")
    assert (mdp.S, mdp.A, mdp.horizon) == (10, 2, 50)
    assert mdp.start[0] == 1
    P = np.zeros((10, 2, 10))
    for s in range(7):
        P[s, 0, s], P[s, 0, s + 1] = 0.2, 0.8
        P[s, 1, [s + 1, 8, 9]] = 0.3, 0.6, 0.1
    P[7, 0, 7] = 1
    P[7, 1, [7, 8, 9]] = 0.3, 0.6, 0.1
    P[8, 0, [8, 0]] = 0.2, 0.8
    P[8, 1, 8] = 1
    P[9, 0, 9] = 1
    P[9, 1, [9, 8]] = 0.4, 0.6
    assert mdp.transitions == pytest.approx(P)
    assert mdp.rewards.tolist() == [[0, 0]] * 7 + [[-20, -20], [-2, -2], [-10, -10]]
    assert mdp.state_labels[7:] == (("none", 7), ("R1", 0), ("R2", 0))
    assert mdp.variables.names == ("repair", "wear")
    assert mdp.variables.ordinal == (False, True)
    policy = mdp.plan(discount=0.99).policy
    assert policy[0] == 0  # what is new is left to run
    assert policy[7] == policy[9] == 1
    assert gim.make("maintenance", levels=3).S == 5


# -- grids


def test_windy_grid_row_by_row():
    wind = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)
    king = [*MOVES, (-1, -1), (-1, 1), (1, -1), (1, 1), (0, 0)]
    for moves, A in (("four", 4), ("king", 8), ("nine", 9)):
        for stochastic in (False, True):
            mdp = gim.make("windy_grid", moves=moves, stochastic=stochastic)
            assert (mdp.S, mdp.A, mdp.horizon) == (70, A, 100)
            assert mdp.start[3 * 10 + 0] == 1
            assert np.flatnonzero(mdp.terminal).tolist() == [3 * 10 + 7]

            def outcomes(s, a, stochastic=stochastic):
                row, column = divmod(s, 10)
                for gust in (-1, 0, 1):
                    blows = wind[column] + (gust if stochastic and wind[column] else 0)
                    row2 = min(max(row + king[a][0] - blows, 0), 6)
                    yield 1 / 3, 10 * row2 + min(max(column + king[a][1], 0), 9), -1

            check_rows(mdp, outcomes)


@pytest.mark.parametrize(("moves", "steps"), [("four", 15), ("king", 7), ("nine", 7)])
def test_windy_grid_takes_the_published_steps(moves, steps):
    assert gim.make("windy_grid", moves=moves).optimal_return() == -steps


def test_four_rooms_row_by_row():
    mdp = gim.make("four_rooms")
    assert (mdp.S, mdp.A, mdp.horizon, mdp.discount) == (104, 4, 50, 0.9)
    cells = [tuple(cell) for cell in mdp.info["layout"]["cells"]]
    rooms = (
        [(i, j) for i in range(1, 6) for j in range(1, 6)]
        + [(i, j) for i in range(1, 7) for j in range(7, 12)]
        + [(i, j) for i in range(7, 12) for j in range(1, 6)]
        + [(i, j) for i in range(8, 12) for j in range(7, 12)]
    )
    hallways = [(3, 6), (6, 2), (10, 6), (7, 9)]
    assert sorted(cells) == sorted(rooms + hallways)
    assert cells[int(mdp.start.argmax())] == (1, 1)
    goal = cells.index((7, 9))
    assert np.flatnonzero(mdp.terminal).tolist() == [goal]

    def outcomes(s, a):
        for direction, (down, across) in enumerate(MOVES):
            cell = (cells[s][0] + down, cells[s][1] + across)
            t = cells.index(cell) if cell in cells else s
            yield 2 / 3 if direction == a else 1 / 9, t, float(t == goal)

    check_rows(mdp, outcomes)


# -- taxi


def test_taxi_is_gymnasiums_state_by_state():
    mdp = gim.make("taxi")
    env = gymnasium.make("Taxi-v4").unwrapped
    assert (mdp.S, mdp.A, mdp.horizon) == (500, 6, 200)
    assert mdp.start.tolist() == env.initial_state_distrib.tolist()
    ends = {t for s in range(500) for a in range(6) for _, t, _, end in env.P[s][a] if end}
    assert set(np.flatnonzero(mdp.terminal)) == ends
    check_rows(mdp, lambda s, a: [(p, t, r) for p, t, r, _ in env.P[s][a]])
    for s in range(500):
        row, column, passenger, destination = env.decode(s)
        where = ("R", "G", "Y", "B", "taxi")[passenger]
        assert mdp.state_label(s) == str((row, column, where, "RGYB"[destination]))
    other = gim.from_gymnasium("Taxi-v4")
    assert (other.rows() != mdp.rows()).nnz == 0
    assert (other.rewards == mdp.rewards).all()
    assert (other.terminal == mdp.terminal).all()
    assert mdp.variables == other.variables


def test_taxi_10x10_is_the_published_city():
    states, depots, walls = city(10)
    assert len(states.codes) == 7200
    # As drawn: x from the left and y from below, both from 1.
    places = {"R": (1, 10), "G": (6, 10), "C": (9, 10), "W": (4, 7), "M": (7, 6)}
    places |= {"Y": (1, 2), "B": (5, 1), "P": (10, 1)}
    assert depots == {name: (10 - y, x - 1) for name, (x, y) in places.items()}
    east = {(x, y) for x in (1, 4, 8) for y in range(1, 5)}
    east |= {(x, y) for x in (3, 8) for y in range(7, 11)} | {(6, y) for y in range(5, 9)}
    assert walls == {(10 - y, x - 1) for x, y in east}


def distances(size):
    """Steps between all cells, by breadth-first search around the walls."""
    _, _, walls = city(size)
    table = {}
    for begin in product(range(size), repeat=2):
        table[begin, begin] = 0
        todo = deque([begin])
        while todo:
            i, j = todo.popleft()
            near = [(i - 1, j), (i + 1, j)]
            near += [(i, j + 1)] if (i, j) not in walls else []
            near += [(i, j - 1)] if (i, j - 1) not in walls else []
            for cell in near:
                inside = 0 <= cell[0] < size and 0 <= cell[1] < size
                if inside and (begin, cell) not in table:
                    table[begin, cell] = table[begin, (i, j)] + 1
                    todo.append(cell)
    return table


@pytest.mark.parametrize("size", [3, 4, 5, 6, 10])
def test_the_best_drive_is_the_shortest_way(size):
    mdp, steps = gim.make("taxi", size=size), distances(size)
    states, depots, _ = city(size)
    v = mdp.plan().v[0]
    for s, (row, column, passenger, goal) in enumerate(states.labels):
        if passenger not in ("taxi", goal):
            way = steps[(row, column), depots[passenger]] + steps[depots[passenger], depots[goal]]
            assert v[s] == 20 - 1 - way  # the delivery pays 20, the pickup costs a step as well


def test_the_probes_are_worth_what_a_replication_reports():
    for size, worth in ((5, [11, 7, 8, 8, 11, 8]), (10, [4, -1, 1, -3, 8, 0])):
        v = gim.make("taxi", size=size).plan().v[0]
        assert [v[s] for s in probes(size, xy=True)] == worth
    mdp = gim.make("taxi")
    assert [mdp.state_label(s) for s in probes()] == [str(probe) for probe in PROBES]
    assert mdp.start[probes()].all()


def test_streets_are_gymnasiums_at_size_5():
    env = gymnasium.make("Taxi-v4").unwrapped
    drawn = ["".join(c.decode() for c in row)[1:-1] for row in env.desc[1:-1]]
    assert streets(5) == [row.replace(" ", ".") for row in drawn]
    assert all(len(row) == 2 * 8 - 1 for row in streets(8))
