"""Sentences about rules: of worlds small enough to say by hand what they are, and word by word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gim
from gim.analogy.structure.rule import Rule, RuleNames, by_words, not_excluded, phrase
from gim.belief.analogies import beside

# -- what is told of a world


def told(values, step, A):
    """Rules from visits that follow the chances: step(values of a state, a) -> {state: visits}."""
    states = list(zip(*values.values(), strict=True))
    visits = np.zeros((len(states), A, len(states)))
    for s, a in np.ndindex(len(states), A):
        for to, many in step(states[s], a).items():
            visits[s, a, states.index(to)] += many
    nothing = np.zeros(visits.shape[:2])
    return gim.believe((visits, nothing), variables=values, horizon=5).rules()


def product(**values):
    """Every combination of the values of two variables."""
    one, two = values
    pairs = [(x, y) for x in values[one] for y in values[two]]
    return {one: [x for x, _ in pairs], two: [y for _, y in pairs]}


def line(n, unit=1):
    return {"x": [unit * k for k in range(n)]}


def test_of_two_values_there_is_only_the_other():
    """A lamp: one action walks by, one switches it over, one switches it on."""
    other = {"off": "on", "on": "off"}

    def step(at, a):
        x, light = at
        if a == 0:
            return {(min(x + 1, 5), light): 3, at: 1}
        return {(x, other[light] if a == 1 else "on"): 4}

    walk, *switched = told(product(x=range(6), light=("off", "on")), step, 3)
    assert [change for change, _ in walk.outcomes] == [{"x": 1}, {}]
    assert [(rule.action, rule.where, *rule.outcomes) for rule in switched] == [
        (1, "light = off", ({"light": "= on"}, 1.0)),
        (1, "light = on", ({"light": "= off"}, 1.0)),
        (2, "light = off", ({"light": "= on"}, 1.0)),
        (2, "light = on", ({}, 1.0)),
    ]


def test_of_three_values_one_is_set():
    def step(at, a):
        return {(at[0], "red"): 5} if a else {((at[0] + 1) % 5, at[1]): 5}

    walk, paint = told(product(x=range(5), colour=("red", "green", "blue")), step, 2)
    assert walk.outcomes == (({"x": 1}, 1.0),)
    assert walk.edges == ("moves go round the edge",)
    assert paint.outcomes == (({"colour": "= red"}, 1.0),)


def test_steps_are_told_in_the_units_of_their_variable():
    def step(at, a):
        return {(min(at[0] + 10 * (a + 1), 70),): 6, at: 3}

    found = told(line(8, unit=10), step, 2)
    assert [rule.outcomes[0][0] for rule in found] == [{"x": 10}, {"x": 20}]


@pytest.mark.parametrize(("second", "rules"), [(0.34, 1), (0.6, 2)])
def test_actions_that_do_the_same_have_one_rule(second, rules):
    """Up to what visits cannot tell apart."""

    def step(at, a):
        on = 100 * (0.3, second)[a]
        return {(min(at[0] + 1, 7),): on, at: 100 - on}

    found = told(line(8), step, 2)
    assert [rule.action for rule in found] == [[0, 1], ["any action"]][rules == 1]
    assert [rule.edges for rule in found] == [("blocked moves stay",)] * rules


def test_what_is_rare_is_not_told():
    def step(at, a):
        return {(min(at[0] + 1, 7),): 194, (max(at[0] - 1, 0),): 5, at: 1}

    (rule,) = told(line(8), step, 1)
    assert [change for change, _ in rule.outcomes] == [{"x": 1}, {"x": -1}]


def test_where_chances_depend_on_edges_each_has_its_rule():
    """Where rows end all moves along, by one and by two."""

    def step(at, a):
        row, col = at
        return {(row, (col + {0: 1, 4: 2}.get(row, 0)) % 5): 6}

    found = told(product(row=range(5), col=range(5)), step, 1)
    assert {str(rule).split(" (")[0] for rule in found} == {
        "0 where row is between: stays",
        "0 where row is least: col + 1",
        "0 where row is largest: col + 2",
    }


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
    names = RuleNames(("row", "col"), values=((), ("w", "x", "y", "z")), units=(1, 10))
    assert names.unit(1) == 10
    assert RuleNames(units=(3,)).unit(1) == 1
    assert names.state(np.array([1, 2]), 0) == "(1,y)"


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
