"""Compiled parts of structured inference against slow, obvious twins."""

from __future__ import annotations

import numpy as np
import pytest

from gim._compile.jit import Entry, plain, viewed
from gim.analogy.structure import em as em_module
from gim.analogy.structure import state_types as mixture
from gim.analogy.structure.block import Block, Form, back_off
from gim.analogy.structure.blocks import part_of
from gim.analogy.structure.em import Stack, chances, em, fit, held_out
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.moves import CLIP, STAY, WRAP, start_of
from gim.analogy.structure.product import LONGEST, Product, by_key, combined
from gim.analogy.structure.search import _entropy, deepened, evaluated
from gim.analogy.structure.state_types import KAPPA, by_action, by_types, prepared, settle
from gim.analogy.structure.triples import Triples, ranked
from tests import naive_structure as naive
from tests.structured_worlds import grid, inventory, machines, taxi

TIGHT = {"rtol": 1e-9, "atol": 1e-12}


def cases():
    """Counts and moves of every kind."""
    walled = grid(4, 5, walls={(1, 1), (2, 3)})
    yield "grid", walled.sampled(3, share=0.6), Move((0, 1))
    yield "row", walled.sampled(3, share=0.6), Move((0,))
    yield "inventory", inventory(8, 4, 2.0).walked(150), Move((0,), ((0, 0, 1),))
    yield "taxi", taxi(3).walked(200, start=10), Move((0, 1, 2))
    wheel = machines(3).walked(80)
    yield "wheel", wheel.with_codes(np.arange(8)[:, None], [True]), Move((0,))


CASES = {name: (triples, move) for name, triples, move in cases()}


@pytest.mark.parametrize("name", CASES)
def test_explanations_are_all_outcomes_that_lead_there(name):
    data = Explained(*CASES[name])
    found = [data.outcome[i:j].tolist() for i, j in zip(data.begin, data.begin[1:], strict=False)]
    assert found == naive.explanations(data)


def test_every_edge_is_among_the_outcomes():
    edges = {name: set(Explained(*case).outcomes.edge.tolist()) for name, case in CASES.items()}
    assert edges["inventory"] >= {STAY, CLIP}
    assert edges["wheel"] >= {STAY, WRAP}


def chain_of(triples):
    """A root, the action, and the action with a variable; with shrinkages."""
    return ((), (triples.k,), (0, triples.k)), [0.3, 3.0, 1.0]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("without", [None, 1])
def test_em_agrees_with_dictionaries(name, without):
    triples, move = CASES[name]
    data, (chain, kappa) = Explained(triples, move), chain_of(triples)
    slow = naive.EM(data, chain, kappa, most=5.0, without=without)
    stack = Stack(data, chain, 5.0, without)
    for steps in range(3):
        found = fit(data, stack, np.array(kappa), steps)
        assert np.allclose(found.share, np.concatenate(slow.share), **TIGHT)
        each = chances(data, stack, np.array(kappa), found)
        assert np.allclose(np.bincount(data.of, each), slow.step(), **TIGHT)


@pytest.mark.parametrize("name", CASES)
def test_folds_are_judged_by_fits_without_them(name):
    triples, move = CASES[name]
    data, (chain, kappa) = Explained(triples, move), chain_of(triples)
    stack, last = Stack(data, chain, 5.0), np.array([1.0, 30.0])
    for steps in (0, 2):
        held, shares = held_out(data, stack, np.array(kappa), last, None, steps)
        for fold in range(data.folds):
            here = data.fold[data.slot] == fold
            slow = naive.EM(data, chain, kappa, most=5.0, without=fold)
            for _ in range(steps):
                slow.step()
            counts = ~here[data.of]  # pairs that are left out need no shares
            assert np.allclose(shares[fold, counts], np.concatenate(slow.share)[counts], **TIGHT)
            for each, shrinkage in zip(held, last, strict=True):
                slow.kappa, before = [*kappa[:-1], shrinkage], slow.share
                assert np.allclose(each[here], np.array(slow.step())[here], **TIGHT)
                slow.share = before


def test_em_goes_on_from_shares_and_folds_may_be_few():
    triples, move = CASES["taxi"]
    data, (chain, kappa) = Explained(triples, move), chain_of(triples)
    given = data, Stack(data, chain, 5.0), np.array(kappa), np.array([1.0])
    held, shares = held_out(*given, None, 2)
    again = held_out(*given, held_out(*given, None, 1)[1], 1)
    here = data.fold[data.slot] == 0
    assert np.allclose(held, again[0], **TIGHT)
    few = held_out(*given, None, 2, folds=1)
    assert np.array_equal(few[0][:, here], held[:, here])
    assert not few[0][:, ~here].any()
    assert np.array_equal(few[1], shares[:1])


