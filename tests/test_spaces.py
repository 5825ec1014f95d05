"""Gymnasium's spaces as numbers: every value has one, and no other value has any."""

import itertools

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from gim.mdp.spaces import numbering_of, variables_of_space

small = st.integers(1, 3)
starts = st.integers(-2, 2)
leaves = st.one_of(
    st.builds(lambda n, start: spaces.Discrete(n, start=start), small, starts),
    st.builds(
        lambda sizes, start: spaces.MultiDiscrete(sizes, start=[start] * len(sizes)),
        st.lists(small, min_size=1, max_size=2),
        starts,
    ),
    st.builds(spaces.MultiBinary, st.integers(1, 2)),
    st.builds(
        lambda low, size, shape: spaces.Box(low, low + size, shape, np.int16),
        starts,
        st.integers(0, 2),
        st.sampled_from([(), (1,), (1, 2)]),
    ),
)
anything = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.lists(part, min_size=1, max_size=2).map(spaces.Tuple),
        st.dictionaries(st.sampled_from("abc"), part, min_size=1, max_size=2).map(spaces.Dict),
    ),
    max_leaves=3,
)


def flat(value):
    """The whole numbers in a value, in order; the obvious way."""
    if isinstance(value, dict):
        return [x for part in value.values() for x in flat(part)]
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return np.ravel(value).tolist()


@pytest.mark.filterwarnings("ignore:.*Casting input x")
@settings(max_examples=150, deadline=None)
@given(anything, st.integers(0, 100))
def test_numbers_and_values_are_one_to_one(space, seed):
    numbering = numbering_of("observation_space", space)
    values = [numbering.decode(i) for i in range(numbering.n)]
    assert all(space.contains(value) for value in values)
    assert [numbering.encode(value) for value in values] == list(range(numbering.n))
    assert [numbering.encode(value) for value in values] == list(range(numbering.n))  # met before
    rows = [tuple(flat(value)) for value in values]
    sides = [range(low, low + size) for _, low, size, _ in numbering.variables]
    assert rows == list(itertools.product(*sides))  # mixed radix, the last one fastest
    space.seed(seed)
    sample = space.sample()
    assert contains(space, sample)
    assert rows[numbering.encode(sample)] == tuple(flat(sample))
    variables = variables_of_space("state", numbering)
    if variables is not None:
        assert [variables.values(s) for s in range(numbering.n)] == rows


def contains(space, value):
    try:
        return space.contains(value)
    except (TypeError, ValueError):  # Gymnasium tries to make an array of anything
        return False


@pytest.mark.filterwarnings("ignore:.*Casting input x")
@settings(max_examples=150, deadline=None)
@given(anything, anything, st.integers(0, 100))
def test_what_is_in_no_space_has_no_number(space, other, seed):
    """Values of another space: a number just where Gymnasium says that they are in it."""
    numbering = numbering_of("observation_space", space)
    other.seed(seed)
    for value in (other.sample(), None, 1.5, "x", [], {}, np.zeros(7), [[1], 2]):
        assert (numbering.encode(value) >= 0) == contains(space, value)


@pytest.mark.filterwarnings("ignore:.*Casting input x")
@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Discrete(3), 1.0),
        (spaces.Discrete(3), "1"),
        (spaces.Discrete(3), np.array([1])),
        (spaces.Discrete(3, start=2), 1),
        (spaces.MultiDiscrete([2, 2]), np.array([1, 2])),
        (spaces.MultiDiscrete([2, 2]), np.array([[1, 1]])),
        (spaces.MultiDiscrete([2, 2]), np.array([1.0, 1.0])),
        (spaces.MultiDiscrete([2, 2]), np.array([1])),
        (spaces.Box(0, 3, (1,), np.int8), np.array([4], np.int8)),
        (spaces.Box(0, 3, (1,), np.int8), np.array([1.5])),
        (spaces.Tuple([spaces.Discrete(2)] * 2), (0,)),
        (spaces.Tuple([spaces.Discrete(2)] * 2), (0, 2)),
        (spaces.Tuple([spaces.Discrete(2)] * 2), 1),
        (spaces.Dict(a=spaces.Discrete(2)), {"b": 0}),
        (spaces.Dict(a=spaces.Discrete(2)), {"a": 0, "b": 0}),
        (spaces.Dict(a=spaces.Discrete(2)), (0,)),
    ],
)
def test_strange_values(space, value):
    assert not space.contains(value)
    assert numbering_of("observation_space", space).encode(value) == -1


@pytest.mark.parametrize(
    ("space", "value", "number"),
    [
        (spaces.Discrete(3), np.uint8(2), 2),
        (spaces.Discrete(3), np.array(2), 2),
        (spaces.MultiDiscrete([2, 3]), [1, 2], 5),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2], np.int32), 5),
        (spaces.MultiBinary(2), np.array([1, 0], bool), 2),
        (spaces.Tuple([spaces.Discrete(2)] * 2), [1, 1], 3),
    ],
)
def test_values_of_other_types(space, value, number):
    assert space.contains(value)
    assert numbering_of("observation_space", space).encode(value) == number


def test_actions_may_be_written_to():
    numbering = numbering_of("action_space", spaces.MultiDiscrete([2, 2]))
    numbering.decode(3)[:] = 0
    assert numbering.decode(3).tolist() == [1, 1]


def test_a_space_of_nothing_has_one_value():
    numbering = numbering_of("observation_space", spaces.Dict())
    assert numbering.n == 1
    assert numbering.decode(0) == {}
    assert numbering.encode({}) == 0
    assert variables_of_space("state", numbering) is None


def test_more_dimensions_than_numpy_has():
    numbering = numbering_of("observation_space", spaces.MultiDiscrete([1] * 90 + [5]))
    assert numbering.n == 5
    assert numbering.decode(3).tolist() == [0] * 90 + [3]
