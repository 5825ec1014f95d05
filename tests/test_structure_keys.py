"""What triples may be told apart by: the features that there are, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from gim.analogy.structure.rewards import Feature, features_of


@pytest.mark.parametrize(("own", "named"), [(0, []), (1, []), (2, [0, 1]), (3, [0, 1, 2])])
def test_variables_of_actions_are_features_where_there_are_two(own, named):
    """One alone would say what the action says."""
    triples = SimpleNamespace(
        k=2,
        action_codes=np.zeros((4, own)),
        edged=np.array([False, True]),
        terminal=np.zeros(1, bool),
    )
    found = features_of(triples)
    assert [f.variable for f in found if f.kind == "action variable"] == named
    assert [f for f in found if f.kind == "edge"] == [Feature("edge", 1)]
    assert [f.variable for f in found if f.kind == "change"] == [0, 1]