@pytest.mark.parametrize("name", ["grid", "inventory"])
def test_a_fit_begins_at_the_base_measure_and_makes_so_many_steps(name):
    triples, move = CASES[name]
    data, chain, kappa = Explained(triples, move), ((), (triples.k,)), [0.3, 3.0]
    slow = naive.EM(data, chain, kappa, most=5.0, without=None)
    slow.step()
    slow.step()
    found = fit(data, Stack(data, chain, 5.0), np.array(kappa), 2)
    assert np.allclose(found.share, np.concatenate(slow.share), **TIGHT)


def ways(kernel):
    """A kernel compiled, and plain on memoryviews and on arrays."""
    if plain(kernel) is kernel or not isinstance(kernel, Entry):  # NUMBA_DISABLE_JIT=1
        return [lambda *args: kernel(*viewed(args)), kernel]
    on_views = plain(kernel)
    return [
        lambda *args: Entry.__call__(kernel, *args),
        lambda *args: on_views(*viewed(args)),
        on_views,
    ]


def test_em_is_the_same_bits_in_plain_python(monkeypatch):
    triples, move = CASES["grid"]
    data = Explained(triples, move)
    stack, kappa = Stack(data, ((), (2,)), 20.0), np.array([0.3, 3.0])
    seen = em_module.Observed(data.first, data.begin, *stack.weights, stack.context, stack.cell)
    sizes, last = (stack.contexts, stack.cells), np.array([0.3, 30.0])
    given = np.arange(data.folds), data.fold, seen, *sizes, data.bases, data.bases
    first, *others = [
        monkeypatch.setattr(em_module, "_em", way) or em(*given, kappa, last, 5, 0.05)
        for way in ways(em_module._em)
    ]
    for other in others:
        for found, slow in zip(first, other, strict=True):
            assert np.array_equal(found, slow)


def contexts_of(block, pair):
    """The contexts of a pair, from the root down, as far as they were met."""
    found = []
    for i, (features, level) in enumerate(zip(block.form.chain, block.levels, strict=True)):
        key = block.data.triples.context(features, np.array([pair]))[0]
        place = np.flatnonzero(level.keys == key)
        if len(place):
            found.append(int(place[0] + block.first[i]))
    return found


def naive_outcomes(block, pair):
    """Chances of outcomes after a pair, by the formula."""
    data = block.data
    chances = block.before
    for c in contexts_of(block, pair):
        n, kappa = block.stack.n[c], block.kappa[c]
        mass = np.zeros(data.many)
        cells = slice(block.counted.start[c], block.counted.start[c + 1])
        mass[block.counted.outcome[cells]] = block.counted.chance[cells]
        chances = (mass + kappa * chances) / (n + kappa)
    return chances


