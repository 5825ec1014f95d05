"""Rewards of a certificate: what pairs pay of which little is known, by hand."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm

from gim.analogy.prior import prior_of
from gim.belief.certificate.payments import Rewards, as_tried, known, triples_hold
from gim.model.counts import new_counts
from gim.model.rewards import by_pair


def test_pairs_of_which_nothing_is_known_pay_as_those_that_were_met_do():
    counts = new_counts(2, 2)
    blank = Rewards(*[np.zeros(0)] * len(Rewards._fields))
    assert as_tried(blank, counts).pays.tolist() == [0, 0]
    counts.n[:] = [[1, 2], [0, 1]]
    counts.R[:] = [[3, 8], [0, 1]]
    assert as_tried(blank, counts).pays.tolist() == [1, 1, 3, 3, 4, 4]


def test_a_prediction_by_next_state_holds_as_likelihoods_say():
    """Normal densities of what was paid, about the prediction, or as wide as all that is paid."""
    counts = new_counts(2, 2, by_triple=True)
    N = counts.next.reshape(2, 2, 2)
    N[0, 0], N[0, 1], N[1, 0] = [2, 1], [1, 0], [0, 3]
    counts.n[:] = N.sum(axis=2)
    paid = np.array([[[4.0, 1.0], [2.0, 0.0]], [[0.0, 5.0], [0.0, 0.0]]])  # a visit
    counts.paid[:] = (paid * N).ravel()
    said = np.array([[[3.5, 1.5], [2.0, 9.0]], [[9.0, 9.0], [9.0, 9.0]]])
    noise = np.array([[0.3, 0.5], [0.2, 0.1]])
    doubt = np.array([[0.1, 0.2], [0.3, 0.4]])
    told = np.array([[1.0, 1.0], [0.0, 1.0]])  # of (1, 0) nothing is predicted
    prior = prior_of(
        np.full((2, 2, 2), 0.5),
        np.ones((2, 2)),
        r_next=said.ravel(),
        r_noise=noise,
        r_doubt=doubt,
        r_n0=told,
    )
    met = [(0, 0, 0), (0, 0, 1), (0, 1, 0)]
    spread = np.var([*(paid[x] for x in met), *(said[x] for x in met)])
    expected = 1 - doubt
    for s, a in {x[:2] for x in met}:
        holds, fails = 1 - doubt[s, a], doubt[s, a]
        for x in [x for x in met if x[:2] == (s, a)]:
            off = paid[x] - said[x]
            narrow = noise[s, a] * (1 / N[x] + 1)
            holds *= norm.pdf(off, scale=np.sqrt(narrow))
            fails *= norm.pdf(off, scale=np.sqrt(max(spread + noise[s, a], narrow)))
        expected[s, a] = holds / (holds + fails)
    rows = sparse.csr_array(N.reshape(4, 2))
    assert triples_hold(counts, prior, rows) == pytest.approx(expected)


def test_rewards_that_are_known_are_certain():
    found = known(by_pair([[1.0, 2.0], [3.0, -1.0]]), None)
    assert found.mean.tolist() == [[1, 2, 3, -1]] * 2
    assert found.holds.tolist() == [1] * 4
    assert not found.sd.any()
    assert not found.free.any()
    assert (found.low, found.high) == (-1, 3)
