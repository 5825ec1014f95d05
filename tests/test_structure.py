"""Structure from variables: exact where it is true, no trace of what is held out, never a crash."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gim.analogy.structure import Triples, by_numbers, by_variables, relocated
from gim.analogy.structure.exceptions import at_triples
from gim.analogy.structure.state_types import by_types
from tests.structured_worlds import (
    World,
    error,
    grid,
    inventory,
    lake,
    machines,
    queues,
    taxi,
    unmet,
)

# ---------------------------------------------------------------------------- worlds are recovered


def test_a_grid_with_slip_from_few_visits_to_a_third_of_its_pairs():
    world = grid()
    triples = world.sampled(visits=6, share=0.35)
    fitted = by_variables(triples)
    assert error(world, fitted, unmet(triples)) < 0.12
    chances = fitted.rows(np.array([(3 * 8 + 3) * 4])).toarray()[0]  # north in the middle
    found = [chances[world.index[x]] for x in ((2, 3), (3, 2), (3, 4))]
    assert np.allclose(found, [0.8, 0.1, 0.1], atol=0.08)


def test_one_walk_teaches_moves_in_rooms_never_entered():
    walls = {(4, j) for j in range(9) if j != 2} | {(i, 4) for i in range(9) if i not in (1, 7)}
    world = grid(9, 9, walls=walls - {(4, 6)})
    triples = world.walked(1500)
    assert len(unmet(triples)) > 80
    assert error(world, by_variables(triples), unmet(triples)) < 0.1


def test_frozen_lake():
    world = lake()
    triples = world.walked(600)
    few = np.flatnonzero(((triples.n <= 2) & triples.available).ravel())
    assert error(world, by_variables(triples), few) < 0.25


def test_a_deterministic_grid_is_certain():
    world = grid(6, 6, slip=0.0)
    fitted = by_variables(world.sampled(visits=1, share=0.5))
    assert error(world, fitted, np.arange(world.S * world.A)) < 0.02


def test_after_states_and_censored_demand():
    world = inventory()
    triples = world.walked(1500)
    fitted = by_variables(triples)
    assert [form.move.shifts for form in fitted.form] == [((0, 0, 1),)]
    assert error(world, fitted, unmet(triples)) < 0.2


def test_two_queues_are_two_blocks():
    world = queues()
    triples = world.walked(3000)
    fitted = by_variables(triples)
    assert sorted(form.move.variables for form in fitted.form) == [(0,), (1,)]
    assert error(world, fitted, unmet(triples)) < 0.15


def drifting(*drifts):
    """31 stocks; the action says how far a stock drifts on average, by a spread of some cells."""
    spread = {x: math.comb(24, x + 12) / 2**24 for x in range(-12, 13)}

    def outcomes(state, a):
        (x,) = state
        return [((min(max(x + drifts[a] + d, 0), 30),), p, 0.0) for d, p in spread.items()]

    return World([(x,) for x in range(31)], len(drifts), outcomes)


def visited(world, *visits, seed=0):
    """Counts of so many visits to the pairs of each action."""
    rng = np.random.default_rng(seed)
    n = np.repeat([visits], world.S, axis=0)
    return world.counted(rng.multinomial(n, world.P + 1e-300), rng)


def test_an_action_that_was_hardly_tried_is_not_taken_for_the_others():
    """One visit a state does not prove that it differs; who waits for that never tries it."""
    world = drifting(0, 0, -2)
    triples = visited(world, 40, 40, 1)
    fitted = by_variables(triples)
    assert [form.chain for form in fitted.form] == [((), (1,))]
    said = fitted.rows(np.array([15 * 3, 15 * 3 + 2])).toarray() @ np.arange(31) - 15
    assert abs(said[0]) < 0.3
    assert said[1] < said[0] - 0.3


def test_actions_that_are_alike_beyond_chance_are_one():
    world = drifting(*[0] * 12)
    fitted = by_variables(visited(world, *[1] * 12))
    assert [form.chain for form in fitted.form] == [((),)]


def test_machines_on_a_ring_find_their_neighbours_and_their_reboots():
    world = machines()
    triples = world.walked(1500, start=world.S - 1)
    fitted = by_variables(triples)
    assert sorted(form.move.variables for form in fitted.form) == [(i,) for i in range(5)]
    for form in fitted.form:
        (i,) = form.move.variables
        assert (i - 1) % 5 in form.chain[-1]
    assert error(world, fitted, unmet(triples)) < 0.25


def test_taxi():
    world = taxi()
    triples = world.walked(2500, horizon=40, start=world.index[1, 1, 0, 1])
    said = by_variables(triples).rows(unmet(triples))
    truth = world.rows()[unmet(triples)].argmax(axis=1)
    assert (said.toarray().argmax(axis=1) == truth).mean() > 0.95


def test_ice_is_a_type_of_cell():
    rng = np.random.default_rng(5)
    ice = rng.random((8, 8)) < 0.4
    world = grid(slip=0.1, size=lambda x: 2 if ice[x] else 1)
    triples = world.sampled(visits=3, share=0.5)
    typed, same = by_types(triples), by_types(triples, 1)
    assert typed.types == 2
    met = np.flatnonzero((triples.n == 0).ravel() & (triples.n.sum(axis=1) > 0).repeat(4))
    assert error(world, typed, met) < 0.5 * error(world, same, met)
    types = typed.chances(np.arange(64) * 4).argmax(axis=1).reshape(8, 8)
    inside = types[2:6, 2:6] == ice[2:6, 2:6]
    assert max(inside.mean(), 1 - inside.mean()) > 0.9


@pytest.mark.parametrize("columns", [5, 8])
def test_columns_of_a_grid_are_read_off_the_numbers(columns):
    world = grid(7, columns)
    triples = world.walked(800, codes=None)
    fitted = by_numbers(triples)
    assert fitted.read
    assert fitted.triples.codes.max(axis=0).tolist() == [6, columns - 1]
    assert error(world, fitted, unmet(triples)) < 0.15


def test_a_river_is_its_own_number():
    world = grid(1, 23, slip=0.0)
    fitted = by_numbers(world.walked(150, codes=None))
    assert error(world, fitted, np.arange(world.S * world.A)) < 0.1


# ---------------------------------------------------------------------------- what must always hold


@st.composite
def data(draw):
    """Any counts over any variables."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S, A, k = draw(st.integers(1, 7)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    N = rng.poisson(draw(st.sampled_from([0.0, 0.3, 2.0])), (S * A, S)).astype(float)
    N[rng.random(S * A) < 0.3] = 0
    table = sparse.csr_array(N)
    rewards = rng.choice([0.0, 1.0, -2.5], table.nnz) * table.data
    return Triples(
        table.indptr,
        table.indices,
        table.data,
        rng.random((S, A)) < 0.9,
        rng.integers(0, draw(st.integers(1, 4)), (S, k)),
        rng.random(k) < 0.6,
        rng.integers(0, 3, (A, 2)) if draw(st.booleans()) else None,
        R=rewards,
        R2=rewards**2 / table.data,
        terminal=rng.random(S) < 0.2,
    )


