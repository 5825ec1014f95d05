"""Judges: how far predictions are off, where they fail, and who is like nobody."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import gim
from gim.belief.certificate.dynamics import WORTH, dynamics, kinds
from gim.belief.certificate.judges import BLANKS, Curve, Judges, blank_likelihoods
from tests.certificates import belief_in, facts
from tests.naive_certificate import believed


def world(S, A, n0, n, seed=0, spread=0.3):
    """Predictions q, rows p ~ Dirichlet(n0 q) and counts of n visits each, [S, A, S]."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(S, spread), (S, A))
    n0, n = np.broadcast_to(n0, (S, A)), np.broadcast_to(n, (S, A))
    p = np.array(
        [[rng.dirichlet(np.maximum(n0[s, a] * q[s, a], 1e-12)) for a in range(A)] for s in range(S)]
    )
    N = np.array([[rng.multinomial(n[s, a], p[s, a]) for a in range(A)] for s in range(S)])
    return q, p, N.astype(float)


def judges_of(q, N, held=None):
    belief = believed(N, 10.0, q, held)
    return Judges(belief, np.ones(N.shape[:2], bool))


def test_what_judges_say_agrees_with_loops():
    q, _, N = world(6, 5, 20.0, np.random.default_rng(1).integers(0, 5, (6, 5)))
    judges = judges_of(q, N)
    F = np.random.default_rng(2).normal(size=(6, 3))
    x, spread, noise = judges.off(F)
    assert judges.pairs.tolist() == np.flatnonzero(N.sum(axis=2)).tolist()
    for k, (s, a) in enumerate(np.argwhere(N.sum(axis=2) > 0)):
        for j in range(3):
            f = F[:, j]
            outcomes = np.repeat(f, N[s, a].astype(int))
            told = q[s, a] @ f**2 - (q[s, a] @ f) ** 2
            assert x[k, j] == pytest.approx(outcomes.mean() - q[s, a] @ f)
            assert spread[k, j] == pytest.approx(told)
            scatter = ((outcomes - outcomes.mean()) ** 2).sum()
            assert noise[k, j] == pytest.approx((10 * told + scatter) / (9 + len(outcomes)))


@pytest.mark.parametrize("n0", [4.0, 60.0])
def test_the_worth_of_predictions_is_found(n0):
    q, _, N = world(20, 20, n0, 40, seed=3)
    judges = judges_of(q, N)
    found = judges.curve(np.random.default_rng(0).normal(size=(20, 8))).n0(judges.evidence)
    assert n0 / 1.6 < np.median(found) < 1.6 * n0


def test_predictions_worth_next_to_nothing_are_silent():
    """Though every pair has judges of its kind, and no prediction fails outright."""
    for n0, silent in ((0.4 * WORTH, True), (12 * WORTH, False)):
        q, _, N = world(20, 20, n0, 40, seed=3)
        said = kinds(judges_of(q, N), np.random.default_rng(0))
        assert said.unlike.mean() < 0.1
        assert (said.silent == silent).mean() > 0.9


def test_an_error_is_seen_along_the_function_that_it_matters_for():
    q, _, _ = world(10, 20, 1.0, 1, seed=4)
    q = 0.9 * q + 0.01
    p = q.copy()
    p[:, :, 0] += 0.1
    p[:, :, 1:] *= (1 - p[:, :, :1]) / p[:, :, 1:].sum(axis=2, keepdims=True)
    rng = np.random.default_rng(5)
    N = np.array([[rng.multinomial(200, row) for row in rows] for rows in p])
    judges = judges_of(q, N.astype(float))
    along, beside = np.zeros((10, 1)), np.zeros((10, 1))
    along[0], beside[8:, 0] = 1.0, (1.0, -1.0)
    worth = [np.median(judges.curve(f).n0(judges.evidence)) for f in (along, beside)]
    assert 4 * worth[0] < worth[1]


def test_less_evidence_is_worth_less():
    poor = np.arange(16) < 8
    n0 = np.where(poor, 1.0, 100.0)[:, None]
    q, _, N = world(16, 30, n0, np.where(poor, 2, 30)[:, None], seed=6)
    judges = judges_of(q, N)
    found = judges.curve(np.random.default_rng(0).normal(size=(16, 8))).n0(judges.evidence)
    assert 2.5 * found[poor].max() < found[~poor].min()


def test_the_mean_worth_is_that_of_the_errors():
    own, weight = np.array([np.inf, np.inf, 1.0]), np.array([0.2, 0.6, 0.2])
    curve = Curve(np.array([2.0, 50.0, 9.0]), np.array([np.inf, 1.0, np.inf]), own, weight)
    e = np.array([1.0, 10.0])
    by_hand = 1 / (0.25 / 2 + 0.75 * (1 / 50 + 1 / e))
    assert np.allclose(curve.n0(e), by_hand)
    drawn = curve.drawn(e, 4000, np.random.default_rng(0))
    assert set(np.round(drawn[:, 0], 6)) == {2.0, round(1 / (1 / 50 + 1), 6)}
    assert np.allclose((1 / drawn).mean(axis=0), 1 / by_hand, rtol=0.05)
    drawn = curve.drawn(e, 4000, np.random.default_rng(0), np.array([0.0, 5.0]))
    assert round(1 / (1 / 9 + 1), 6) in np.round(drawn[:, 0], 6)
    assert round(1 / (1 / 9 + 1 / 6), 6) in np.round(drawn[:, 1], 6)


