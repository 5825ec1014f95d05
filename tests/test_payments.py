"""Rewards of a certificate: what pairs pay of which little is known, by hand."""

import numpy as np

from gim.inference.certificate.payments import Rewards, as_tried
from gim.model.counts import new_counts


def test_pairs_of_which_nothing_is_known_pay_as_those_that_were_met_do():
    counts = new_counts(2, 2)
    blank = Rewards(*[np.zeros(0)] * len(Rewards._fields))
    assert as_tried(blank, counts).pays.tolist() == [0, 0]
    counts.n[:] = [[1, 2], [0, 1]]
    counts.R[:] = [[3, 8], [0, 1]]
    assert as_tried(blank, counts).pays.tolist() == [1, 1, 3, 3, 4, 4]
