"""What a learned model is made from, by hand: rewards to be completed, pairs with support."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from gim.analogy.prior import prior_of
from gim.belief.knowledge import knowledge_of
from gim.model import counts as counting
from gim.model.completion import completions
from gim.model.counts import counts_of, new_counts, new_known, review
from gim.model.dynamics import complete, learned
from gim.model.learned import LearnedModel


@pytest.mark.parametrize("form", [np.asarray, lambda P: sparse.csr_array(P.reshape(2, 2))])
def test_a_pair_never_met_that_stays_for_sure_has_no_support(form):
    P = np.array([[[1.0, 0.0]], [[1.0, 0.0]]])
    given = {"horizon": 3, "visits": [[0], [0]], "known": [[False], [False]]}
    model = LearnedModel(form(P), np.zeros((2, 1)), **given)
    assert model.sparse == sparse.issparse(form(P))
    assert model.supported.tolist() == [[False], [True]]


@pytest.mark.parametrize(
    ("reward_data", "means"),
    [
        ("visited", [[3.0, 4.0], [0.0, 0.5]]),
        ("known", [[0.0, 4.0], [0.0, 0.5]]),
        ("all", [[3.0, 4.0], [0.0, 0.5]]),
    ],
)
def test_rewards_to_be_completed_are_means_of_what_was_paid(reward_data, means):
    counts = new_counts(2, 2)
    counts.n[:] = [[1, 2], [0, 4]]
    counts.R[:] = [[3, 8], [0, 2]]
    counts.next.reshape(2, 2, 2)[:, :, 0] = counts.n
    known = new_known(np.ones((2, 2), bool), 2, 1.0)
    review(known, counts, np.zeros(2, bool))
    asked, als = [], completions.make("als")

    def noted(matrices, weights, rng):
        asked.append(matrices[0])
        return als(matrices, weights, rng)

    complete(counts, known, noted, reward_data, "clip", np.random.default_rng(0))
    assert asked[-1].tolist() == means


@pytest.mark.parametrize(
    ("visits", "start"),
    [([0, 0, 0], [0.5, 0.5, 0.0]), ([0, 4, 0], [0.0, 1.0, 0.0])],
)
def test_a_model_of_a_world_unseen_starts_where_it_was_left(visits, start):
    """Where nothing was left yet, in any state that is no end."""
    counts = new_counts(3, 1)
    counts.n[:, 0] = visits
    counts.next.reshape(3, 3)[:, 0] = visits
    known = new_known(np.ones((3, 1), bool), 2, 1.0)
    review(known, counts, np.array([False, False, True]))
    task = SimpleNamespace(truth=None, starts=None, H=4, variables=None, action_variables=None)
    P = np.repeat(np.eye(3)[:, None], 1, axis=1)
    model = learned(P, np.zeros((3, 1)), counts, known, task)
    assert model.start.tolist() == start


def test_a_model_counts_for_its_visits_and_what_they_paid():
    given = {"horizon": 3, "visits": [[2], [4]], "known": [[True], [True]]}
    P = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    counts = counts_of(LearnedModel(P, [[3.0], [-0.5]], **given))
    assert counts.n.tolist() == [[2], [4]]
    assert counts.R.tolist() == [[6.0], [-2.0]]
    assert counts.R2.tolist() == [[18.0], [1.0]]
    assert counts.next.tolist() == [1, 1, 4, 0]
    twice = counts_of(*[LearnedModel(P, [[3.0], [-0.5]], **given)] * 2)
    assert twice.R2.tolist() == [[36.0], [2.0]]


def test_a_belief_from_a_file_has_a_prior_of_the_right_form():
    q, n0 = np.full((2, 1, 2), 0.5), np.ones((2, 1))
    right = knowledge_of(new_counts(2, 1), np.zeros(2, bool), prior_of(q, n0))
    assert right.fault() == ""
    wrong = right._replace(prior=right.prior._replace(first=np.array([0, 2, 3])))
    assert wrong.fault()


@pytest.mark.parametrize("limit", [1 << 24, 0])
def test_empirical_means_of_dense_and_sparse_counts(limit, monkeypatch):
    monkeypatch.setattr(counting, "DENSE_LIMIT", limit)
    given = {"horizon": 3, "visits": [[2], [0]], "known": [[True], [False]]}
    P = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    counts = counts_of(LearnedModel(P, [[1.5], [7.0]], **given))
    assert (counts.keys.size > 0) == (limit == 0)
    p, r = counting.empirical(counts)
    assert counting.dense(p, (2, 1)).tolist() == [[[0.5, 0.5]], [[0.0, 0.0]]]
    assert r.tolist() == [[1.5], [0.0]]
