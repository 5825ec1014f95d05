"""Analogy: its estimate is unbiased, its candidates find structure, and it knows when not to."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import gim
from gim.analogy.analogy import Analogy, hardly_tried
from gim.analogy.candidates import Data, suited
from gim.analogy.candidates.base import FAMILIES
from gim.belief.evidence import evidence
from gim.model.counts import dense, new_counts
from tests.sampled_counts import frame_of, sampled


def test_related_dynamics_are_inferred_better_than_by_the_marginal():
    mdp = gim.make("shared_factors", S=30, A=20, J=2, seed=5)
    counts, N, n = sampled(mdp, 5)
    prior = Analogy()(counts, frame_of(mdp), np.random.default_rng(0))
    marginal = Data(N, n, mdp.available).mu
    error, pooled = (
        ((q - mdp.transitions) ** 2).sum(axis=2).mean()
        for q in (dense(prior.rows(), prior.n0.shape), marginal)
    )
    assert error < 0.5 * pooled
    # The weight says what the prediction is worth: an error like that of n0 visits.
    noise = (1 - (mdp.transitions**2).sum(axis=2)).mean()
    assert 0.3 < prior.n0.max() * error / noise < 3
    assert prior.doubt.max() < 0.1


def test_unrelated_dynamics_get_little_weight():
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.full(12, 0.1), (12, 8))
    mdp = gim.TabularMDP(P, rng.random((12, 8)))
    counts, _, _ = sampled(mdp, 30)
    prior = Analogy()(counts, frame_of(mdp), np.random.default_rng(0))
    seen = evidence(counts, prior, mdp.terminal)
    assert (seen.n - counts.n).mean() < 2


def test_it_is_deterministic_and_silent_at_first():
    mdp = gim.make("shared_factors", S=8, A=6, seed=3)
    counts, _, _ = sampled(mdp, 4)
    one, two = (Analogy()(counts, frame_of(mdp), np.random.default_rng(7)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    nothing = Analogy()(new_counts(8, 6), frame_of(mdp), np.random.default_rng(0))
    assert not nothing.n0.any()


def test_analogy_pays_where_dynamics_are_related():
    mdp = gim.make("shared_factors", S=20, A=20, J=2, seed=11)
    plain = gim.run("ucbvi", mdp, episodes=2000, seed=1)
    informed = gim.run("analogist", mdp, episodes=2000, seed=1)
    assert informed.score > plain.score + 0.03


def test_a_family_is_just_those_candidates():
    empty = Data(np.zeros((20, 16, 20)), np.zeros((20, 16)), np.ones((20, 16), bool))
    names = {family: {str(each) for each in suited(empty, family)} for family in FAMILIES}
    means = {"marginal", "means", "means:by=action", "means:by=both"}
    assert names["marginal"] == {"marginal"}
    assert names["means"] == means
    assert names["all"] > means


def test_actions_that_were_hardly_tried_are_doubted():
    data = SimpleNamespace(A=3, facts=SimpleNamespace(action_variables=None))
    split = SimpleNamespace(data=data, pairs=np.array([0, 3, 6, 1]))
    assert hardly_tried(split).tolist() == [0.5 / 16, 0.5 / 4, 0.5]
    data.facts = SimpleNamespace(action_variables=gim.Variables([[0], [1], [2]], ordinal=True))
    assert hardly_tried(split).tolist() == [0.0, 0.0, 0.0]  # amounts: others tell what they do
