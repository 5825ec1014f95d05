"""Datasets that come as episodes, and the picture of a log."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import gim


def episode(number, observations, actions, ended, rewards=None):
    T = len(actions)
    return SimpleNamespace(
        id=number,
        observations=observations,
        actions=np.array(actions),
        rewards=np.arange(T, dtype=float) if rewards is None else rewards,
        terminations=np.arange(T) == (T - 1 if ended else T),
        truncations=np.zeros(T, bool),
    )


def dataset(*episodes):
    return SimpleNamespace(iterate_episodes=lambda: iter(episodes))


def test_episodes_are_read_with_their_ends():
    one = episode(0, np.array([0, 1, 2]), [1, 0], ended=True)
    two = episode(1, np.array([0, 1, 1, 0]), [1, 1, 0], ended=False)
    log = gim.from_log(dataset(one, two))
    rows = [(0, 1, 0.0, 1), (1, 0, 1.0, 2), (0, 1, 0.0, 1), (1, 1, 1.0, 1), (1, 0, 2.0, 0)]
    other = gim.from_log([(*row, i == 1) for i, row in enumerate(rows)], done="done")
    np.testing.assert_array_equal(log.counts.n, other.counts.n)
    assert log.states == (0, 1, 2)
    assert log.lengths.tolist() == [2, 3]
    assert log.terminal.tolist() == [False, False, True]
    assert gim.learn(log, infer=None).policy(0) == 1


@pytest.mark.parametrize(
    "observations",
    [
        np.array([[0, 5], [1, 5], [1, 6]]),
        {"x": np.array([0, 1, 1]), "y": np.array([5, 5, 6])},
        (np.array([0, 1, 1]), np.array([5, 5, 6])),
    ],
)
def test_observations_of_several_numbers_are_tuples(observations):
    log = gim.from_log(dataset(episode(0, observations, [0, 1], ended=True)))
    assert log.states == ((0, 5), (1, 5), (1, 6))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (episode(0, np.array([0.5, 1.2]), [0], False), "measured, not discrete"),
        (episode(0, np.array([0, 1]), [0, 1], False), "one observation more"),
    ],
)
def test_what_does_not_fit_is_one_line(bad, message):
    with pytest.raises(ValueError, match=message) as problem:
        gim.from_log(dataset(bad))
    assert "\n" not in str(problem.value)
    with pytest.raises(ValueError, match="no column 'z'"):
        gim.from_log(dataset(), state="z")
    with pytest.raises(ValueError, match="no rows"):
        gim.from_log(dataset())


def test_the_picture_of_a_log(tmp_path):
    plot = pytest.importorskip("gim.plot")
    rows = [("low", "buy", -1.0, "high"), ("high", "$wait$", 2.0, "low")] * 5
    figure = plot.visits(gim.from_log(rows))
    figure.savefig(tmp_path / "log.png")
    assert (tmp_path / "log.png").stat().st_size > 2000
    shown = figure.axes[0].images[0].get_array()
    assert shown.compressed().tolist() == [5, 5]