@settings(max_examples=60, deadline=None)
@given(data())
def test_rows_are_distributions_over_states(triples):
    pairs = np.arange(triples.S * triples.A)
    for fit in (by_variables, by_types, by_numbers):
        fitted = fit(triples)
        for apart in (False, True):
            rows = fitted.rows(pairs, apart)
            sums = np.asarray(rows.sum(axis=1)).ravel()
            assert rows.shape == (len(pairs), triples.S)
            assert (rows.data > 0).all()
            assert (np.isclose(sums, 1) | (np.diff(rows.indptr) == 0)).all()
            levels = fitted.levels(pairs, apart)
            assert levels.shape == (len(pairs),)
            assert (levels >= 0).all()


@settings(max_examples=30, deadline=None)
@given(data(), st.integers(0, 2**32 - 1))
def test_held_out_pairs_leave_no_trace(triples, seed):
    rng = np.random.default_rng(seed)
    held = rng.random((triples.S, triples.A)) < 0.4
    other = Triples(
        triples.indptr,
        triples.indices,
        np.where(held.ravel()[triples.pair], rng.integers(1, 9, len(triples.pair)), triples.counts),
        triples.available,
        triples.codes,
        triples.ordinal,
        triples.action_codes,
        triples.action_ordinal,
    )
    pairs = np.arange(triples.S * triples.A)
    for fit in (by_variables, by_types):
        one, same = fit(triples.without(held)), fit(other.without(held))
        assert one.form == same.form
        assert (one.rows(pairs) != same.rows(pairs)).nnz == 0


@settings(max_examples=30, deadline=None)
@given(data())
def test_a_form_is_fitted_again_as_it_was_found(triples):
    pairs = np.arange(triples.S * triples.A)
    for fit in (by_variables, by_types):
        found = fit(triples)
        again = fit(triples, found.form)
        assert (found.rows(pairs) != again.rows(pairs)).nnz == 0


