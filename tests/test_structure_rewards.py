"""Rules for rewards: exact where there is a rule, modest where there is none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import gim
from gim._compile.jit import plain
from gim.analogy.base import Frame
from gim.analogy.candidates import Data
from gim.analogy.rewards import infer_rewards
from gim.analogy.structure.rewards import (
    EPSILONS,
    EXACT,
    FOLDS,
    SIGMAS,
    Rewards,
    Search,
    Shape,
    equal,
    features_of,
    keyed,
    least_absolute,
    seen_of,
    speak,
)
from tests.structured_worlds import World, grid, inventory, machines, taxi, unmet
from tests.test_structure import data


def rewards_of(triples, shifts=(), shape=None):
    """The rule that is found, or one of this shape."""
    best = Search(triples).best(shifts).shape if shape is None else shape
    return Rewards(triples, best)


def missed(world, triples, rewards, pairs=None):
    """Chance-weighted share of rewards after pairs never met that are not hit exactly."""
    pairs = unmet(triples) if pairs is None else pairs
    place, t = np.nonzero(world.rows()[pairs])
    said, _ = rewards.predict(pairs[place], t)
    true = world.r.reshape(-1, world.S)[pairs[place], t]
    wrong = np.abs(said - true) > 1e-6
    return float(world.rows()[pairs[place], t] @ wrong / len(pairs))


def test_goals_pay_by_the_next_state():
    world = grid(6, 6)
    triples = world.sampled(3, share=0.7)
    rewards = rewards_of(triples)
    assert rewards.shape.chain[-1] == ("next state",)
    assert rewards.entered[-1]  # the goal
    assert missed(world, triples, rewards) == 0


def test_an_inventory_is_linear_with_its_after_state():
    world = inventory()
    triples = world.walked(400)
    rewards = rewards_of(triples, shifts=((0, 0, 1),))
    assert rewards.shape.slopes is not None
    assert missed(world, triples, rewards) == 0


def test_machines_pay_their_number_less_the_reboot():
    world = machines()
    triples = world.walked(300, start=31)
    assert missed(world, triples, rewards_of(triples)) == 0


def test_a_table_for_what_a_plane_cannot_say():
    world = taxi()
    triples = world.walked(3000, horizon=40, start=world.index[1, 1, 0, 1])
    rewards = rewards_of(triples)
    assert missed(world, triples, rewards) < 0.05


def fares():
    """Ten cells, a load (0: aboard) that can be put down at four, and its target: there it ends."""
    gates = {0: 1, 3: 2, 6: 3, 9: 4}

    def outcomes(x, a):
        cell, load, to = x
        if a < 2:
            yield (min(max(cell + 2 * a - 1, 0), 9), load, to), 1.0, -1.0
        elif load > 0 or cell not in gates:
            yield x, 1.0, -10.0
        else:
            yield (cell, gates[cell], to), 1.0, 20.0 if gates[cell] == to else -1.0

    states = itertools.product(range(10), range(5), range(1, 5))
    ends = [(cell, gate, gate) for cell, gate in gates.items()]
    return World(states, 3, outcomes, ends, ordinal=[True, False, False])


def test_an_end_is_paid_for_as_an_end():
    """The pairs that pay were met a hundred times, those that look like them once.

    Where rewards are certain one pair is one fact: else the often met speak for the others.
    """
    world = fares()
    often = np.where(world.r.max(axis=2) == 20.0, 100.0, 1.0)
    triples = world.counted(world.P * often[:, :, None], np.random.default_rng(0))
    rewards = rewards_of(triples)
    assert "end" in rewards.shape.chain[-1]
    assert (seen_of(triples).weight == 1.0).all()  # a pair has one vote, whatever its visits
    assert missed(world, triples, rewards, np.flatnonzero(world.available.ravel())) == 0


def test_a_goal_that_one_pair_has_reached_is_a_goal():
    """One triple is no reason for a finer key; but who comes there is paid what others were."""
    world = grid(6, 6, slip=0.0)
    goal = world.S - 1
    N = (world.P > 0) * 1.0
    into = np.flatnonzero(N[:, :, goal].sum(axis=1) > 0)
    N[into, :, goal] = 0.0
    N[into[0], :, goal] = world.P[into[0], :, goal] > 0  # one of the ways to the goal was found
    triples = world.counted(N, np.random.default_rng(0))
    rewards = rewards_of(triples, shape=Shape())  # "every step costs .04"
    s, a = np.nonzero(world.P[:, :, goal])
    said, _ = rewards.predict(s * world.A + a, np.full(len(s), goal))
    assert np.allclose(said, 1.0)
    others = np.flatnonzero(world.P[:, :, goal].ravel() == 0)
    said, _ = rewards.predict(others, world.P.reshape(-1, world.S)[others].argmax(axis=1))
    assert np.allclose(said, -0.04)


def test_a_state_that_pays_one_and_not_the_other_follows_the_rule():
    """Pressing a button pays 1, walking up to it nothing: who comes next way is paid nothing."""
    world = grid(6, 6, slip=0.0)
    cell = world.index[2, 2]
    world.r[:], N = 0.0, (world.P > 0) * 1.0
    world.r[cell, 0] = 1.0  # whatever follows
    world.P[cell, 0], N[cell, 0] = np.eye(world.S)[cell], np.eye(world.S)[cell]
    came = N[:, :, cell].copy()
    N[:, :, cell] = 0.0
    N[cell, 0, cell] = 1.0
    walked = [(s, a) for s, a in np.argwhere(came > 0) if s != cell]
    N[*walked[0], cell] = 1.0
    rewards = rewards_of(world.counted(N, np.random.default_rng(0)), shape=Shape())
    pairs = np.array([s * world.A + a for s, a in walked])
    assert len(pairs) > 2
    assert np.allclose(rewards.predict(pairs, np.full(len(pairs), cell))[0], 0.0)


def test_slopes_of_their_own_for_each_action():
    def outcomes(x, a):
        yield ((7 * x[0] + 3) % 20,), 1.0, (1 - x[0] / 20, -3.0, 0.25 * x[0])[a]

    world = World([(i,) for i in range(20)], 3, outcomes)
    triples = world.sampled(1, share=0.5)
    rewards = rewards_of(triples)
    assert rewards.shape.slopes == "by action"
    assert missed(world, triples, rewards) == 0


def test_noisy_rewards_give_means():
    world = grid(6, 6)
    triples = world.walked(4000, noise=0.3)
    rewards = rewards_of(triples)
    pair, t = np.nonzero(world.rows())
    said, _ = rewards.predict(pair, t)
    goal = world.index[5, 5]
    assert abs(said[t == goal].mean() - 1.0) < 0.15
    assert abs(said[t != goal].mean() + 0.04) < 0.05


def test_pure_noise_is_one_mean():
    world = grid(5, 5)
    world.r[:] = 0.5
    rewards = rewards_of(world.sampled(3, share=0.6, noise=1.0))
    assert rewards.shape == Shape()
    said, level = rewards.predict(np.array([0]), np.array([0]))
    assert abs(said[0] - 0.5) < 0.2
    assert level[0] == 0


def test_unseen_keys_fall_back():
    world = grid(4, 4)
    triples = world.sampled(4, share=0.8)
    rewards = rewards_of(triples, shape=Shape(((), ("next state",))))
    assert rewards.predict(np.array([0]), np.array([1]))[1][0] == 1
    without = Rewards(triples, rewards.shape)
    without.seen = without.seen.at(without.seen.t != 1)
    assert without.predict(np.array([0]), np.array([1]))[1][0] == 0


def test_keys_grow_by_a_feature_at_a_time():
    world = taxi()
    triples = world.sampled(1, share=0.9)
    chain = rewards_of(triples).shape.chain
    assert [len(features) for features in chain] == list(range(len(chain)))
    assert len(chain) > 2
    assert chain[1] == ("action",)


def test_a_passenger_never_met_pays_for_a_step_as_all_others_do():
    def outcomes(x, a):
        place, who = x
        yield (place, who) if a == 2 else ((place + 2 * a - 1) % 6, who), 1.0, -1.0 - (a == 2) * who

    world = World(itertools.product(range(6), range(4)), 3, outcomes, ordinal=[False, False])
    new = world.codes[:, 1] == 3
    triples = world.sampled(1).without(np.repeat(new[:, None], 3, axis=1))
    rows = sparse.csr_array((triples.counts, triples.indices, triples.indptr))
    made_of = gim.Variables(world.codes, ordinal=triples.ordinal)
    facts = Frame(world.available, world.terminal, (-2.0, -1.0), variables=made_of)
    data = Data(rows, triples.n, world.available, 2.0, facts, triples.R, triples.R2)
    told = infer_rewards(data, sparse.csr_array(world.rows()))
    assert (told["r_n0"] > 0)[:, :2].all()
    assert (told["r"] == -1)[:, :2].all()
    assert (told["r_doubt"][new, :2] < 0.4).all()  # known by action alone, which calls belie


def test_predictions_do_not_depend_on_how_many_are_made_together(monkeypatch):
    world = machines()
    rewards = rewards_of(world.walked(100, start=31))
    pair, t = np.nonzero(world.rows())
    said, level = rewards.predict(pair, t)
    monkeypatch.setattr("gim.analogy.structure.rewards.AT_ONCE", 1)
    assert len(pair) > 2 * len(rewards.seen.mean)
    again, same = rewards.predict(pair, t)
    np.testing.assert_allclose(again, said, rtol=0, atol=1e-12)
    assert np.array_equal(same, level)


def test_rewards_must_be_given():
    triples = grid(3, 3).sampled(1, R=None)
    with pytest.raises(ValueError, match="pass R"):
        rewards_of(triples)


@settings(max_examples=40, deadline=None)
@given(data())
def test_whatever_was_seen_predictions_are_finite(triples):
    rewards = rewards_of(triples)
    pair, t = (x.ravel() for x in np.meshgrid(np.arange(triples.n.size), np.arange(triples.S)))
    said, level = rewards.predict(pair, t)
    assert np.isfinite(said).all()
    assert ((level >= 0) == (triples.n.sum() > 0)).all()


# ---------------------------------------------------------------------------- parts


def test_least_absolute_deviations_ignore_exceptions():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(80), rng.integers(0, 9, (80, 3))])
    b = np.array([2.0, -0.5, 3.0, 0.0])
    y = X @ b
    y[:25] += rng.normal(0, 10, 25)
    assert np.allclose(least_absolute(X, y, np.ones((1, 80))), b, atol=1e-6)


def test_planes_that_leave_out_a_part_are_those_of_the_rest():
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(60), rng.integers(0, 9, (60, 3))]).astype(np.float64)
    y, weight = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=60), rng.uniform(0.5, 2.0, 60)
    out = np.arange(60) % 3 == np.arange(3)[:, None]
    y[out[2]] = 4.0  # the third plane is left with what varies, a fourth with nothing that does
    found = least_absolute(X, y, weight * np.vstack([~out, out[2]]))
    for each, left in zip(found, [*~out, out[2]], strict=True):
        assert np.allclose(each, least_absolute(X[left], y[left], weight[None, left])[0])
    assert found[3].tolist() == [4.0, 0.0, 0.0, 0.0]
    assert least_absolute(X, y, np.zeros((1, 60))).tolist() == [[0.0] * 4]


def valued(y, weight, tolerance):
    """The value on which more than half agree, or the mean."""
    for each in y:
        same = np.abs(y - each) <= tolerance
        if weight[same].sum() > 0.5 * weight.sum():
            return np.average(y[same], weights=weight[same])
    return np.average(y, weights=weight)


def test_equal_values_share_a_number():
    assert equal(np.array([3.0, 1.0, 1.0 + 1e-9, 3.0]), 1e-6).tolist() == [1, 0, 0, 1]


def test_keys_tell_apart_what_their_features_do():
    world = grid(3, 3)
    triples = world.sampled(2)
    pair, t = np.nonzero(world.rows())
    s, a = np.divmod(pair, 4)
    step = triples.codes[t] - triples.codes[s]
    features = features_of(triples, pair, t)
    names = [name for name in features if name.split()[0] == "change" or name == "action"]
    key = keyed(features, tuple(names), len(pair))
    slow = {x: i for i, x in enumerate(sorted({(a, *d) for a, d in zip(a, map(tuple, step))}))}  # noqa: B905
    assert len(np.unique(key)) == len(slow)
    for i, j in itertools.combinations(range(0, len(key), 7), 2):
        same = a[i] == a[j] and (step[i] == step[j]).all()
        assert (key[i] == key[j]) == same


def test_what_was_held_out_is_as_likely_as_a_mixture_says():
    """Most rewards are near what a rule says, some anywhere within the spread: the best of both."""
    search = Search(grid(4, 4).sampled(3, noise=0.2))
    error = search.spread * np.random.default_rng(1).standard_t(2, len(search.seen.mean))
    logs = search._likelihood(error)
    squares = (error**2 + search.seen.square) / search.spread**2
    slow = {}
    for wide, odd in itertools.product(SIGMAS.tolist(), EPSILONS.tolist()):
        near = np.exp(-0.5 * np.minimum(squares / wide**2, 1400.0)) / wide
        slow[wide, odd] = np.log((1 - odd) * near + odd * np.exp(-0.5 * squares))
    best = max(slow, key=lambda key: slow[key] @ search.seen.weight)
    assert np.allclose(logs, slow[best] * search.seen.weight)


def naive_judge(search, chain, by):
    """Errors and levels by the tables of other folds, one fold and one level at a time."""
    seen, tolerance = search.seen, EXACT * search.spread
    error, level = seen.mean.copy(), np.full(len(seen.mean), -1)
    for fold, (depth, names) in itertools.product(range(FOLDS), enumerate(chain)):
        out, key = search.fold[by] == fold, keyed(search.features, names, len(error))
        for i in np.flatnonzero(out):
            met = ~out & (key == key[i])
            if met.any():
                error[i] = seen.mean[i] - valued(seen.mean[met], seen.weight[met], tolerance)
                level[i] = depth
    return error, level


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("by", [0, 1])
def test_held_out_triples_are_judged_by_tables_of_other_folds(noise, by):
    search = Search(grid(5, 5).walked(400, noise=noise))
    chain = ((), ("action",), ("action", "next state"))
    coarser = search.judge(Shape(chain[:2]))
    judged = search.judge(Shape(chain), coarser)
    error, level = naive_judge(search, chain, by)
    assert np.array_equal(judged.level[by], level)
    assert np.allclose(judged.error[by], error, rtol=1e-12, atol=1e-12)
    whole = Search(search.triples).judge(Shape(chain))
    assert np.array_equal(whole.error, judged.error)
    assert judged.logs[by].sum() == pytest.approx(naive_likelihood(search, error), rel=1e-9)


def naive_likelihood(search, error):
    """The highest on the grid of sigmas and epsilons, all of it tried."""
    square = (error**2 + search.seen.square) / search.spread**2
    slab = -0.5 * square
    found = []
    for sigma, epsilon in itertools.product(SIGMAS, EPSILONS):
        spike = np.maximum(slab / sigma**2, -690.0) - np.log(sigma)
        logs = np.logaddexp(np.log1p(-epsilon) + spike, np.log(epsilon) + slab)
        found.append(float(logs @ search.seen.weight))
    return max(found)


def test_votes_find_what_more_than_half_agree_on():
    rng = np.random.default_rng(5)
    for _ in range(200):
        many = int(rng.integers(4, 40))
        key, fold = rng.integers(0, 3, many), rng.integers(0, 2, many)
        y, weight = rng.integers(0, 3, many) * 1.0, rng.uniform(0.5, 2.0, many)
        value, rank = np.tile(y, (2, 1)), np.tile(y.astype(np.int64), (2, 1))
        for way in (speak, plain(speak)):
            told, level = np.full(many, 7.0), np.full(many, -1)
            way(fold, key, 3, value, rank, weight, 0, told, level)
            for i in range(many):
                others = (fold != fold[i]) & (key == key[i])
                if others.any():
                    said = valued(y[others], weight[others], 1e-9)
                    assert told[i] == pytest.approx(said, abs=1e-12)
                    assert level[i] == 0
                else:
                    assert (told[i], level[i]) == (7.0, -1)
