"""Analogy: its estimate is unbiased, its candidates find structure, and it knows when not to."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.inference.analogy import Analogy, _estimate
from gim.inference.base import Frame
from gim.inference.candidates import Data, _shared, candidates, valid
from gim.model.counts import new_counts

CANDIDATES = candidates(20, 16)


def sampled(mdp, visits, seed=0):
    """Counts of Poisson many samples of each pair."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(visits, (mdp.S, mdp.A))
    N = np.array(
        [
            [rng.multinomial(n[s, a], mdp.transitions[s, a]) for a in range(mdp.A)]
            for s in range(mdp.S)
        ]
    )
    counts = new_counts(mdp.S, mdp.A)
    counts.n[:], counts.next[:], counts.R[:] = n, N.ravel(), n * mdp.rewards
    return counts, N.astype(float), n.astype(float)


def frame_of(mdp):
    return Frame(mdp.available, mdp.terminal, mdp.reward_range)


def test_tau2_is_unbiased():
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    for n in (2, 5):
        N = rng.multinomial(n, p, size=200_000).astype(float)[None]
        counts = np.full((1, 200_000), float(n))
        found = _estimate(N, counts, counts > 0, np.broadcast_to(q, N.shape))
        assert abs(found.tau2 - ((p - q) ** 2).sum()) < 5 * found.error


def test_alternating_least_squares_agrees_with_loops():
    rng = np.random.default_rng(2)
    S, A, d, rank, ridge = 6, 5, 4, 2, 1.5
    n = rng.poisson(3, (S, A)).astype(float)
    Y = rng.normal(size=(S, A, d)) * n[:, :, None]
    guess = (Y / (n + ridge)[:, :, None]).reshape(S, -1)
    U = np.linalg.eigh(guess @ guess.T)[1][:, : -rank - 1 : -1] * np.sqrt(S)
    for _ in range(6):
        V = np.zeros((A, rank, d))
        for a in range(A):
            gram = sum(n[s, a] * np.outer(U[s], U[s]) for s in range(S)) + ridge * np.eye(rank)
            V[a] = np.linalg.solve(gram, sum(np.outer(U[s], Y[s, a]) for s in range(S)))
        level = ridge * np.trace(np.mean([v @ v.T for v in V], axis=0)) / rank
        for s in range(S):
            gram = sum(n[s, a] * V[a] @ V[a].T for a in range(A)) + level * np.eye(rank)
            U[s] = np.linalg.solve(gram, sum(V[a] @ Y[s, a] for a in range(A)))
    expected = np.einsum("sr,ard->sad", U, V)
    assert np.allclose(_shared(Y, n, rank, ridge), expected, atol=1e-10)


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_candidate_gives_distributions_and_uses_the_others_only(name):
    mdp = gim.make("shared_factors", S=8, A=6, seed=3)
    _, N, n = sampled(mdp, 4)
    n_out = n.copy()
    n_out[2, 3] = 0
    q = valid(CANDIDATES[name](Data(N, n_out, mdp.available, 2.0)), mdp.available)
    assert np.allclose(q.sum(axis=2), 1)
    assert q.min() >= 0
    changed = N.copy()
    changed[2, 3] = np.roll(changed[2, 3], 1) + 5
    again = valid(CANDIDATES[name](Data(changed, n_out, mdp.available, 2.0)), mdp.available)
    assert np.array_equal(q, again)  # a held-out pair leaves no trace


def test_related_dynamics_are_inferred_better_than_by_the_marginal():
    mdp = gim.make("shared_factors", S=30, A=20, J=2, seed=5)
    counts, N, n = sampled(mdp, 5)
    prior = Analogy()(counts, frame_of(mdp), np.random.default_rng(0))
    marginal = valid(CANDIDATES["marginal"](Data(N, n, mdp.available, 2.0)), mdp.available)
    error, pooled = (((q - mdp.transitions) ** 2).sum(axis=2).mean() for q in (prior.q, marginal))
    assert error < 0.5 * pooled
    # The weight says what the prediction is worth: an error like that of n0 visits.
    noise = (1 - (mdp.transitions**2).sum(axis=2)).mean()
    assert 0.3 < prior.n0.max() * error / noise < 3


def test_unrelated_dynamics_get_little_weight():
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.full(12, 0.1), (12, 8))
    mdp = gim.TabularMDP(P, rng.random((12, 8)))
    counts, _, _ = sampled(mdp, 30)
    prior = Analogy()(counts, frame_of(mdp), np.random.default_rng(0))
    assert prior.n0.max() < 2


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
