"""What triples may be told apart by: the features that there are, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from gim.analogy.structure.rewards import features_of


@pytest.mark.parametrize(("own", "named"), [(0, []), (1, []), (2, [0, 1]), (3, [0, 1, 2])])
def test_variables_of_actions_are_features_where_there_are_two(own, named):
    """One alone would say what the action says."""
    codes = np.array([[0, 0], [0, 1], [1, 0]])
    triples = SimpleNamespace(
        A=4,
        codes=codes,
        action_codes=np.arange(4 * own).reshape(4, own),
        edges=(codes == 1) * 1,
        edged=np.array([False, True]),
        terminal=np.zeros(3, bool),
    )
    pair, t = np.array([1 * 4 + 2, 0 * 4 + 3]), np.array([2, 0])  # from 1 by 2 to 2; 0 by 3 to 0
    found = {name: values.tolist() for name, values in features_of(triples, pair, t).items()}
    for j in named:
        assert found.pop(f"action {j}") == [2 * own + j, 3 * own + j]
    assert found == {
        "action": [2, 3],
        "next state": [2, 0],
        "next 0": [1, 0],
        "next 1": [0, 0],
        "now 0": [0, 0],
        "now 1": [1, 0],
        "change 0": [1, 0],
        "change 1": [-1, 0],
        "edge 1": [1, 0],
        "stays": [0, 1],
    }