@pytest.mark.parametrize("name", ["grid", "inventory", "taxi", "wheel"])
@pytest.mark.parametrize("without", [None, 0])
def test_distributions_follow_the_formula(name, without):
    triples, move = CASES[name]
    k, data = triples.k, Explained(triples, move)
    block = Block(data, Form(move, ((), (k,), (0, k)), (0.3, 3.0, 0.3)), without)
    pairs = np.arange(triples.S * triples.A)
    start, value, chance = block.distribution(pairs)
    lead = Explained(triples, move)
    for p in pairs[:: max(1, len(pairs) // 40)]:
        lead.start = start_of(triples, move.variables, move.shifts, lead.values, np.array([p]))
        expected = np.zeros(len(data.values.codes))
        for o, q in enumerate(naive_outcomes(block, p)):
            expected[naive.target(lead, 0, o)] += q
        found = np.zeros(len(expected))
        np.add.at(found, value[start[p] : start[p + 1]], chance[start[p] : start[p + 1]])
        assert np.abs(found - expected / expected.sum()).sum() < 0.02  # rare outcomes are left out


def test_folds_have_not_seen_their_pairs():
    triples, move = CASES["grid"]
    product = Product(
        triples, [Block(Explained(triples, move), Form(move, ((), (2,)), (1.0, 1.0)))]
    )
    data = product.blocks[0].data
    pairs = np.arange(triples.S * triples.A)
    rows, levels = product.rows(pairs, apart=True).toarray(), product.levels(pairs, apart=True)
    fold = np.where(data.slot_of(pairs) >= 0, data.fold[data.slot_of(pairs)], -1)
    assert set(fold) == {-1, *range(data.folds)}
    for each in range(-1, data.folds):
        block = Block(data, product.form[0], None if each < 0 else each)
        fit, here = Product(triples, [block]), fold == each
        assert np.array_equal(fit.rows(pairs[here]).toarray(), rows[here])
        assert np.array_equal(fit.levels(pairs[here]), levels[here])


def test_lists_of_contexts_by_hand():
    # Two contexts: the root has seen outcomes 0 (3 times) and 1 (once), its child 1 (twice).
    start, outcome, mass = np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([3.0, 1.0, 2.0])
    parent, n, kappa = np.array([-1, 0]), np.array([4.0, 2.0]), np.array([1.0, 2.0])
    starts, outcomes, chances = back_off(
        start, outcome, mass, parent, n, kappa, np.array([0.5, 0.25, 0.25])
    )
    root = np.array([3.5, 1.25]) / 4.75  # outcome 2 was never seen: it is left out
    child = np.array([2 * root[0] / 4, (2 + 2 * root[1]) / 4])
    assert starts.tolist() == [0, 2, 4]
    assert outcomes.tolist() == [0, 1, 0, 1]
    assert np.allclose(chances, [*root, *child], **TIGHT)


def test_a_list_owes_nothing_to_the_one_before_it():
    # Two roots that have seen the same: what one has left on the table is none of the other's.
    start, outcome, mass = np.array([0, 2, 4]), np.array([0, 2, 0, 2]), np.array([3.0, 1.0] * 2)
    parent, n, kappa = np.array([-1, -1]), np.array([4.0, 4.0]), np.array([1.0, 1.0])
    starts, outcomes, chances = back_off(
        start, outcome, mass, parent, n, kappa, np.array([0.5, 0.25, 0.25])
    )
    assert starts.tolist() == [0, 2, 4]
    assert outcomes.tolist() == [0, 2, 0, 2]
    assert np.allclose(chances, np.tile([3.5, 1.25], 2) / 4.75, **TIGHT)


def test_errors_of_a_part_are_those_of_its_expectations():
    triples = grid(3, 3).sampled(2, seed=1)
    part = part_of(triples, (0,))
    values, found = part.block.data.values, part.errors.T.tolist()
    for pair, t, (off, stay) in zip(triples.pair, triples.indices, found, strict=True):
        _, value, chance = part.block.distribution(np.array([pair]))
        row, own = triples.codes[t, 0], values.of_state[pair // triples.A]
        rows = [values.codes[v, 0] for v in value]
        assert off == pytest.approx(row - sum(p * x for p, x in zip(chance, rows, strict=True)))
        stays = sum(p for p, v in zip(chance, value, strict=True) if v == own)
        assert stay == pytest.approx((row == triples.codes[pair // triples.A, 0]) - stays)


def test_entropy_by_hand():
    """Of two groups alike, with half a count for each group over all (Miller, 1955)."""
    assert _entropy(np.array([0, 1]), np.ones(2)) == pytest.approx(np.log(2) + 2 / 4)
    assert _entropy(np.array([0, 0, 0, 0]), np.full(4, 2.0)) == pytest.approx(1 / 16)


def steps_on_a_line(steps):
    """Counts of single steps (x, a, x') on a line of six cells with three actions."""
    N = np.zeros((18, 6))
    for x, a, y in steps:
        N[3 * x + a, y] = 1
    pair, t = np.nonzero(N)
    starts = np.searchsorted(pair, np.arange(19))
    return Triples(starts, t, N[pair, t], np.ones((6, 3), bool), np.arange(6), [True])


def test_contexts_that_look_at_all_features_are_not_deepened():
    """Nothing is left to try, and nothing is warned of."""
    steps = [(x, a, min(max(x + a - 1, 0), 5)) for x in range(6) for a in range(3)]
    data = Explained(steps_on_a_line(steps), Move((0,)))
    everything = tuple(range(data.triples.features))
    found = evaluated(data, Form(data.move, ((), everything), ()))
    assert deepened(data, found) is found


def test_products_are_products_over_states_that_exist():
    world = machines(3)
    triples = world.walked(300)
    blocks = [Block(Explained(triples, Move((v,))), Form(Move((v,)), ((), (3,)), (1.0, 1.0)))
              for v in range(3)]  # fmt: skip
    product = Product(triples, blocks)
    pairs = np.arange(triples.S * triples.A)
    rows = product.rows(pairs).toarray()
    parts = [block.distribution(pairs) for block in blocks]
    for p in pairs:
        values = [value[start[p] : start[p + 1]].tolist() for start, value, _ in parts]
        chances = [chance[start[p] : start[p + 1]].tolist() for start, _, chance in parts]
        expected = naive.product(world.index, values, chances)
        for state, chance in expected.items():
            assert abs(rows[p, world.index[state]] - chance) < 1e-3


def test_types_agree_with_lists(monkeypatch):
    triples, move = CASES["grid"]
    data = Explained(triples, move)
    prior = prepared(data, by_action(data))
    rng = np.random.default_rng(0)
    cells, actions = prior.cell.max() + 1, prior.context.max() + 1
    mass, share = rng.random((2, cells)), np.array([0.3, 0.7])
    n = rng.random((2, actions)) * 9
    seen = mixture.Observed(
        prior.first, data.first, data.begin, *prior.weights, prior.context, prior.cell,
        prior.chance,
    )  # fmt: skip
    several = []
    for way in ways(mixture._settle):
        monkeypatch.setattr(mixture, "_settle", way)
        several.append(settle(seen, mass, n, share, KAPPA, 3, 0.05))
        *counts, after, gamma, held = settle(seen, mass, n, share, KAPPA, 1, 0.05)
        expected = naive.type_step(prior, mass, n, share, KAPPA)
        for one, slow in zip((gamma, held, *counts), expected, strict=True):
            assert np.allclose(one, slow, **TIGHT)
        assert np.allclose(after, (gamma.sum(axis=0) + 1) / (len(gamma) + 2), **TIGHT)
    for found in zip(*several, strict=True):
        assert all(np.array_equal(found[0], other) for other in found[1:])
    twice = settle(seen, *settle(seen, mass, n, share, KAPPA, 1, 0.05)[:3], KAPPA, 1, 0.05)
    for one, other in zip(twice, settle(seen, mass, n, share, KAPPA, 2, 0.05), strict=True):
        assert np.allclose(one, other, **TIGHT)


def test_chances_of_types_add_up_to_one_without_the_unlikely():
    typed = by_types(grid(3, 3).sampled(2), form=2)
    states = len(typed.mixture.gamma)
    typed.mixture = typed.mixture._replace(
        share=np.array([0.4, 0.6]), gamma=np.tile([0.9995, 0.0005], (states, 1))
    )
    assert np.array_equal(typed.chances(np.arange(36)), np.tile([1.0, 0.0], (36, 1)))


def test_edges_are_told_apart():
    codes = np.array([[0, 0], [1, 1], [2, 0], [3, 1]])
    triples = Triples(np.zeros(5), [], [], np.ones((4, 1), bool), codes, [True, True])
    assert triples.edges.tolist() == [[1, 1], [0, 2], [0, 1], [2, 2]]
    assert triples.edged.tolist() == [True, False]  # two values have no middle


def test_long_rows_keep_the_likeliest():
    B = 10
    p = np.random.default_rng(3).uniform(0.5, 0.7, B)
    starts, value = np.arange(B)[:, None] * 2 + np.array([0, 2]), np.tile([0, 1], B)
    of_state = (np.arange(1 << B) >> np.arange(B)[:, None]) & 1
    mix = np.random.default_rng(0).integers(1 << 40, size=2 * B)
    keys = sum(mix[2 * b + of_state[b]] for b in range(B))
    table = np.full(4 << B, -1)
    by_key(keys, table)
    chance = np.column_stack([p, 1 - p]).ravel()
    begin, states, chances = combined(starts, value, chance, mix, of_state.T.copy(), table)
    whole = np.prod([np.where(of_state[b], 1 - p[b], p[b]) for b in range(B)], axis=0)
    assert 64 < len(states) == begin[1] <= LONGEST
    assert whole[states].min() > np.delete(whole, states).max()
    assert np.allclose(chances, whole[states] / whole[states].sum())


def test_rows_are_ranked_in_their_order():
    rng = np.random.default_rng(0)
    for least in (-3, 0, 2):
        rows = rng.integers(least, least + 4, (40, 3))
        rows[:, 1] = least  # a column that tells nothing apart
        assert ranked(rows).tolist() == np.unique(rows, axis=0, return_inverse=True)[1].tolist()
    assert ranked(np.zeros((0, 2), np.int64)).tolist() == []
    wide = np.array([[0, 2**40, 0], [0, 0, 2**40], [1, 0, 0], [0, 2**40, 0]])
    assert ranked(wide).tolist() == [1, 0, 2, 1]


def test_variables_may_be_exchanged():
    triples = grid(3, 3).sampled(2)
    read = triples.with_codes(np.arange(9)[:, None])
    assert read.k == 1
    assert read.terminal.tolist() == triples.terminal.tolist()