@pytest.mark.parametrize("fit", [by_variables, by_types])
def test_predictions_apart_are_no_better_than_they_look(fit):
    """Where nothing is alike, whoever has had a part in its own prediction looks good."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(30, 0.2), (30, 4))
    world = World(((s,) for s in range(30)), 4, lambda x, a: ())
    world.P = P
    triples = world.sampled(3, share=0.7)
    rows = fit(triples).rows(triples.met, apart=True)
    _, counts, chance = at_triples(rows, triples.met, triples)
    seen = counts @ np.log(0.99 * chance + 0.01 / 30) / counts.sum()
    true = (world.rows()[triples.met] * np.log(0.99 * rows.toarray() + 0.01 / 30)).sum(axis=1)
    assert abs(seen - true.mean()) < 0.25


def test_what_a_pair_counted_itself_is_taken_out():
    world = grid(5, 5, slip=0.0)
    triples = world.sampled(visits=3)
    odd = world.index[2, 2] * 4  # north of the middle leads to a corner instead
    N = sparse.csr_array(
        (triples.counts, triples.indices, triples.indptr), shape=(100, 25)
    ).toarray()
    N[odd] = 0
    N[odd, 24] = 3
    triples = world.counted(N.reshape(25, 4, 25), np.random.default_rng(0))
    fitted = by_variables(triples)
    row = fitted.rows(np.array([odd]), apart=True).toarray()[0]
    assert row[world.index[1, 2]] > 0.95
    assert row[24] < 0.01


@pytest.mark.parametrize("S", [1, 2])
@pytest.mark.parametrize("A", [1, 3])
def test_tiny_worlds(S, A):
    table = sparse.csr_array(np.ones((S * A, S)))
    triples = Triples(table.indptr, table.indices, table.data, np.ones((S, A), bool), np.zeros(S))
    for fit in (by_variables, by_numbers, by_types):
        assert np.allclose(fit(triples).rows(np.arange(S * A)).sum(axis=1), 1)


def test_no_data_says_nothing():
    triples = Triples(np.zeros(13), [], [], np.ones((4, 3), bool), [[0, 1], [1, 0], [1, 1], [0, 0]])
    for fit in (by_variables, by_types, by_numbers):
        fitted = fit(triples)
        assert fitted.rows(np.arange(12)).nnz == fitted.rows(np.arange(12), apart=True).nnz == 0
        assert (fitted.levels(np.arange(12)) >= 0).all()


def test_states_that_share_their_variables_are_told_apart():
    table = sparse.csr_array(np.eye(4)[[1, 1, 3, 3]])
    triples = Triples(table.indptr, table.indices, table.data, np.ones((4, 1)), [0, 0, 5, 5])
    assert triples.codes.tolist() == [[0, 0], [0, 1], [5, 0], [5, 1]]
    assert triples.ordinal.tolist() == [True, False]


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match="S\\*A rows need 7"):
        Triples([0, 0], [], [], np.ones((3, 2), bool), [0, 1, 2])
    with pytest.raises(ValueError, match="codes have 2 rows: give one for each of the 3"):
        Triples(np.zeros(7), [], [], np.ones((3, 2), bool), [0, 1])
    with pytest.raises(ValueError, match="whole numbers from 0"):
        Triples(np.zeros(7), [], [], np.ones((3, 2), bool), [0, -1, 2])
    with pytest.raises(ValueError, match="a flag for each variable"):
        Triples(np.zeros(7), [], [], np.ones((3, 2), bool), [0, 1, 2], [True, False])


# ---------------------------------------------------------------------------- from another world


def test_rules_of_a_small_hall_hold_in_a_large_one():
    small, large = grid(6, 6), grid(12, 12)
    new = large.walked(40)
    both = relocated(small.sampled(4), new)
    assert error(large, by_variables(both), unmet(new)) < 0.12
    assert error(large, by_variables(new), unmet(new)) > 0.3


def test_what_an_edge_did_elsewhere_is_not_carried_over():
    small, large = grid(6, 6), grid(12, 12)
    old, new = small.sampled(2), large.walked(0)
    both = relocated(old, new)
    met = {(large.states[s], a) for s, a in zip(*divmod(both.met, 4), strict=True)}
    inside = {(x, a) for x in small.states if max(x) < 5 for a in range(4)}
    assert met == inside  # the upper and left edges are those of both worlds
    for s, a in zip(*divmod(both.met, 4), strict=True):
        here = old.n[small.index[large.states[s]], a]
        assert both.n[s, a] == here


def test_walls_elsewhere_are_not_carried_over():
    walled, open_ = grid(7, 7, walls={(3, 3)}), grid(7, 7)
    both = relocated(walled.sampled(2), open_.walked(0))
    beside = {open_.index[x] for x in ((2, 3), (4, 3), (3, 2), (3, 4), (3, 3))}
    assert not beside & set((both.met // 4).tolist())
    assert len(both.met) == 4 * (49 - 5)


def test_rewards_come_along():
    small, large = grid(5, 5), grid(8, 8)
    old = small.sampled(3)
    both = relocated(old, large.walked(0), weight=0.5)
    s = large.index[1, 1]
    there = slice(*old.indptr[[small.index[1, 1] * 4, small.index[1, 1] * 4 + 4]])
    here = slice(*both.indptr[[s * 4, s * 4 + 4]])
    assert both.R[here].sum() == pytest.approx(0.5 * old.R[there].sum())
    assert both.counts[here].sum() == pytest.approx(0.5 * old.counts[there].sum())


def test_other_variables_are_refused():
    with pytest.raises(ValueError, match="same variables and actions only"):
        relocated(grid(4, 4).sampled(1), inventory(5, 3).sampled(1))
