"""The parts of a sentence about a rule, on explanations small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace as Of

import numpy as np
import pytest

import gim
from gim.analogy.structure.moves import CLIP, STAY, WRAP, Outcomes
from gim.analogy.structure.rule import Rule, RuleNames, by_words, not_excluded, phrase
from gim.analogy.structure.sentences import (
    EDGES,
    _alike,
    _by_action,
    _change,
    _condition,
    _depends,
    _edges,
    _seen_to_move,
    _told,
    _walls,
)
from gim.belief.analogies import beside

NAMES = RuleNames(
    ("row", "col"),
    ("north",),
    ("order",),
    values=((), ("w", "x", "y", "z")),
    units=(1, 10),
)


# -- one outcome


def told(add, fixed, o, shifts=(), variables=(0, 1), sizes=(5, 4), names=NAMES):
    """What `_change` says of outcome o; after the changes come values that are set, (2, 3) last."""
    data = Of(
        move=Of(variables=variables, shifts=shifts),
        outcomes=(np.array(add), np.array(fixed, bool), np.zeros(len(add), int)),
        changes=len(add),
        values=Of(sizes=np.array(sizes), codes=np.array([[0, 1], [2, 3]])[:, : len(variables)]),
    )
    return _change(Of(data=data), o, names)


ADD, FIXED = [[-1, 0], [0, 2], [3, 1], [0, 0]], [[0, 0], [0, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("o", "change"),
    [
        (0, {"row": -1}),
        (1, {"col": 20}),  # two units of ten
        (2, {"row": 3, "col": "= x"}),
        (3, {}),
        (4, {"row": "= 0", "col": "= x"}),  # beyond the changes: values that are set
        (5, {"row": "= 2", "col": "= z"}),
    ],
)
def test_an_outcome_by_variable(o, change):
    assert told(ADD, FIXED, o) == change


@pytest.mark.parametrize(
    ("add", "fixed", "change"),
    [
        (1, False, {"row": "= 1"}),
        (-1, False, {"row": "= 0"}),
        (0, False, {}),
        (0, True, {"row": "= 0"}),
        (1, True, {"row": "= 1"}),
    ],
)
def test_of_two_values_there_is_only_the_other(add, fixed, change):
    assert told([[add]], [[fixed]], 0, variables=(0,), sizes=(2,)) == change
    more = told([[add]], [[fixed]], 0, variables=(0,), sizes=(3,))
    expected = {"row": f"= {add}"} if fixed else {"row": add} if add else {}
    assert more == expected


def test_what_the_action_adds_is_named_or_told():
    assert told(ADD, FIXED, 0, shifts=((0, 0, 1),)) == {"row": "+ order - 1"}
    assert told(ADD, FIXED, 0, shifts=((0, 0, -1),)) == {"row": "- order - 1"}
    assert told(ADD, FIXED, 3, shifts=((1, 0, 1),)) == {"col": "+ order"}
    assert told(ADD, FIXED, 3, shifts=((1, 1, 1),)) == {"col": "+ action"}
    # Two values, but an action that adds: told as a sum.
    assert told([[1]], [[0]], 0, ((0, 0, 1),), (0,), (2,)) == {"row": "+ order + 1"}


# -- are they alike


def says(*chances):
    return tuple(({"x": k}, p) for k, p in enumerate(chances))


def test_rules_are_alike_within_a_tenth_where_nothing_is_known_of_visits():
    assert _alike([says(0.5, 0.5), says(0.59, 0.41)])
    assert not _alike([says(0.5, 0.5), says(0.61, 0.39)])
    assert not _alike([says(1.0), says(0.88, 0.12)])  # an outcome that one lacks
    assert _alike([says(0.95, 0.05), says(1.0)])
    assert not _alike([says(0.5, 0.5), says(0.5, 0.5), says(0.7, 0.3)])
    assert _alike([says(0.3, 0.7)])


@pytest.mark.parametrize("n", [(50, 50), (20, 300)])
def test_visits_allow_for_chance(n):
    """|p - mean| against .05 + 4 sqrt((mean (1 - mean) + 1/n) / n), each with its own n."""

    def allowed(p, q):
        total = n[0] + n[1]
        for a, b in ((p, q), (1 - p, 1 - q)):
            mean = (n[0] * a + n[1] * b) / total
            for x, m in zip((a, b), n, strict=True):
                if abs(x - mean) > 0.05 + 4 * ((mean * (1 - mean) + 1 / m) / m) ** 0.5:
                    return False
        return True

    steps = np.linspace(0.2, 0.99, 80)
    found = [_alike([says(0.2, 0.8), says(q, 1 - q)], n) for q in steps.tolist()]
    assert found == [allowed(0.2, q) for q in steps.tolist()]
    assert 0 < sum(found) < 80


# -- what chances depend on


def chances_of(*features, k=2):
    """A block whose last context has these features: 0, 1 values, 2, 3 edges, 4 the action."""
    variable_of = {0: 0, 1: 1, 2: 0, 3: 1, 4: -1}.__getitem__
    codes = np.array([[0, 0], [1, 3], [2, 1]])
    triples = Of(variable_of=variable_of, k=k, codes=codes)
    return Of(data=Of(triples=triples), form=Of(chain=((), (4, 1, 0), features)))


def test_chances_depend_on_the_action_or_not():
    assert not _by_action(chances_of(0, 3))
    assert _by_action(chances_of(0, 4))
    assert not _by_action(chances_of())


def test_variables_that_chances_depend_on_are_named_once():
    assert _depends([chances_of(1, 4), chances_of(3, 0)], NAMES) == ("col", "row")
    assert _depends([chances_of(4)], NAMES) == ()


def test_conditions_on_values_and_on_edges():
    triples = chances_of().data.triples
    assert [_condition(triples, 1, s, NAMES) for s in range(3)] == ["col = w", "col = z", "col = x"]
    assert [_condition(triples, 3, s, NAMES) for s in range(3)] == [
        "col is least",
        "col is largest",
        "col is between",
    ]
    assert _condition(triples, 2, 2, NAMES) == "row is largest"


# -- what was seen


def line(observed, explained, add, fixed=None, edge=None, shifts=(), size=5):
    """A block on a line of five: `observed` are (from, to), `explained` (observation, outcome).

    Outcomes are the additions first, then values that are set, as the rooms of a `Block` have them.
    """
    start, target = np.array(observed).T
    of, outcome = np.array(explained).T
    n = len(observed)
    changes = len(add)
    outcomes = Outcomes(
        np.array(add)[:, None],
        np.array(fixed or [0] * changes, bool)[:, None],
        np.array(edge or [STAY] * changes),
    )
    many = changes + size
    data = Of(
        of=of,
        outcome=outcome,
        slot=np.arange(n),
        target=target,
        start=Of(own=start, base=start[:, None]),
        changes=changes,
        many=many,
        outcomes=outcomes,
        values=Of(codes=np.arange(size)[:, None], sizes=np.array([size])),
        move=Of(shifts=shifts, variables=(0,)),
        pairs=np.arange(n),
        seen=Of(weight=np.arange(1.0, n + 1.0)),
        triples=Of(A=1),
    )
    share = np.ones(len(of))
    return Of(data=data, posterior=Of(share=share), stack=Of(weights=Of(of=np.ones(n))))


def test_a_stay_is_a_blocked_move_only_where_such_moves_were_seen():
    #                  a move       a stay at the edge  a stay that might be -2
    observed = [(1, 0), (0, 0), (3, 3)]
    explained = [(0, 0), (1, 0), (1, 5), (2, 1), (2, 5)]  # by -1, by -2, or 0 or 3 is set
    block = line(observed, explained, add=[-1, -2])
    many = block.data.many
    assert _seen_to_move(block, np.ones(5)).tolist() == [0, 0, many, many, many]
    unseen = _seen_to_move(block, np.array([0.0, 1, 1, 1, 1]))  # the move has no weight
    assert unseen.tolist() == [0, many, many, many, many]


def test_a_move_that_an_addition_explains_better_is_that():
    observed = [(1, 0), (3, 2), (4, 0)]
    set_to_0 = 2
    explained = [(0, 0), (0, set_to_0), (1, 0), (2, 1), (2, set_to_0)]  # by -1, by -4
    block = line(observed, explained, add=[-1, -4])
    # -1 was seen with weight 2, setting 0 with 2, -4 with 1: only what is seen more often wins.
    assert _seen_to_move(block, np.ones(5)).tolist() == [0, set_to_0, 0, 1, set_to_0]
    more = _seen_to_move(block, np.array([1.5, 1, 1, 1, 1]))
    assert more.tolist() == [0, 0, 0, 1, set_to_0]
    # Of two additions the likelier is taken, wherever it stands.
    explained = [(0, 0), (0, 1), (0, 3), (1, 0), (2, 1)]
    block = line([(1, 0), (3, 2), (4, 0)], explained, add=[-1, -4])
    weight = np.array([1.0, 1.0, 0.5, 1.0, 3.0])
    assert _seen_to_move(block, weight).tolist() == [0, 1, 1, 0, 1]


def test_what_is_left_of_an_order_is_no_stay():
    block = line([(1, 1), (1, 0)], [(0, 0), (1, 0)], add=[-1], shifts=((0, 0, 1),))
    assert _seen_to_move(block, np.ones(2)).tolist() == [0, 0]


def test_chances_are_shares_of_the_weight_of_what_was_seen():
    # Observations weigh 1, 2, 3, 4: by -1 one and two, by +1 three, and a stay of four.
    observed = [(1, 0), (2, 1), (1, 2), (2, 2)]
    block = line(observed, [(0, 0), (1, 0), (2, 1), (3, 4)], add=[-1, 1])
    names = RuleNames(("x",))
    outcomes, groups, edges, *_ = _told([block], np.ones(4, bool), names)
    assert [dict(change) for change, _ in outcomes] == [{}, {"x": -1}, {"x": 1}]
    assert [chance for _, chance in outcomes] == pytest.approx([0.4, 0.3, 0.3])
    assert (groups, edges) == ((3,), ())
    outcomes, groups, _, *_ = _told([block, block], np.array([True, True, True, False]), names)
    assert groups == (2, 2)
    assert [chance for _, chance in outcomes] == pytest.approx([0.5, 0.5] * 2)


def test_what_is_rare_is_not_told():
    observed = [(1, 0), (1, 2), (1, 3)]
    block = line(observed, [(0, 0), (1, 1), (2, 2)], add=[-1, 1, 2])
    block.data.seen.weight = np.array([97.0, 2.5, 0.5])
    outcomes, groups, _, *_ = _told([block], np.ones(3, bool), RuleNames(("x",)))
    assert [(dict(change), chance) for change, chance in outcomes] == [
        ({"x": -1}, pytest.approx(0.97)),
        ({"x": 1}, pytest.approx(0.025)),
    ]
    assert groups == (2,)


@pytest.mark.parametrize(
    ("edge", "reached", "told"),
    [
        (STAY, 4, [EDGES[STAY]]),
        (CLIP, 4, [EDGES[STAY]]),  # it was at the edge already
        (WRAP, 0, [EDGES[WRAP]]),
    ],
)
def test_edges_are_told_from_the_second_visit_on(edge, reached, told):
    block = line([(4, reached), (1, 2)], [(0, 0), (1, 0)], add=[1], edge=[edge])
    assert _edges(block, np.array([1.4, 9.0])) == []  # 1.5 visits at least
    assert _edges(block, np.array([1.5, 9.0])) == told
    inside = line([(1, 2), (1, 2)], [(0, 0), (1, 0)], add=[1], edge=[edge])
    assert _edges(inside, np.array([9.0, 9.0])) == []


def test_a_step_of_two_ends_at_the_edge():
    block = line([(3, 4), (4, 4)], [(0, 0), (1, 0)], add=[2], edge=[CLIP])
    assert _edges(block, np.array([2.0, 1.0])) == [EDGES[CLIP]]
    assert _edges(block, np.array([1.0, 2.0])) == [EDGES[STAY]]
    assert _edges(block, np.array([2.0, 2.0])) == [EDGES[STAY], EDGES[CLIP]]


def test_walls_are_where_the_likeliest_change_was_blocked_inside():
    #           moves     a wall  the edge  another change
    observed = [(1, 2), (2, 2), (4, 4), (3, 1)]
    explained = [(0, 0), (1, 0), (2, 0), (3, 1)]
    block = line(observed, explained, add=[1, -2])
    assert _walls(block, np.ones(4, bool)).tolist() == [False, True, False, False]
    assert not _walls(block, np.array([True, False, True, True])).any()
    assert not _walls(line(observed, explained, add=[0, -2]), np.ones(4, bool)).any()
    block.posterior.share = np.array([1.0, 0.0, 1.0, 1.0])
    assert not _walls(block, np.ones(4, bool)).any()
    low = line([(3, 2), (2, 2), (0, 0)], [(0, 0), (1, 0), (2, 0)], add=[-1])
    assert _walls(low, np.ones(3, bool)).tolist() == [False, True, False]
    to_the_end = line([(3, 4), (3, 3)], [(0, 0), (1, 0)], add=[1])  # 4 is within reach
    assert _walls(to_the_end, np.ones(2, bool)).tolist() == [False, True]


# -- the sentence


def test_a_sentence_word_by_word():
    outcomes = (({"row": -1, "light": "= red"}, 0.75), ({}, 0.25), ({}, 1.0))
    rule = Rule("north", outcomes, 1, 0.5, ((3, 0),), (2, 1), ("moves end at the edge",))
    assert str(rule) == (
        "north: row - 1 light = red (.75), stays (.25); moves end at the edge; "
        "explains 50% of its pairs held out (1 visit); 1 exception: "
    )
    six = tuple((k, 0) for k in range(6))
    labels = tuple(f"s{k}" for k in range(6))
    outcomes = tuple(({"x": k + 0.5}, 1 / 6) for k in range(6))
    rule = Rule("go", outcomes, 12, 1.0, six, where="x = 0", depends=("y", "z"), labels=labels)
    assert str(rule) == (
        "go where x = 0: x + 0.5 (.17), x + 1.5 (.17), x + 2.5 (.17), x + 3.5 (.17), "
        "x + 4.5 (.17), 1 more; chances depend on y, z; explains 100% of its pairs held out "
        "(12 visits); 6 exceptions: s0, s1, s2, s3, s4, ..."
    )
    five = Rule("go", outcomes[:5], 12, 1.0, six[:5], labels=labels[:5])
    assert str(five).endswith(
        "x + 4.5 (.17); explains 100% of its pairs held out (12 visits); "
        "5 exceptions: s0, s1, s2, s3, s4"
    )
    assert str(Rule("wait", (({}, 1.0),), 3, 1.0, ())).startswith("wait: stays (1.00); explains")


def test_changes_in_words():
    assert (by_words(0), by_words(-2.5), by_words("= red")) == ("+ 0", "- 2.5", "= red")
    assert phrase({"a": 1, "b": -1}) == "a + 1 b - 1"
    assert NAMES.unit(1) == 10
    assert RuleNames(units=(3,)).unit(1) == 1
    assert NAMES.state(np.array([1, 2]), 0) == "(1,y)"


# -- with the evidence behind it


def test_what_every_visit_has_shown_is_always():
    rule = Rule("replace", (({"wear": "= 0"}, 1.0),), 634, 1.0, (), (1,), counts=(634.0,))
    assert str(rule) == (
        "replace: wear = 0 (always, 634 of 634); explains 100% of its pairs held out (634 visits)"
    )
    still = Rule("wait", (({}, 1.0),), 200, 1.0, (), (1,), counts=(200.0,))
    assert str(still).startswith("wait: stays (always, 200 of 200); explains")


def test_what_so_many_visits_cannot_exclude():
    """Of 28 visits none shows what has a chance of .079 with a probability of a tenth."""
    assert not_excluded(28) == pytest.approx(1 - 0.1 ** (1 / 28))
    assert not_excluded(0) == 1.0
    few = {"counts": (28.0,), "groups": (1,)}
    rule = Rule("ask 13", (({"day": 1}, 1.0),), 28, 1.0, (), unseen=({"seats": -1},), **few)
    assert "; seats - 1: below .08 (none in 28 visits);" in str(rule)
    assert "; anything else: below .08 (none in 28 visits);" in str(replace(rule, unseen=()))
    many = replace(rule, support=120, counts=(120.0,))
    assert "below" not in str(many)  # less than .02
    assert "below" not in str(Rule("go", (({"x": 1}, 1.0),), 3, 1.0, ()))  # nobody has counted


def test_what_else_explains_it_and_what_would_tell():
    rule = Rule("replace", (({"wear": "= 0"}, 1.0),), 500, 1.0, (), counts=(500.0,), groups=(1,))
    same = replace(rule, rival="wear - 7", telling="(3)")
    assert "; wear - 7 would explain it as well: (3) would tell;" in str(same)
    near = beside(rule, [Rule("replace", (({"wear": -7}, 1.0),), 500, 1.0, ())], 2.13)
    assert (near.rival, near.nats) == ("wear - 7 (1.00)", 2.13)
    assert "; wear - 7 (1.00) would explain it nearly as well, by 2.1 nats less;" in str(near)
    assert beside(rule, [rule], 1.0) == rule  # it says the same
    assert beside(same, [near], 1.0) == same  # it has one already


def test_a_rival_is_told_by_the_states_where_it_differs():
    """From 3, 4 and 5 to 0: set to 0, or 5 less and no further than to the edge? 6 and 7 tell."""
    n = 8
    visits = np.zeros((n, 2, n))
    for s in range(n):
        visits[s, 0, min(s + 1, n - 1)] = visits[s, 0, s] = 6
    visits[3:6, 1, 0] = 9
    belief = gim.believe((visits, np.zeros((n, 2))), variables={"wear": np.arange(n)}, horizon=5)
    (rule,) = (each for each in belief.rules() if each.action == 1)
    assert rule.counts == pytest.approx((27.0,))
    assert (phrase(rule.outcomes[0][0]), rule.rival) == ("wear = 0", "wear - 5")
    assert "; wear - 5 would explain it as well: (6) or (7) would tell;" in str(rule)