def test_where_judges_rule_even_curves_out_all_curves_go_on():
    """A hundred judges may leave nothing of them, not even the smallest number there is."""
    curve = Curve(
        np.array([2.0, 9.0]), np.full(2, np.inf), np.array([np.inf, 1.0]), np.array([0.0, 1.0])
    )
    assert curve.even.tolist() == [0.0, 1.0]
    assert (curve.drawn(np.ones(3), 5, np.random.default_rng(0)) == 9.0).all()


def test_pairs_met_seldom_may_be_predicted_worse():
    """Half of the pairs were met twice and their predictions are worth next to nothing."""
    rare = np.random.default_rng(8).random((20, 20)) < 0.5
    q, _, N = world(20, 20, np.where(rare, 3.0, 400.0), np.where(rare, 3, 200), seed=9)
    judges = judges_of(q, N)
    curve = judges.curve(np.random.default_rng(0).normal(size=(20, 8)))
    e, n = judges.evidence.ravel(), N.sum(axis=2).ravel()
    drawn = np.median(curve.drawn(e, 400, np.random.default_rng(1), n), axis=0)
    assert np.median(drawn[rare.ravel()]) < 12
    assert np.median(drawn[~rare.ravel()]) > 60
    assert curve.even[np.isfinite(curve.own)].sum() == 0


def broken(S=12, A=10, n=3):
    """All pairs as predicted, but for those of the last state, which lead where none should."""
    q, _, N = world(S, A, 200.0, n, seed=7)
    q[:, :, -1], N[-1] = 0.0, 0.0
    q /= q.sum(axis=2, keepdims=True)
    N[:-1, :, -1] = 0.0
    N[-1, : A // 2, -1] = n
    return q, N


def test_failures_are_found_where_they_are():
    q, N = broken()
    judges = judges_of(q, N)
    n0 = np.full((12, 10), 30.0)
    found = judges.failures(n0)
    last = judges.states == 11
    assert (found.at[last] > 0.9).all()
    assert found.at[~last].mean() < 0.02
    assert found.share == pytest.approx(found.at.mean(), abs=0.02)
    doubts = judges.doubts(found)
    assert (doubts[11, 5:] > 0.6).all()  # never met, but of a state where predictions fail
    assert (doubts[:11] < 0.1).all()  # though their actions fail there


def test_an_action_that_fails_everywhere_is_found_out():
    q, _, N = world(12, 10, 200.0, 3, seed=7)
    q[:, 2, 5], N[:, 2] = 0.0, 0.0
    q /= q.sum(axis=2, keepdims=True)
    N[:8, 2, 5] = 3.0  # in the other states it was never tried
    judges = judges_of(q, N)
    doubts = judges.doubts(judges.failures(np.full((12, 10), 30.0)))
    assert (doubts[8:, 2] > 0.2).all()
    assert (np.delete(doubts, 2, axis=1) < 0.15).all()


def test_a_single_failure_says_nothing_of_itself():
    q, _, N = world(12, 10, 200.0, 3, seed=8)
    q[4, 3] = np.eye(12)[0]
    N[4, 3] = 6 * np.eye(12)[1]
    judges = judges_of(q, N)
    found = judges.failures(np.full((12, 10), 30.0))
    doubts = judges.doubts(found)
    assert found.at[judges.pairs == 43] > 0.9
    assert doubts[4, 3] < 0.05 < doubts[4, 2]


def test_who_has_no_judge_of_its_kind():
    q, _, N = world(6, 5, 20.0, 2)
    N[2], N[:, 4] = 0.0, 0.0
    N[0, 1:], N[1:, 1] = 0.0, 0.0  # one pair met in state 0, none of action 1 elsewhere
    alike = judges_of(q, N).alike()
    assert not alike[[0, 2]].any()
    assert not alike[:, [1, 4]].any()
    assert alike[1:][[0, 2, 3, 4]][:, [0, 2, 3]].all()


def test_knowing_nothing_is_worth_what_makes_the_counts_likely():
    certain = np.zeros((10, 3, 10))
    certain[:, :, 0] = 20.0
    spread = np.random.default_rng(0).multinomial(20, np.full(10, 0.1), (10, 3)).astype(float)
    q = np.full((10, 3, 10), 0.1)
    assert judges_of(q, certain).blank() == BLANKS[0]
    assert judges_of(q, spread).blank() == BLANKS[-1]
    judges = judges_of(q, spread)
    found = blank_likelihoods(judges.all.data, judges.all.indptr.astype(np.int64), 10, 2.5)
    for i, N in enumerate(spread.reshape(30, 10)):
        each = (gammaln(0.25 + N) - gammaln(0.25)).sum() + gammaln(2.5) - gammaln(22.5)
        assert found[i] == pytest.approx(each, rel=1e-9)


def test_bounds_on_pairs_rest_on_either_witness_those_on_returns_on_the_lesser():
    """What judges say of all directions is one number here, below all that values let expect."""
    mdp = gim.make("shared_factors", S=20, A=12, J=2, seed=1)
    given = facts(mdp, belief_in(mdp, 20))
    low, always = np.array([0.3]), np.array([np.inf])
    said = kinds(given.judges, np.random.default_rng(0))
    said = said._replace(curve=Curve(low, always, always, np.ones(1)))
    drawn = [
        dynamics(given._replace(ruled=ruled), said, 400, np.random.default_rng(1))
        for ruled in (False, True)
    ]
    by_values = drawn[0].along.n0[:, 0] > 0.3 + 1e-12
    assert (drawn[0].along.n0[by_values] > 0.3 + 1e-12).all()
    assert 0.4 < by_values.mean() < 0.6
    for found in (drawn[0].returns, drawn[0].everywhere, drawn[1].along, drawn[1].returns):
        assert np.allclose(found.n0, 0.3)
