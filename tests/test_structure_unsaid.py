"""What moves do that nobody says: what actions add, and edges that lead home, found on a river."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gim
from gim.analogy.structure import RuleNames, Triples, rules
from gim.analogy.structure.blocks import by_variables
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.moves import HOME, SIDES, Home, values_of
from gim.analogy.structure.unsaid import amounts_of, homes_of
from tests.naive_structure import chances, explanations
from tests.structured_worlds import World

RIVER = gim.make("wet_chicken")
ADDS = (0, -1, -2, 0, 0), (0, 0, 0, -1, 1)  # to x and to y, by the world's own rules


def river(visits, seed=0, pairs=1.0):
    """Counts of so many visits to each pair of the river (to a share of the pairs)."""
    rng = np.random.default_rng(seed)
    P = RIVER.to_dense().transitions.reshape(125, 25)
    met = rng.random(125) < pairs
    N = sparse.csr_array(rng.multinomial(visits, P) * met[:, None])
    codes = np.array([divmod(s, 5) for s in range(25)])
    nominal = {"action_codes": np.arange(5), "action_ordinal": [False]}
    return Triples(N.indptr, N.indices, N.data, np.ones((25, 5), bool), codes, **nominal)


def test_what_actions_add_and_where_the_waterfall_leads_is_found():
    triples = river(6)
    fitted = by_variables(triples)
    (form,) = fitted.form
    known = {v: np.array(amounts) for v, amounts, _ in form.move.shifts}
    for v, adds in enumerate(ADDS):
        np.testing.assert_array_equal(known[v] - known[v][0], adds)
    assert divmod(form.move.edge - HOME, SIDES) == (0, 1)  # beyond the last x one is at (0, 0)
    q = fitted.rows(np.arange(125)).toarray()
    P = RIVER.to_dense().transitions.reshape(125, 25)
    assert np.abs(q - P).sum(axis=1).mean() < 0.3


def test_pairs_never_met_are_predicted():
    """Half of the pairs, four visits each: the others are known better than by the half itself."""
    triples = river(4, seed=1, pairs=0.5)
    unmet = np.flatnonzero(triples.n.ravel() == 0)
    P = RIVER.to_dense().transitions.reshape(125, 25)
    q = by_variables(triples).rows(unmet).toarray()
    assert np.abs(q - P[unmet]).sum(axis=1).mean() < 0.6
    counted = sparse.csr_array((triples.counts, triples.indices, triples.indptr), shape=(125, 25))
    own = counted.toarray()[triples.met] / 4
    assert np.abs(own - P[triples.met]).sum(axis=1).mean() > 0.6


def test_words_say_what_each_action_adds():
    found = rules(by_variables(river(40)), RuleNames("xy", "dhplr"))
    told = {rule.action: str(rule) for rule in found}
    assert set(told) == set("dhplr")
    assert "y - 1" in told["l"]
    assert "y + 1" in told["r"]
    assert "lead to one place" in told["d"]


@pytest.mark.parametrize("shifts", [(), ((0, ADDS[0], 1), (1, ADDS[1], 1))])
def test_explanations_agree_with_their_twin(shifts):
    triples = river(3, seed=2)
    home = Home(0, True, 0)
    data = Explained(triples, Move((0, 1), shifts, home.code))
    found = np.split(data.outcome, data.begin[1:-1])
    assert [each.tolist() for each in found] == explanations(data)
    assert data.chances(None).tolist() == pytest.approx(chances(data, None), rel=1e-12)


def test_homes_and_amounts_are_only_offered_where_there_are_any():
    triples = river(6)
    values = values_of(triples, (0, 1))
    upper = [Home(0, True, 0), Home(1, True, 0)]  # at its lower edges the value lies itself
    assert homes_of(triples, (0, 1), values) == upper
    stays, anywhere = np.repeat(np.arange(25), 5), np.ones((25, 5), bool)
    still = Triples(np.arange(126), stays, np.ones(125), anywhere, triples.codes)
    assert homes_of(still, (0, 1), values) == []
    assert amounts_of(triples, 1, np.array([0])) == ADDS[1]
    two = river(6).without(np.broadcast_to(np.arange(5) > 1, (25, 5)))
    assert by_variables(two).form  # two actions that were met: still a form
    line = gim.make("riverswim")
    P = line.to_dense().transitions.reshape(12, 6)
    N = sparse.csr_array(np.random.default_rng(0).multinomial(5, P))
    swim = Triples(N.indptr, N.indices, N.data, np.ones((6, 2), bool), np.arange(6))
    assert amounts_of(swim, 0) is None


def line(last, adds):
    """A line of values 0 to last, on which each action adds an amount, or one less."""

    def outcomes(x, a):
        for less in (0, 1):
            yield (min(max(x[0] + adds[a] - less, 0), last),), 0.5, 0.0

    return World([(x,) for x in range(last + 1)], len(adds), outcomes)


@pytest.mark.parametrize(
    ("last", "adds", "found"),
    [
        (5, (0, 1, -1), (0, 1, -1)),
        (2, (0, 1, -1), (0, 1, -1)),
        (5, (0, 1), None),  # of two nobody is the one in the middle
        (1, (0, 1, -1), None),  # all values are at an edge
    ],
)
def test_amounts_are_told_of_three_actions_and_three_values_on(last, adds, found):
    assert amounts_of(line(last, adds).sampled(40, seed=0), 0) == found
