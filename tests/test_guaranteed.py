"""Certificates of the guaranteed kind: interval iteration, and quantiles of the judges."""

from __future__ import annotations

import numpy as np
import pytest
from gim.belief.certificate.dynamics import predictions
from gim.belief.certificate.shared import left_open

import gim
from gim.analogy.base import Frame
from gim.analogy.prior import no_prior
from gim.analogy.worth import strata_of
from gim.belief.certificate.guaranteed import enclosed, judged_bounds, one_mode, rewards_within
from gim.belief.knowledge import knowledge_of
from gim.model.counts import new_counts
from tests import naive_certificate as naive
from tests.certificates import belief_in, certificate_of, facts
from tests.sampled_counts import sampled


@pytest.mark.parametrize("least", [0.0, -0.7])
def test_interval_iteration_agrees_with_loops(least):
    mdp = gim.make("shared_factors", S=6, A=3, seed=4, horizon=5)
    mdp = mdp.with_(rewards=mdp.rewards + least)
    counts, N, _ = sampled(mdp, 300, 1)
    counts.n[0, 0] = counts.n[1, 1] = 0
    N[0, 0] = N[1, 1] = 0
    counts.n[2, 0], N[2, 0] = 1, np.eye(6)[0]
    counts.next[:] = N.ravel()
    counts.R[:], counts.R2[:] = counts.n * mdp.rewards, counts.n * mdp.rewards**2
    belief = knowledge_of(counts, np.zeros(6, bool), no_prior(6, 3))
    given = facts(mdp, belief)
    least, most = enclosed(given, 0.9)
    visits = np.maximum(counts.n, 1)
    L = np.log(12 * 6 * 3 * 5 * visits * (visits + 1) / 0.1)
    within = rewards_within(counts, given.frame, L)
    slow = naive.enclosed(counts, N, given.frame, given.policy, 0.9, within)
    assert np.allclose(least, slow[0], atol=1e-9)
    assert np.allclose(most, slow[1], atol=1e-9)


@pytest.mark.parametrize("visits", [30, 30_000])
def test_guarantees_enclose_the_truth_and_shrink(visits):
    for seed in range(4):
        mdp = gim.make("shared_factors", S=5, A=3, seed=seed, horizon=4)
        found = certificate_of(mdp, visits, kind="guaranteed", seed=seed)
        assert found.lower <= mdp.policy_return(found.policy)
        assert found.upper >= mdp.optimal_return()
        assert found.loss == pytest.approx(found.upper - found.lower)
        assert found.useless == (visits == 30)
        assert visits == 30 or found.loss < 0.5 * found.expected


def test_rewards_are_enclosed_by_what_was_paid():
    counts = new_counts(3, 1)
    counts.n[:] = [[4], [4], [0]]
    counts.R[:], counts.R2[:] = [[2.0], [2.0], [0.0]], [[1.0], [2.0], [0.0]]
    frame = Frame(np.ones((3, 1), bool), np.zeros(3, bool), (-1.0, 5.0))
    low, high = rewards_within(counts, frame, np.full((3, 1), 0.5))
    assert (low[2, 0], high[2, 0]) == (-1, 5)
    pooled = 4 * 0.25 / 8  # variances 0 and 1/4, four visits each
    assert high[0, 0] == pytest.approx(0.5 + np.sqrt(pooled / 5 / 4) + 6 * 0.5 / 12)
    assert high[1, 0] == pytest.approx(0.5 + np.sqrt((4 * 0.25 + pooled) / 5 / 4) + 6 * 0.5 / 12)
    counts.R2[1] = 1.0
    low, high = rewards_within(counts, frame, np.full((3, 1), 0.5))
    assert (low < high)[:2].all()  # six visits that paid as the first: another may not
    counts.n[:2], counts.R[:2], counts.R2[:2] = 60, 30.0, 15.0
    low, high = rewards_within(counts, frame, np.full((3, 1), 0.5))
    assert (low == high)[:2].all()


