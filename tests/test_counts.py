"""Counts and known-ness against plain dictionaries; dense and sparse storage agree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gim
from gim._base.limits import REWARD
from gim._compile.jit import entry
from gim._compile.memory import COUNT
from gim.model import counts as module
from gim.model.counts import (
    count,
    counts_of,
    empirical,
    grown,
    new_counts,
    new_known,
    review,
    transitions,
    update_known,
)
from gim.testing.agents import check_agent, small_worlds


@entry
def _step(counts, known, s, a, r, t, terminated):
    full = count(counts, s, a, r, t)
    return full, update_known(known, counts, s, a, t, terminated)


def dense_of(counts):
    N = transitions(counts)
    S, A = counts.n.shape
    return N if isinstance(N, np.ndarray) else N.toarray().reshape(S, A, S)


@st.composite
def histories(draw):
    S, A = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 10**6))
    m, rho = draw(st.integers(1, 4)), draw(st.sampled_from([0.1, 0.5, 0.7, 0.8, 1.0]))
    rng = np.random.default_rng(seed)
    available = rng.random((S, A)) < 0.8
    available[np.arange(S), rng.integers(A, size=S)] = True
    steps = []
    for _ in range(draw(st.integers(0, 80))):
        s = int(rng.integers(S))
        a = int(rng.choice(np.flatnonzero(available[s])))
        steps.append((s, a, float(rng.normal()), int(rng.integers(S)), bool(rng.random() < 0.05)))
    return S, A, available, m, rho, steps


@settings(max_examples=60, deadline=None)
@given(histories(), st.booleans())
def test_counts_and_known_agree_with_dictionaries(history, sparse):
    S, A, available, m, rho, steps = history
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(module, "DENSE_LIMIT", 0)
        counts = new_counts(S, A)
    assert (counts.keys.size > 0) == sparse
    known = new_known(available, m, rho)
    n, triples, total, ends = Counter(), Counter(), Counter(), set()
    for s, a, r, t, terminated in steps:
        full, _ = _step(counts, known, s, a, r, t, terminated)
        assert not full
        n[s, a] += 1
        triples[s, a, t] += 1
        total[s, a] += r
        if terminated:
            ends.add(t)
    N = dense_of(counts)
    for s, a in np.ndindex(S, A):
        assert counts.n[s, a] == n[s, a]
        assert counts.R[s, a] == total[s, a]
        expected = available[s, a] and (n[s, a] >= m or s in ends)
        assert known.mask[s, a] == expected
        for t in range(S):
            assert N[s, a, t] == triples[s, a, t]
    for s in range(S):
        enough = -(-round(rho * available[s].sum() * 1000) // 1000)  # ceil in whole thousandths
        assert known.rho_known[s] == (known.mask[s].sum() >= max(1, enough) or s in ends)
    assert known.pairs[0] == known.mask.sum()
    again = new_known(available, m, rho)
    review(again, counts, np.isin(np.arange(S), list(ends)))
    for one, two in zip(known, again, strict=True):
        assert np.array_equal(one, two)


def test_a_growing_table_loses_nothing(monkeypatch):
    monkeypatch.setattr(module, "DENSE_LIMIT", 0)
    S, A = 60, 40
    counts, known = new_counts(S, A), new_known(np.ones((S, A), bool), 5, 0.8)
    dense = np.zeros((S, A, S))
    rng = np.random.default_rng(0)
    for s, a, t in zip(*(rng.integers(k, size=20_000) for k in (S, A, S)), strict=True):
        full, _ = _step(counts, known, s, a, 0.0, t, False)
        dense[s, a, t] += 1
        if full:
            counts = grown(counts)
    assert counts.keys.size >= 2 * counts.taken[0]
    assert np.array_equal(dense_of(counts), dense)
    P, _ = empirical(counts)
    assert np.allclose(P.sum(axis=1), counts.n.ravel() > 0)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_runs_are_the_same_whatever_the_storage(monkeypatch):
    mdp = gim.make("synthetic", S=12, A=6, seed=1)
    dense = gim.run("gim:m=8", mdp, episodes=1500, seed=3)
    monkeypatch.setattr(module, "DENSE_LIMIT", 0)
    sparse = gim.run("gim:m=8", mdp, episodes=1500, seed=3)
    assert sparse.memory.belief.counts.keys.size > 0
    end = dense.explored_at
    assert sparse.explored_at == end > 0
    assert np.array_equal(dense.returns[:end], sparse.returns[:end])
    known = dense.memory.known.mask  # other pairs are completed in blocks, over fewer successors
    assert 0 < known.sum() < known.size
    assert np.array_equal(known, sparse.memory.known.mask)
    models = dense.model.transitions, sparse.model.to_dense().transitions
    assert np.allclose(models[0][known], models[1][known])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_conformance_with_sparse_storage(monkeypatch):
    monkeypatch.setattr(module, "DENSE_LIMIT", 0)
    check_agent(gim.GIM(m=3), small_worlds())
    check_agent(gim.GIM.paper(m=3), small_worlds())


def test_counts_that_do_not_add_up_are_named():
    counts = new_counts(2, 2)
    counts.n[:], counts.next[:] = 2, 1.0
    assert counts.fault() == ""
    counts.n[1, 0] = 3  # one of four is enough
    assert counts.fault() == "next does not add up to n"


@pytest.mark.parametrize(("entries", "crowded"), [(16_385, True), (16_384, False)])
def test_a_large_table_is_nearly_empty_at_one_in_sixteen(entries, crowded):
    N = np.zeros((64, 64, 64))
    N.ravel()[:entries] = 1
    assert module.is_crowded(N) == crowded


@pytest.mark.parametrize("limit", [0, module.DENSE_LIMIT])
def test_a_model_stands_for_its_counts(monkeypatch, limit):
    monkeypatch.setattr(module, "DENSE_LIMIT", limit)
    run = gim.run("gim:m=5,rho=1", gim.make("riverswim"), episodes=2000, seed=4)
    again = counts_of(run.model)
    assert np.array_equal(again.n, run.memory.belief.counts.n)
    assert np.allclose(dense_of(again), dense_of(run.memory.belief.counts))
    assert np.allclose(again.R, run.memory.belief.counts.R)


def test_sums_of_rewards_may_be_as_large_as_visits_and_rewards_allow():
    limits = new_counts(2, 2).limits()
    assert limits["R"][:2] == pytest.approx((-REWARD * COUNT, REWARD * COUNT), rel=1e-12)
    assert limits["R2"][:2] == pytest.approx((0.0, REWARD**2 * COUNT), rel=1e-12)
