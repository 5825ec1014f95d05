"""Pictures of tasks: text and pixels."""

import numpy as np
import pytest

import gim
from gim.envs import make


def test_text_marks_the_current_state():
    env = make("gridworld", map="S.#G/....", slip=0.0).to_gymnasium("ansi")
    env.reset(seed=0)
    assert env.render() == "[S] .  #  G\n .  .  .  .\nstep 0\n"
    env.step(1)
    assert env.render() == " S  .  #  G\n[.] .  .  .\nstep 1: down, reward -0.2\n"
    env = make("casinoland").to_gymnasium("ansi")
    env.reset(seed=0)
    env.step(1)
    assert env.render().splitlines()[0] == "[lever 0] lever 1  lever 2  lever 3"
    assert "step 1: up/pull, reward 0" in env.render()


def test_pixels_show_the_agent_and_nothing_else_moves():
    env = make("riverswim").to_gymnasium("rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(0)
    after = env.render()
    orange = lambda image: np.argwhere((image == (235, 129, 0)).all(axis=2))  # noqa: E731
    assert before.shape == after.shape == (108, 480, 3)
    assert orange(before)[:, 1].mean() // 80 == 2  # the third tile
    assert orange(after)[:, 1].mean() // 80 == 1
    changed = np.argwhere((before != after).any(axis=2))
    tiles = changed[changed[:, 0] < 80, 1] // 80
    assert set(tiles) == {1, 2}


@pytest.mark.parametrize("S", [1, 7, 500, 5000])
def test_pictures_of_any_size(S):
    mdp = gim.from_outcomes([(s, 0, (s + 1) % S, 1.0, float(s == 3)) for s in range(S)])
    for mode in ("ansi", "rgb_array"):
        env = mdp.to_gymnasium(mode)
        env.reset(seed=0)
        frame = env.render()
        assert frame.startswith("[") if mode == "ansi" else max(frame.shape) < 700