@pytest.mark.parametrize("share", [0.7, 0.9])
def test_one_mode_bounds_are_two_thirds_of_markovs_and_hold(share):
    rng = np.random.default_rng(0)
    n, sigma, tau = np.full(5000, 4.0), 1.0, 0.3
    true = tau * rng.normal(size=(5000, 1))
    x = true + sigma * rng.normal(size=(5000, 1)) / 2
    bound = one_mode(x, np.full((5000, 1), sigma**2), n, share)
    assert (np.abs(true) <= bound).mean() >= share
    markov = tau / np.sqrt(1 - share)
    assert bound[0] < 0.9 * markov  # two thirds, and two standard errors
    assert bound[0] > (2 / 3 if share == 0.9 else 2 / np.sqrt(1.9) * np.sqrt(0.3)) * markov


def test_quantiles_of_judges_are_taken_by_evidence():
    """As they are, or in units of how far outcomes are predicted to spread: the larger one."""
    mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=2)
    given = facts(mdp, belief_in(mdp, 8))
    value, l1 = judged_bounds(given, np.zeros((24, 16), bool), 0.9)
    judges = given.judges
    x, spread, noise = judges.off(given.F)
    e = judges.evidence.ravel()
    _, of_judges, strata = strata_of(e, e[judges.pairs])
    for k in range(strata):
        here = np.flatnonzero(of_judges == k)
        asked = here[np.argsort(-judges.n[here], kind="stable")][:100]
        place = int(np.ceil((asked.size + 1) * 0.9)) - 1
        both = []
        for unit in (np.ones_like(spread), np.sqrt(spread + spread[here].mean(axis=0))):
            quantile = np.sort(np.abs(x / unit)[asked], axis=0)[place]
            mode = one_mode((x / unit)[here], (noise / unit**2)[here], judges.n[here], 0.9)
            both.append(np.minimum(quantile, mode) * unit[here])
        assert np.allclose(value[judges.pairs[here]], np.maximum(*both))
        assert (both[0] < both[1]).any()
        assert (both[1] < both[0]).any()
        p_hat, q = (each.toarray()[here] for each in (judges.N, judges.held))
        off = np.abs(p_hat / p_hat.sum(axis=1, keepdims=True) - q).sum(axis=1)
        first, left = np.isin(here, asked), 1 - q.max(axis=1)
        as_is, by_left = np.sort(off[first])[place], np.sort((off / left)[first])[place]
        assert np.allclose(l1[judges.pairs[here]], np.maximum(as_is, left * by_left))


def test_a_prediction_that_leaves_more_open_than_its_judges_is_further_off():
    """All is certain; of pairs that were never met the predictions are less so than of others."""
    S, A, rng = 12, 12, np.random.default_rng(3)
    p = np.eye(S)[rng.integers(0, S, (S, A))]
    met = rng.random((S, A)) < 0.6
    left = np.where(met, 0.002, 0.01)[:, :, None] * rng.uniform(1, 1.2, (S, A, 1))
    q = (1 - left) * p + left / S
    mdp = gim.TabularMDP(p, rng.random((S, A)), horizon=5)
    given = facts(mdp, naive.believed(3.0 * p * met[:, :, None], 10.0, q))
    _, l1 = judged_bounds(given, np.zeros((S, A), bool), 0.9)
    within = np.abs(p - q).sum(axis=2).ravel() <= l1 + 1e-12
    assert within[~met.ravel()].mean() >= 0.9
    assert l1.max() < 0.03


def test_where_rules_predict_the_luck_of_all_visits_of_an_action_is_allowed_for():
    mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=2)
    given = facts(mdp, belief_in(mdp, 8))
    nobody = np.zeros((24, 16), bool)
    without, _ = judged_bounds(given, nobody, 0.9)
    ruled, _ = judged_bounds(given._replace(ruled=True), nobody, 0.9)
    rows = predictions(given.belief.prior, given.judges)
    wide = np.maximum(rows @ given.F**2 - np.asarray(rows @ given.F) ** 2, 0.0)
    more = left_open(given.judges, wide)
    assert np.allclose(ruled - without, 2 / 3 / np.sqrt(0.1) * more)
    assert (more > 0).any()
