"""Held-out pairs: what is kept of a prediction, pair by pair and by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from gim.analogy import cross_validation
from gim.analogy.candidates import Data
from gim.analogy.cross_validation import CrossValidation, taken

S, A = 5, 3


def counted(seed=0):
    """Counts [S*A, S], a third of the pairs never met."""
    rng = np.random.default_rng(seed)
    N = rng.integers(0, 3, (S * A, S)) * (rng.random((S * A, 1)) < 0.7)
    return N.astype(float)


def split_of(N, folds=3, seed=1):
    n = N.sum(axis=1).reshape(S, A)
    data = Data(sparse.csr_array(N), n, np.ones((S, A), bool))
    return CrossValidation(data, folds, np.random.default_rng(seed))


def test_pairs_that_were_met_are_held_out_in_folds_of_one_size():
    N = counted()
    split = split_of(N)
    assert split.pairs.tolist() == np.flatnonzero(N.any(axis=1)).tolist()
    assert split.n.tolist() == N.sum(axis=1)[split.pairs].tolist()
    assert split.weights.tolist() == [n / (n + 5) for n in split.n]
    sizes = np.bincount(split.fold, minlength=3)
    assert np.ptp(sizes) <= 1
    for k, part in enumerate(split.parts):
        left = np.where(np.isin(np.arange(S * A), split.pairs[split.fold == k]), 0, N.sum(axis=1))
        assert part.n.ravel().tolist() == left.tolist()


@pytest.mark.parametrize("some", [None, [0, 3, 4], []])
def test_what_is_kept_of_a_prediction(some, monkeypatch):
    monkeypatch.setattr(cross_validation, "KEPT", 4 * S)  # whole rows of four pairs
    N = counted()
    split = split_of(N)
    assert split.judges.size == 4
    K, rng = split.pairs.size, np.random.default_rng(2)
    which = np.arange(K) if some is None else np.array(some, int)
    said = rng.dirichlet(np.ones(S), K) * (rng.random((K, S)) < 0.8)
    level = rng.integers(1, 9, K)
    rows = sparse.csr_array(said[which].reshape(which.size, S))
    behind = rng.random(K) * 9
    given = rows, level[which], behind[which]
    answers = split.read(*given, None if some is None else which)
    heard = np.isin(np.arange(K), which)
    q, errors = [], []
    for k, pair in enumerate(split.pairs):
        met = np.flatnonzero(N[pair])
        q += (heard[k] * said[k, met]).tolist()
        hits = (N[pair, met] / N[pair].sum()) @ (heard[k] * said[k, met])
        errors.append(heard[k] * (said[k] ** 2).sum() - 2 * hits)
    assert answers.q == pytest.approx(q)
    assert answers.square == pytest.approx(heard * (said**2).sum(axis=1))
    assert answers.level.tolist() == (heard * level).tolist()
    assert answers.behind.tolist() == (heard * behind).tolist()
    assert np.allclose(answers.rows.toarray(), (heard[:, None] * said)[split.judges])
    assert split.errors(answers) == pytest.approx(errors)
    p = N[split.pairs] / N[split.pairs].sum(axis=1, keepdims=True)
    if some is None:  # the squared distance, less what is the same for all
        distance = ((p - said) ** 2).sum(axis=1) - (p**2).sum(axis=1)
        assert split.errors(answers) == pytest.approx(distance)


class Pooled:
    """A candidate that predicts every pair by all counts it was given, added up."""

    leaves_one_out = False
    fits = 0

    def fit(self, data):
        self.fits += 1
        total = np.asarray(data.rows.sum(axis=0)).ravel()
        row = total / total.sum()

        def rows(pairs):
            return sparse.csr_array(np.tile(row, (len(pairs), 1)))

        return SimpleNamespace(
            rows=rows, levels=lambda pairs: pairs % 4 + 1, visits_behind=lambda pairs: total.sum()
        )


def test_nobody_sees_the_fold_that_it_answers_for():
    N = counted()
    split, candidate = split_of(N), Pooled()
    answers = split.answers(candidate)
    assert candidate.fits == 3
    for k, pair in enumerate(split.pairs):
        others = split.pairs[split.fold != split.fold[k]]
        row = N[others].sum(axis=0) / N[others].sum()
        mine = slice(split.first[k], split.first[k + 1])
        assert answers.q[mine] == pytest.approx(row[np.flatnonzero(N[pair])])
        assert answers.square[k] == pytest.approx((row**2).sum())
        assert answers.level[k] == pair % 4 + 1
        assert answers.behind[k] == N[others].sum()
    again = split.answers(Pooled(), split._fold_answers(Pooled(), 0))
    assert np.array_equal(again.q, answers.q)
    held = split.held(answers)
    assert held[0] is split.pairs
    assert held[3] is answers.q
    assert held[4] is answers.behind


def test_rows_are_taken_where_there_are_any():
    rows = sparse.csr_array(np.arange(6.0).reshape(3, 2))
    found = taken(rows, np.array([2, -1, 0, 2])).toarray()
    assert found.tolist() == [[4, 5], [0, 0], [0, 1], [4, 5]]
