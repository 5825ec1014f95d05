"""What was learned, in words, and what contradicts it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from gim.analogy.structure import RuleNames, Triples, exceptions, rules
from gim.analogy.structure.block import Block, Form
from gim.analogy.structure.blocks import by_variables
from gim.analogy.structure.exceptions import N0, RARE, at_triples
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.moves import CLIP, STAY, WRAP
from gim.analogy.structure.sentences import EDGES, _edges
from gim.analogy.structure.state_types import by_types
from tests.structured_worlds import World, grid, inventory, machines, queues

GRID = RuleNames(("row", "col"), ("north", "south", "west", "east"))


def test_a_grid_is_told_as_people_would():
    rule, *_ = rules(by_variables(grid().walked(3000)), GRID)
    changes = [change for change, _ in rule.outcomes]
    assert rule.action == "north"
    assert changes[0] == {"row": -1}
    assert {frozenset(change.items()) for change in changes[1:3]} == {
        frozenset({("col", -1)}),
        frozenset({("col", 1)}),
    }
    assert np.allclose([chance for _, chance in rule.outcomes[:3]], [0.8, 0.1, 0.1], atol=0.05)
    assert str(rule).startswith("north: row - 1 (.")
    assert "blocked moves stay" in str(rule)
    assert rule.edges == ("blocked moves stay",)  # not that they end at the edge, which is the same
    assert rule.exceptions == ()
    assert rule.explained == 1


@pytest.mark.parametrize(
    ("beyond", "told"),
    [(lambda x: min(max(x, 0), 5), [EDGES[STAY]]), (lambda x: x % 6, [EDGES[CLIP], EDGES[WRAP]])],
)
def test_what_happens_at_an_edge_is_told_once(beyond, told):
    """A step that is stopped has stayed; round the edge may also be five to where the world ends.

    Each way to explain what was seen counts alike here.
    """
    world = World(
        [(x,) for x in range(6)], 2, lambda x, a: [((beyond(x[0] + 2 * a - 1),), 1.0, 0.0)]
    )
    data = Explained(world.sampled(2), Move((0,)))
    block = Block(data, Form(data.move, ((),), (1.0,)))
    assert _edges(block, np.ones(len(data.outcome))) == told


def test_walls_are_listed():
    walls = {(2, j) for j in range(5) if j != 3}
    world = grid(5, 5, walls=walls)
    north, south, *_ = rules(by_variables(world.sampled(8)), GRID)
    below = {(world.index[3, j], 0) for j in range(5) if j != 3}
    above = {(world.index[1, j], 1) for j in range(5) if j != 3}
    assert set(north.exceptions) == below
    assert set(south.exceptions) == above
    assert "4 exceptions: (1,0), (1,1), (1,2), (1,4)" in str(south)


def test_a_pair_that_does_otherwise_is_an_exception():
    world = grid(6, 6, slip=0.0)
    odd = world.index[2, 2]
    world.P[odd, 3] = np.eye(36)[0]
    found = rules(by_variables(world.sampled(3)), GRID)
    assert [rule.exceptions for rule in found] == [(), (), (), ((odd, 3),)]
    assert found[3].explained == pytest.approx(35 / 36)
    assert str(found[3]).endswith("1 exception: (2,2)")


def test_after_states_are_told_once_for_all_actions():
    names = RuleNames(("stock",), tuple(range(11)), ("order",))
    (rule,) = rules(by_variables(inventory().walked(1500)), names)
    assert rule.action == "any action"
    assert rule.outcomes[0][0]["stock"] in ("+ order - 3", "+ order - 4", "+ order - 5")
    assert "moves end at the edge" in str(rule)
    assert " more" in str(rule)


def test_blocks_are_told_one_after_the_other():
    names = RuleNames(("first", "second"), ("reject", "one", "two"))
    fitted = by_variables(queues().walked(2000))
    told = rules(fitted, names)
    assert [len(rule.groups) for rule in told] == [2, 2, 2]
    for rule in told:
        assert sum(chance for _, chance in rule.outcomes) == pytest.approx(2, abs=0.1)
    assert "first + 1" in str(told[1])
    assert "first + 1" not in str(told[0])


def test_types_have_rules_of_their_own():
    ice = np.random.default_rng(5).random((8, 8)) < 0.4
    world = grid(slip=0.0, size=lambda x: 2 if ice[x] else 1)
    told = rules(by_types(world.sampled(2, share=0.7)), GRID)
    south = {rule.where.split(" (")[0]: rule for rule in told if rule.action == "south"}
    assert set(south) == {"type 1", "type 2"}
    first = {kind: rule.outcomes[0][0]["row"] for kind, rule in south.items()}
    assert sorted(first.values()) == [1, 2]


def test_where_chances_depend_on_few_values_each_has_its_rule():
    turns = ((-1, 0), (0, 1), (1, 0), (0, -1))

    def outcomes(x, a):
        if a == 0:
            yield (x[0], x[1], (x[2] + 1) % 4), 1.0, 0.0
        else:
            y = x[0] + turns[x[2]][0], x[1] + turns[x[2]][1]
            inside = 0 <= y[0] < 5 and 0 <= y[1] < 5
            yield (*(y if inside else x[:2]), x[2]), 1.0, 0.0

    states = itertools.product(range(5), range(5), range(4))
    world = World(states, 2, outcomes)
    names = RuleNames(("row", "col", "heading"), ("turn", "go"), values=((), (), "NESW"))
    told = rules(by_variables(world.sampled(2, share=0.6)), names)
    go = [rule for rule in told if rule.action == "go"]
    assert [rule.where for rule in go] == [f"heading = {h}" for h in "NESW"]
    assert [str(rule).split(" (")[0] for rule in go] == [
        "go where heading = N: row - 1",
        "go where heading = E: col + 1",
        "go where heading = S: row + 1",
        "go where heading = W: col - 1",
    ]
    turn = [rule for rule in told if rule.action == "turn"]
    assert all(rule.outcomes[0][0] == {"heading": 1} for rule in turn)
    assert any("moves go round the edge" in str(rule) for rule in turn)


def test_what_chances_depend_on_is_named():
    names = RuleNames([f"m{i}" for i in range(5)], ["wait", *(f"reboot {i}" for i in range(5))])
    told = rules(by_variables(machines().walked(1000, start=31)), names)
    assert "chances depend on" in str(told[0])


def test_what_has_no_name_is_called_what_it_is():
    names = RuleNames(("row",), ("north",), ("order",), values=(("low", "high"),))
    assert (names.amount(0), names.amount(1)) == ("order", "action")
    assert (names.variable(0), names.variable(1)) == ("row", "state")
    assert (names.action(0), names.action(1)) == ("north", 1)
    assert (names.value(0, 1), names.value(0, 2), names.value(1, 0)) == ("high", "2", "0")


def test_labels_of_states_are_used():
    world = grid(6, 6, slip=0.0)
    odd = world.index[2, 2]
    world.P[odd, 3] = np.eye(36)[0]
    names = RuleNames(("row", "col"), range(4), states=[f"cell {s}" for s in range(36)])
    assert str(rules(by_variables(world.sampled(3)), names)[3]).endswith(f"cell {odd}")


def test_exceptions_by_the_formula():
    world = grid(3, 3)
    triples = world.sampled(5, seed=3, share=0.7)
    rng = np.random.default_rng(1)
    said = rng.dirichlet(np.full(9, 0.3), len(triples.met))
    said[said < 0.05] = 0
    said[::5] = 0
    rows = sparse.csr_array(said / np.maximum(said.sum(axis=1, keepdims=True), 1e-300))
    N = np.zeros((36, 9))
    N[triples.pair, triples.indices] = triples.counts

    def log_dm(counts, alpha):
        each = gammaln(alpha + counts) - gammaln(alpha)
        return each[counts > 0].sum() + gammaln(alpha_total) - gammaln(alpha_total + counts.sum())

    expected = []
    for q, pair in zip(rows.toarray(), triples.met, strict=True):
        alpha_total = N0
        holds = log_dm(N[pair], N0 * np.maximum(q, 1e-9))
        alpha_total = 1.0
        anything = log_dm(N[pair], np.full(9, 1 / 9))
        expected.append(bool(q.any() and np.log(RARE) + anything > np.log1p(-RARE) + holds))
    assert exceptions(rows, triples.met, triples).tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_a_pair_is_an_exception_from_the_odds_on():
    """Three visits to one state: as the chance said of it falls, where anything is likelier."""

    def log_urn(chance, worth):  # of drawing the state three times running
        return sum(np.log((worth * chance + i) / (worth + i)) for i in range(3))

    chance = np.exp(np.linspace(np.log(1e-3), np.log(0.5), 4000))
    odds = np.log(RARE) + log_urn(1 / 9, 1.0) - np.log(1 - RARE) - log_urn(chance, N0)
    turn = chance[np.argmin(np.abs(odds))]
    world = grid(3, 3)
    triples = Triples(np.append(0, np.ones(36)), [4], [3.0], world.available, world.codes)
    for said, odd in ((turn / 1.01, True), (turn * 1.01, False)):
        rows = sparse.csr_array(([said, 1 - said], [4, 5], [0, 2]), shape=(1, 9))
        assert exceptions(rows, np.array([0]), triples).tolist() == [odd]


def test_chances_of_what_was_counted():
    world = grid(3, 3)
    triples = world.sampled(2, share=0.6)
    rows = sparse.csr_array(np.random.default_rng(0).dirichlet(np.ones(9), len(triples.met)))
    place, counts, chance = at_triples(rows, triples.met, triples)
    assert np.array_equal(counts, triples.counts)
    assert np.array_equal(chance, rows.toarray()[place, triples.indices])
