"""Reuse: a model of another task is trusted where it holds, and rewards by analogy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gim
from gim.analogy.analogy import Analogy
from gim.analogy.candidates import Data
from gim.analogy.cross_validation import CrossValidation
from gim.analogy.reuse import _better, offers, picked
from gim.model.learned import LearnedModel
from gim.runs.run import prepare
from tests.sampled_counts import frame_of, sampled


def model_of(mdp, visits=1000):
    """A model that was learned perfectly."""
    n = np.full((mdp.S, mdp.A), visits)
    return LearnedModel(mdp.transitions, mdp.rewards, horizon=mdp.horizon, visits=n, known=n > 0)


def task(seed=5, S=20, A=12):
    return gim.make("mixtures", S=S, A=A, rank=min(S, A, 10), rewards="state", seed=seed)


def changed(mdp, states=(), actions=(), seed=9):
    """The same with other dynamics in these states and actions."""
    rng = np.random.default_rng(seed)
    P = mdp.transitions.copy()
    new = rng.dirichlet(np.full(mdp.S, 0.3), P.shape[:2])
    P[list(states)] = new[list(states)]
    P[:, list(actions)] = new[:, list(actions)]
    return mdp.with_(transitions=P)


def inferred(mdp, model, visits=4):
    counts, _, _ = sampled(mdp, visits)
    return Analogy().infer(
        counts,
        frame_of(mdp)._replace(models=() if model is None else (model,)),
        np.random.default_rng(0),
    )


def test_a_model_that_holds_is_taken_and_worth_much():
    mdp = task()
    found = inferred(mdp, model_of(mdp))
    assert found.name == "model"
    assert np.allclose(found.rows.toarray(), mdp.rows().toarray())
    assert found.n0.min() > 20


def test_a_model_that_does_not_hold_is_left():
    mdp, other = task(5), task(6)
    with_model, without = inferred(mdp, model_of(other)), inferred(mdp, None)
    assert (with_model is None) == (without is None)
    if without is not None:
        assert with_model.name == without.name
        assert np.array_equal(with_model.n0, without.n0)


def test_reuse_pays_and_does_no_harm():
    mdp = task(seed=11)
    alone, told, misled = (
        gim.run("analogist", mdp, episodes=15, seeds=range(3), prior=prior).score
        for prior in (None, model_of(mdp), model_of(task(seed=30)))
    )
    assert told > alone + 0.1
    assert misled > alone - 0.05


@pytest.mark.parametrize(
    ("name", "parts"),
    [("model by state", {"states": range(8)}), ("model by action", {"actions": range(5)})],
)
def test_a_model_that_holds_in_part_is_taken_there(name, parts):
    mdp = task()
    now = changed(mdp, **parts)
    found = inferred(now, model_of(mdp))
    assert found.name == name
    q = found.rows.toarray().reshape(mdp.transitions.shape)
    same = np.isclose(q, mdp.transitions).all(axis=2)
    part = slice(0, 8) if "states" in parts else (slice(None), slice(0, 5))
    where = np.zeros(same.shape, bool)
    where[part] = True
    assert same[~where].mean() > 0.9
    assert same[where].mean() < 0.2


def test_parts_that_nobody_judges_follow_all_together():
    part, gain = np.array([0, 0, 2]), np.array([1.0, -3.0, 4.0])
    assert _better(part, gain, 4).tolist() == [False, True, True, True]
    assert _better(part, -gain, 4).tolist() == [True, False, False, False]


@pytest.mark.parametrize("name", ["model by state", "model by action"])
def test_a_held_out_pair_has_no_say_in_its_own_splice(name):
    mdp = task(S=6, A=5)
    _, N, n = sampled(mdp, 6)
    uniform = sparse.csr_array(np.full((30, 6), 1 / 6))

    def spliced(N):
        split = CrossValidation(Data(N, n, mdp.available), 4, np.random.default_rng(0))
        split.fold, split.judges = fold, judges  # they go by counts as well
        nothing = np.zeros(split.pairs.size, int)
        own = split.read(uniform[split.pairs], nothing, nothing + 5.0)
        said = {key: said for key, said, _, _ in offers(model_of(mdp), split, own, uniform)}
        return split, said[name]

    split = CrossValidation(Data(N, n, mdp.available), 4, np.random.default_rng(0))
    fold, judges = split.fold, split.judges
    split, before = spliced(N)
    assert split.pairs.size > 20
    for k, pair in enumerate(split.pairs):
        spoiled = N.copy()
        spoiled[divmod(pair, 5)] = np.roll(spoiled[divmod(pair, 5)], 1)
        assert spliced(spoiled)[1].square[k] == before.square[k]


def test_a_resumed_run_still_has_its_model(tmp_path):
    mdp = task(S=8, A=6)
    whole = gim.run("analogist", mdp, 200, seed=1, prior=model_of(mdp))
    half = prepare(gim.Analogist(), mdp, 200, 1, prior=model_of(mdp)).pause_at(700)
    half.save(tmp_path / "half.npz")
    assert np.array_equal(gim.run(resume=tmp_path / "half.npz").returns, whole.returns)


def test_rows_are_picked_from_one_or_the_other_and_hold_no_zeros():
    one = sparse.csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]))
    other = sparse.csr_array(np.array([[0.0, 0.0, 1.0], [0.25, 0.0, 0.75]]))
    mixed = picked(np.array([True, False]), one, other)
    assert mixed.toarray().tolist() == [[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]]
    assert mixed.nnz == 4  # what is stored counts as said
