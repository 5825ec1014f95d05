"""Errors that pairs have in common, and ways that nobody predicted."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from gim._compile.jit import plain
from gim.belief.certificate.judges import CURVES, worth_likelihoods
from gim.belief.certificate.shared import (
    SHARES,
    SIZES,
    drawn,
    groupings,
    left_open,
    modes,
    shared_along,
    shared_distance,
    slab_odds,
)
from gim.belief.certificate.surprises import WIDTHS, surprises

S, A = 24, 8
NONE = np.zeros((1, A, 1))  # no luck that all visits of an action share


def judges_of(P, q, visits, seed):
    """Every pair is a judge, met so many times, of whom q [S*A, S] was predicted."""
    rng = np.random.default_rng(seed)
    N = np.stack([rng.multinomial(visits, p) for p in P]).astype(float)
    rows, n = sparse.csr_array(q), N.sum(axis=1)

    def off(F):
        spread = q @ F**2 - (q @ F) ** 2
        return N @ F / n[:, None] - q @ F, spread, spread

    pairs = np.arange(S * A)
    return SimpleNamespace(
        S=S, A=A, pairs=pairs, actions=pairs % A, n=n, N=sparse.csr_array(N), held=rows, off=off
    )  # fmt: skip


def only(judges, some):
    """Leave out all judges but some."""
    for name in ("pairs", "actions", "n"):
        setattr(judges, name, getattr(judges, name)[some])


def world(seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(S, 0.5), S * A), np.linspace(0, 1, S)[:, None]


@pytest.mark.parametrize("visits", [2, 4])
def test_errors_of_a_state_are_found_though_no_pair_shows_them(visits):
    """In a quarter of the states the truth is shifted to the best next state, in the others not."""
    q, F = world(1)
    P, wrong = q.copy(), np.arange(S * A) // A < S // 4
    P[wrong] *= 0.4
    P[wrong, -1] += 0.6
    judges, n0 = judges_of(P, q, visits, 2), np.full(S * A, 100.0)
    rng = np.random.default_rng(3)
    groups = groupings(judges, judges.n.astype(int), judges.held, F)
    found = shared_along(judges, n0, judges.held, F, groups, 200, rng).of(np.arange(S * A))[:, :, 0]
    true = ((P - q) @ F).ravel()
    assert np.abs(found.mean(axis=0) - true)[wrong].mean() < 0.5 * true[wrong].mean()
    assert np.abs(found.mean(axis=0))[~wrong].mean() < 0.2 * true[wrong].mean()
    grouped = shared_distance(judges, n0, judges.held, groups, 200, rng)
    far = grouped._replace(luck=NONE).of(np.arange(S * A))[:, :, 0].mean(axis=0)
    assert far[wrong].mean() > 3 * far[~wrong].mean()


def test_where_predictions_are_right_only_the_visits_of_an_action_leave_something_open():
    q, F = world(4)
    judges, n0 = judges_of(q, q, 3, 5), np.full(S * A, 100.0)
    groups = groupings(judges, judges.n.astype(int), judges.held, F)
    found = shared_along(judges, n0, judges.held, F, groups, 200, np.random.default_rng(6))
    sd = math.sqrt(float(np.mean(judges.off(F)[1])))
    grouped = found._replace(luck=NONE)
    assert np.sqrt(np.mean(grouped.of(np.arange(S * A)) ** 2)) < 0.1 * sd
    own = found.luck * found.open[:A]
    assert np.sqrt(np.mean(own**2)) == pytest.approx(sd / math.sqrt(3 * S), rel=0.2)


def test_an_error_that_all_visits_of_an_action_share_is_allowed_for():
    """All states are alike, and each pair is predicted from the others of its action.

    Whatever luck the few visits of an action had together, no residual shows it, and actions that
    were played often tell that predictions are right.
    """
    kept, without = [], []
    action, F = np.arange(S * A) % A, np.linspace(0, 1, S)[:, None]
    seldom = np.arange(A) >= A - 2
    for seed in range(20):
        rng = np.random.default_rng(seed)
        P = rng.dirichlet(np.full(S, 0.5), A)
        n = np.where(seldom, 1, 100)[action]
        N = rng.multinomial(n, P[action]).astype(float)
        of = N.reshape(S, A, S).sum(axis=0)
        q = (of[action] - N) / (of.sum(axis=1)[action] - n)[:, None]
        spread = np.maximum(q @ F**2 - (q @ F) ** 2, 0.0)
        residual = N @ F / n[:, None] - q @ F
        judges = judges_of(P[action], q, 1, 0)
        judges.N, judges.n = sparse.csr_array(N), n.astype(float)
        judges.off = lambda F, x=residual, spread=spread: (x, spread, spread)
        groups = groupings(judges, n, judges.held, F)
        found = shared_along(judges, np.full(S * A, 200.0), judges.held, F, groups, 200, rng)
        off = np.abs(of / of.sum(axis=1, keepdims=True) @ F - P @ F)[seldom, 0]
        for each, tally in ((found, kept), (found._replace(luck=NONE), without)):
            bound = np.quantile(np.abs(each.of(np.arange(A))[:, seldom, 0]), 0.9, axis=0)
            tally.append(off <= bound)
    assert np.mean(kept) > 0.8
    assert np.mean(without) < 0.5


def test_visits_tell_of_a_pair_as_far_as_they_could_have_shown_its_error():
    """Pair by pair: a judge counts by the spread of its outcomes, against that of the pair."""
    q, F = world(3)
    q[::5] = np.eye(S)[np.arange(len(q[::5])) % S]  # some are certain
    judges = judges_of(q, q, 3, 4)
    wide = np.maximum(q @ F**2 - (q @ F) ** 2, 0.0)
    some = np.arange(S * A) % 7 < 4
    some[judges.actions == 2] = False  # an action without judges
    judges.pairs, judges.actions, judges.n = (
        judges.pairs[some],
        judges.actions[some],
        judges.n[some],
    )
    found = left_open(judges, wide)[:, 0]
    for i in range(S * A):
        visits = 0.0
        for k, n in zip(judges.pairs, judges.n, strict=True):
            if k % A == i % A:
                visits += n * (1.0 if wide[k, 0] >= wide[i, 0] else wide[k, 0] / wide[i, 0])
        assert found[i] == pytest.approx(math.sqrt(wide[i, 0] / max(visits, 1.0)), abs=1e-12)


def test_what_was_seen_at_an_edge_says_little_of_pairs_away_from_it():
    """A hundred visits from which all moves end in state 0, and none from elsewhere."""
    F = np.linspace(0, 1, S)[:, None]
    q = np.zeros((S * A, S))
    q[:, 0] = 1.0
    q[-A:] = 1.0 / S
    judges = judges_of(q, q, 100, 4)
    seen = judges.pairs < (S - 1) * A
    judges.pairs, judges.actions, judges.n = (
        judges.pairs[seen],
        judges.actions[seen],
        judges.n[seen],
    )
    wide = np.maximum(q @ F**2 - (q @ F) ** 2, 0.0)
    found = left_open(judges, wide)
    assert not found[seen].any()
    assert np.array_equal(found[~seen], np.sqrt(wide[~seen]))  # as after a single visit


def test_shared_errors_are_in_the_units_of_the_function():
    q, F = world(1)
    judges, n0 = judges_of(np.roll(q, 1, axis=0), q, 4, 2), np.full(S * A, 100.0)
    groups = groupings(judges, judges.n.astype(int), judges.held, F)
    found = [
        shared_along(judges, n0, judges.held, scale * F, groups, 50, np.random.default_rng(3)).u
        for scale in (1.0, 1000.0)
    ]
    assert any(one.any() for one in found[0])
    for one, large in zip(*found, strict=True):
        assert one.shape[2] == 1
        assert np.allclose(1000 * one, large)


def test_a_group_is_of_those_that_lead_to_the_same_state():
    rows = sparse.csr_array([[0.2, 0.5, 0.3], [0.0, 0.0, 0.0], [0.0, 0.1, 0.9]])
    assert modes(rows).tolist() == [1, 3, 2]


def test_shared_errors_are_drawn_as_bayes_has_them():
    """One group far off among many that are not: its u has mean keep X if it is there."""
    X, v = np.zeros((30, 1)), np.full((30, 1), 0.01)
    X[0] = 1.0
    found = drawn([np.arange(30)[:, None]], [(X, v)], 4000, np.random.default_rng(0)).u[0][:, :, 0]
    assert (found[:, 0] != 0).mean() > 0.95
    assert found[:, 0].mean() == pytest.approx(0.97, abs=0.05)
    assert (found[:, 1:] != 0).mean() < 0.15
    share, size = SHARES[:1], SIZES[-1:]
    odds = slab_odds(X, v, share, size)[0, :, 0]
    density = [np.exp(-0.5 * X[:, 0] ** 2 / w) / np.sqrt(w) for w in (0.01 + size**2, 0.01)]
    assert np.allclose(np.exp(odds), share / (1 - share) * density[0] / density[1])


def test_groupings_are_picked_as_bayes_has_them():
    """Each by how much likelier its means are if a share of its groups errs by some size."""
    means = [
        (np.array([[0.6], [0.1], [0.0]]), np.full((3, 1), 0.04)),
        (np.array([[0.4], [0.3]]), np.full((2, 1), 0.03)),
    ]
    likely = []
    for X, v in means:
        total = 0.0
        for share in SHARES:
            for size in SIZES:
                null, wide = (np.exp(-0.5 * X**2 / w) / np.sqrt(w) for w in (v, v + size**2))
                total += float(np.prod(1 - share + share * wide / null))
        likely.append(total)
    groups = [np.arange(len(X))[:, None] for X, _ in means]
    which = drawn(groups, means, 20_000, np.random.default_rng(1)).which
    assert (which == 0).mean() == pytest.approx(likely[0] / sum(likely), abs=0.02)
    assert 0.1 < likely[0] / sum(likely) < 0.9


def test_worth_is_judged_as_by_hand():
    rng = np.random.default_rng(0)
    x, spread, noise = rng.normal(size=(3, 4, 2)) ** 2
    e, n, floor = rng.random(4) * 20, np.arange(4.0), np.full(2, 1e-9)
    arguments = (x, spread, noise, floor, e, n, CURVES[::17])
    found = worth_likelihoods(*arguments)
    assert np.allclose(found, plain(worth_likelihoods)(*arguments))
    for score, (top, slope, own) in zip(found, CURVES[::17], strict=True):
        total = 0.0
        for k in range(4):
            n0 = 1 / (1 / top + 1 / (slope * e[k]) + 1 / (own * (n[k] + 1)))
            v = np.maximum(spread[k] / (n0 + 1) + noise[k], floor)
            total -= 0.5 * np.mean(np.log(v) + x[k] / v)
        assert score == pytest.approx(total)


@pytest.mark.parametrize("width", [0.0, 0.12])
def test_a_way_to_a_treasure_is_found_where_there_is_one(width):
    """One action of each state leads to the last state, which is predicted of none."""
    q, _ = world(7)
    q[:, -1] = 0.0
    q /= q.sum(axis=1, keepdims=True)
    P, special = q.copy(), np.arange(S * A) % A == 3
    P[special] *= 1 - width
    P[special, -1] += width
    judges = judges_of(P, q, 40, 8)
    found = surprises(judges, np.full(S * A, 50.0), leak=0.01)
    if not width:
        assert not found.goals.size
        return
    assert found.goals.tolist() == [S - 1]
    assert found.width[0] == WIDTHS[2]
    assert found.chance[0][special].mean() > 0.9
    assert found.chance[0][~special].mean() < 0.01
    ways = found.drawn(50, np.random.default_rng(9))
    assert ways.shape == (50, 1, S * A)
    assert set(np.unique(ways)) == {0.0, WIDTHS[2]}


def test_visits_of_a_goal_are_beta_binomial():
    """The likelihood that goals are weighed by, against its textbook form."""
    from gim.belief.certificate.surprises import _likelihoods

    k, n, n0, q = 3.0, 10.0, 5.0, 0.2
    a, b = n0 * q, n0 * (1 - q)

    def beta(x, y):
        return gammaln(x) + gammaln(y) - gammaln(x + y)

    expected = beta(a + k, b + n - k) - beta(a, b)
    found = _likelihoods(np.array([[k]]), np.array([[n]]), n0, np.array([[q]]))
    assert found[0, 0] == pytest.approx(expected)
