"""Evidence that is kept up to date: the bits of evidence that is made anew, of sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gim
from gim._compile.jit import plain
from gim.analogy import prior as likelihoods
from gim.analogy.prior import no_prior, prior_of
from gim.belief import evidence as dense_evidence
from gim.belief import evidence as together
from gim.belief.evidence import DenseEvidence
from gim.belief.knowledge import Knowledge, observe
from gim.model.counts import new_counts
from gim.model.rewards import none_known
from gim.runs.agent import GO_ON, TERMINATED

S, A = 5, 3


def believed(seed, by_triple, by_next, share=0.8):
    """Nothing seen yet, and a prior that speaks of most pairs and of their rewards."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(S, 0.5), (S, A)) * (rng.random((S, A, S)) < 0.7)
    q /= np.maximum(q.sum(axis=2, keepdims=True), 1e-300)
    n0 = np.where((q.sum(axis=2) > 0.5) & (rng.random((S, A)) < share), rng.uniform(0.5, 9), 0.0)
    more = {name: rng.uniform(0.01, 0.5, (S, A)) for name in ("doubt", "leak", "r", "r_noise")}
    more["r_doubt"] = rng.uniform(0, 0.5, (S, A)) * (rng.random((S, A)) < 0.7)
    more["r_n0"] = rng.uniform(0.5, 9, (S, A)) * (rng.random((S, A)) < 0.7)
    prior = prior_of(q, n0, **more)
    if by_next:
        prior = prior._replace(r_next=rng.normal(size=prior.q.size))
    counts, nothing = new_counts(S, A, by_triple), np.zeros(1, np.int64)
    return Knowledge(counts, np.zeros(S, bool), prior, nothing, nothing.copy(), none_known())


def play(belief, rng, steps, end=GO_ON):
    """Some steps, most of them to a few pairs."""
    for _ in range(steps):
        s, a, t = int(rng.integers(S)), int(rng.integers(A) * rng.integers(2)), rng.integers(S)
        observe(belief, s, a, float(rng.integers(3)), int(t), end)


def assert_same_bits(found, expected):
    for mine, anew in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, anew)


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_kept_or_made_anew_it_is_that_of_sparse_rows_to_the_bit(seed, by_triple, by_next):
    """Between plans a few steps, an end, a new prior, or nothing at all."""
    belief, rng, kept = believed(seed, by_triple, by_next), np.random.default_rng(seed), {}
    for _ in range(8):
        event = rng.integers(8)
        if event == 0:
            belief = belief._replace(prior=believed(seed + 1, by_triple, by_next).prior)
        play(belief, rng, int(rng.integers(5)), TERMINATED if event == 1 else GO_ON)
        rows = together._sparse(belief.counts, belief.prior, belief.terminal, None)
        rows = rows._replace(N=rows.N.toarray().reshape(S, A, S))
        assert_same_bits(belief.evidence(kept=kept), rows)
        assert_same_bits(belief.evidence(), rows)


def test_kernels_give_the_same_bits_compiled_and_plain(monkeypatch):
    belief = believed(5, True, True)
    play(belief, np.random.default_rng(5), 40)
    monkeypatch.setattr("gim._compile.jit.MUCH", -1)  # small work is not left to plain Python
    compiled = belief.evidence()
    for module, name in ((dense_evidence, "put_together"), (likelihoods, "_rewards_hold")):
        monkeypatch.setattr(module, name, plain(getattr(module, name)))
    assert_same_bits(compiled, belief.evidence())
    assert compiled.n.sum() > 40


def test_a_pair_that_was_not_met_is_not_put_together_again(monkeypatch):
    """Only those met since the last plan are asked what they are worth."""
    belief, kept, asked = believed(1, True, True), {}, []
    meet = DenseEvidence._meet

    def noted(self, counts, at):
        asked.append(at.tolist())
        meet(self, counts, at)

    monkeypatch.setattr(DenseEvidence, "_meet", noted)
    belief.evidence(kept=kept)
    observe(belief, 2, 1, 1.0, 3, GO_ON)
    observe(belief, 4, 0, 0.0, 3, GO_ON)
    observe(belief, 2, 1, 1.0, 3, GO_ON)
    belief.evidence(kept=kept)
    belief.evidence(kept=kept)
    assert asked == [list(range(S * A)), [2 * A + 1, 4 * A]]


def test_predictions_that_replace_data_are_kept_as_well():
    belief, kept = believed(3, False, False), {}
    everywhere = np.where(belief.prior.n0 > 0, np.inf, 0.0)
    belief = belief._replace(prior=belief.prior._replace(n0=everywhere, r_n0=everywhere))
    for steps in (4, 9):
        play(belief, np.random.default_rng(steps), steps)
        rows = together._sparse(belief.counts, belief.prior, belief.terminal, None)
        rows = rows._replace(N=rows.N.toarray().reshape(S, A, S))
        assert_same_bits(belief.evidence(kept=kept), rows)
        assert (rows.n[everywhere > 0] == 1).all()


@pytest.mark.parametrize("what", ["silent", "large", "sparse"])
def test_where_nothing_is_kept_evidence_is_made_anew(what, monkeypatch):
    belief, kept = believed(3, False, False), {}
    if what == "silent":
        belief = belief._replace(prior=no_prior(S, A))
    elif what == "large":
        monkeypatch.setattr(together, "LARGE", S * A * S)
    else:
        monkeypatch.setattr("gim.model.counts.DENSE_LIMIT", 1)
        belief = belief._replace(counts=new_counts(S, A))
        assert belief.counts.keys.size
    play(belief, np.random.default_rng(0), 4)
    found, expected = belief.evidence(kept=kept), belief.evidence()
    assert not kept
    for mine, anew in zip(found, expected, strict=True):
        dense = [each.toarray() if hasattr(each, "toarray") else each for each in (mine, anew)]
        np.testing.assert_array_equal(*dense)


@pytest.mark.parametrize("rewards", ["learn", "known"])
def test_runs_are_the_same_with_and_without(rewards, monkeypatch):
    world = gim.make("inventory:capacity=8,largest=4,horizon=10")
    mine = gim.run("analogist", world, episodes=40, seed=5, rewards=rewards)
    anew = Knowledge.evidence
    monkeypatch.setattr(
        Knowledge, "evidence", lambda belief, rows=None, kept=None: anew(belief, rows)
    )
    anew = gim.run("analogist", world, episodes=40, seed=5, rewards=rewards)
    assert mine.mind.kept.keys() > anew.mind.kept.keys()
    np.testing.assert_array_equal(mine.returns, anew.returns)
