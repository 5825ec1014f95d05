"""What a certificate is made from: inferred pairs, and what may follow the last step, by hand."""

import numpy as np
import pytest

import gim
from gim.analogy.base import Frame
from gim.analogy.prior import no_prior, prior_of
from gim.belief.certificate import Aim, facts_of
from gim.belief.certificate.guaranteed import enclosed, rewards_within
from gim.belief.knowledge import knowledge_of
from gim.model.counts import new_counts
from gim.runs.run import task_of


def test_a_pair_is_inferred_where_its_prediction_is_worth_its_visits():
    """Worth 2 visits beside 3, 2 and none of its own; then all, and of a state that ends."""
    mdp = gim.TabularMDP(np.full((5, 1, 5), 0.2), np.zeros((5, 1)), horizon=2)
    counts = new_counts(5, 1)
    counts.n[:, 0] = 3, 2, 0, 3, 0
    counts.next.reshape(5, 5)[:, 0] = counts.n[:, 0]
    worth = np.array([[2.0], [2.0], [2.0], [np.inf], [2.0]])
    ends = np.array([False, False, False, False, True])
    belief = knowledge_of(counts, ends, prior_of(np.full((5, 1, 5), 0.2), worth))
    found = facts_of(belief, task_of(mdp), (0.0, 1.0)).inferred
    assert found.ravel().tolist() == [False, True, True, True, False]


def test_after_the_last_step_anything_may_follow_but_after_an_end():
    """Without a horizon: 2 or -1 a step, of half the weight each, and 0 in a state that ends."""
    mdp = gim.TabularMDP(np.full((3, 1, 3), 1 / 3), np.zeros((3, 1)), horizon=2)
    counts = new_counts(3, 1)
    counts.n[:2] = 1
    counts.next.reshape(3, 3)[:2, 0] = 1
    belief = knowledge_of(counts, np.array([False, False, True]), no_prior(3, 1))
    given = facts_of(belief, task_of(mdp), (-1.0, 2.0), aim=Aim(None, 0.5))
    least, most = enclosed(given, 0.9)
    assert most[-1].tolist() == [4, 4, 0]
    assert least[-1].tolist() == [-2, -2, 0]


def test_rewards_that_never_differed_are_certain_but_for_rounding():
    """Fifty times what was paid once, thrice with a last bit that is off, and never."""
    counts = new_counts(1, 3)
    counts.n[:] = [[1, 3, 0]]
    counts.R[:] = [[3.0, 0.3, 0.0]]
    counts.R2[:] = [[9.0, 0.03 * (1 + 1e-12), 0.0]]
    frame = Frame(np.ones((1, 3), bool), np.zeros(1, bool), (-1.0, 5.0))
    counts.n[:] = counts.n * 50
    counts.R[:], counts.R2[:] = counts.R * 50, counts.R2 * 50
    low, high = rewards_within(counts, frame, np.ones((1, 3)))
    assert low[0] == pytest.approx([3.0, 0.1, -1.0], abs=1e-12)
    assert high[0] == pytest.approx([3.0, 0.1, 5.0], abs=1e-12)
