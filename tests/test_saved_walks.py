"""Walks from a file: whatever its checksum, none may lead outside an array or go round for ever."""

import numpy as np
import pytest

from gim._compile.memory import flatten, rebuild
from gim.model.counts import new_counts, new_known, review
from gim.paper.walks.base import explorations
from gim.paper.walks.tournament import OUT, Tournament, new_tournament
from gim.paper.walks.transitions import ALSO_FROM, ALSO_TO, PAIR, STATE
from gim.testing.agents import small_worlds
from tests.sampled_counts import sampled

PLAIN = small_worlds()[0]


def walk_of(name, visits=4):
    """A walk that begins with so many visits of each pair, at the mean, and a blank one."""
    made = explorations.make(name)

    def start(counts):
        known = new_known(PLAIN.available, 3, 0.7)
        review(known, counts, np.zeros(PLAIN.S, bool))
        return made.start(counts, known, 0.2, np.random.default_rng(0))

    return start(sampled(PLAIN, visits)[0]), start(new_counts(PLAIN.S, PLAIN.A))


def refused(name, key, change, because):
    walk, blank = walk_of(name)
    flat = {each: array.copy() for each, array in flatten(walk).items()}
    rebuild(blank, flat)
    change(flat[key])
    with pytest.raises(ValueError, match=because):
        rebuild(blank, flat)


def at(place, value):
    def change(array):
        array[place] = value

    return change


@pytest.mark.parametrize(
    ("key", "change", "because"),
    [
        ("ways.links.table", at((5, ALSO_TO), 5), "lists of transitions"),  # it follows itself
        ("ways.links.table", at((5, ALSO_FROM), 7), "lists of transitions"),
        ("ways.links.table", at((5, PAIR), 15), "of no pair"),
        ("ways.links.table", at((5, PAIR), -1), "of no pair"),
        ("ways.links.table", at((5, STATE), 5), "leads nowhere"),
        ("ways.links.table", at((5, STATE), -1), "of no pair"),
        ("ways.links.to", at(0, 40), "lists of transitions"),
        ("ways.links.to", at(0, 10**6), "lists of transitions"),
        ("ways.links.of", at((0, 0), -1), "lists of transitions"),
        ("ways.links.used", at(0, 1 << 12), "for 4096 transitions"),  # no room for the next
        ("ways.way", at(0, 3), "has 3 in 'ways.way'"),
        ("ways.way", at(0, -3), "has -3 in 'ways.way'"),
        ("ways.hope", at(0, 5), "has 5 in 'ways.hope'"),
        ("ways.queue", at(0, 5), "has 5 in 'ways.queue'"),
        ("ways.first", at(0, 5), "has 5 in 'ways.first'"),
        ("ways.waiting", at(0, 1), "another 'ways.waiting'"),
        ("ways.before", at(0, 0.5), "another 'ways.before'"),
        ("ways.p", at(slice(None), 1.0), "sums to more than 1"),
        ("ways.worth", at(0, 1e300), "in 'ways.worth'"),
        ("ways.own", at(0, np.inf), "in 'ways.own'"),
        ("options.n_actions", at(0, 4), "another 'options.n_actions'"),
        ("options.actions", at((0, 0), 3), "another 'options.actions'"),
        ("unknown.ties", at((0, 1), 3), "nobody has won"),
        ("unknown.top", at((0, 1), 1e9), "nobody has won"),
        ("unknown.sole", at(0, 4), "has 4 in 'unknown.sole'"),
        ("pairs", at(0, 16), "has 16 in 'pairs'"),
    ],
)
def test_ways_that_no_run_has_left(key, change, because):
    refused("planned", key, change, because)


@pytest.mark.parametrize(
    ("name", "key", "change", "because"),
    [
        ("curious", "links.table", at((0, ALSO_TO), 0), "lists of transitions"),
        ("curious", "escapes", at((0, 0), -1.0), "in 'escapes'"),
        ("curious", "best.sole", at(0, 3), "nobody has won"),
        ("balanced", "n_actions", at(0, 9), "another 'n_actions'"),
        ("uniform", "actions", at((0, 0), 9), "another 'actions'"),
        ("published", "actions", at((0, 0), 9), "another 'actions'"),
    ],
)
def test_other_walks_that_no_run_has_left(name, key, change, because):
    refused(name, key, change, because)


def test_who_is_said_to_lead_alone_does():
    tree = new_tournament(np.array([[1.0, 5.0, 2.0, OUT, OUT]]))
    assert tree.fault() == ""
    tree.sole[0] = 1
    assert tree.fault() == ""
    tree.top[0, 8 + 2] = 4.0  # the leaf of action 2; the node above it still says 2
    assert tree.fault() == "a match that nobody has won"
    tree.top[0, 8 + 2] = 2.0
    tree.sole[0] = 2
    assert tree.fault() == "a match that nobody has won"
    tied = new_tournament(np.array([[3.0, 3.0]]))
    assert Tournament(tied.top, tied.ties, np.array([0], np.int32)).fault() != ""
