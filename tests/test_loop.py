"""The loop: seeds, streams, pauses, Ctrl-C, foreign environments and their misbehaviour."""

from __future__ import annotations

import os
import signal
import threading
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import gim
from gim.loop import streams
from gim.run import prepare
from gim.sampling import make_world
from gim.testing.agents import small_worlds


def test_streams_are_separate_and_fixed_by_the_seed():
    one, two = streams(5), streams(5)
    assert one.world_seed == two.world_seed
    draws = [g.random(4) for g in (one.world, one.agent, one.thinking)]
    again = [g.random(4) for g in (two.world, two.agent, two.thinking)]
    assert np.array_equal(draws, again)
    assert len({tuple(d) for d in draws}) == 3
    assert not np.array_equal(streams(6).world.random(4), draws[0])


@pytest.mark.parametrize("world", small_worlds(), ids=lambda w: w.name)
def test_alias_tables_hold_the_exact_probabilities(world):
    tables = make_world(world)
    dense = world.to_dense().transitions.reshape(-1, world.S)
    for row in range(world.S * world.A + 1):
        expected = dense[row] if row < len(dense) else world.start
        chance = np.zeros(world.S)
        low, high = tables.first[row], tables.first[row + 1]
        for cell in range(low, high):
            chance[tables.state[2 * cell]] += tables.cut[cell] / (high - low)
            chance[tables.state[2 * cell + 1]] += (1 - tables.cut[cell]) / (high - low)
        assert np.allclose(chance, expected, atol=1e-12)


def test_optimal_and_random_earn_what_theory_says():
    for name in ("riverswim", "casinoland", "gridworld:seed=1"):
        mdp = gim.make(name)
        for agent, expected in (("optimal", mdp.optimal_return()), ("random", mdp.random_return())):
            returns = gim.run(agent, mdp, episodes=20_000, seed=3).returns
            error = returns.std() / np.sqrt(returns.size)
            assert abs(returns.mean() - expected) < 4.5 * error


def test_state_distribution_at_step_h_agrees_with_expected_visits():
    mdp = gim.make("gridworld", start=5)
    counted = np.zeros((mdp.horizon, mdp.S))

    class Watch(gymnasium.Wrapper):
        def reset(self, **kwargs):
            self.h = 0
            observation, info = self.env.reset(**kwargs)
            counted[0, observation] += 1
            return observation, info

        def step(self, action):
            result = self.env.step(action)
            self.h += 1
            if self.h < mdp.horizon:
                counted[self.h, result[0]] += 1
            return result

    episodes = 2000
    gim.run("random", Watch(mdp.to_gymnasium()), episodes=episodes, seed=1)
    expected = mdp.expected_visits(mdp.uniform_policy()).sum(axis=2)
    spread = np.sqrt(expected * (1 - expected) / episodes)
    assert (np.abs(counted / episodes - expected) <= 4.5 * spread + 1e-12).all()


def test_q_learning_finds_the_best_of_two_arms():
    mdp = gim.TabularMDP(np.ones((1, 2, 1)), [[0.3, 0.7]], horizon=1, noise=0.1)
    run = gim.run(gim.QLearning(), mdp, episodes=5000)
    assert run.policy.tolist() == [1]
    assert run.score > 0.9


def test_q_learning_with_a_decaying_world_agrees_with_hand_computation():
    # One state, one action, reward 1: Q <- Q + alpha (1 + gamma Q - Q).
    mdp = gim.TabularMDP(np.ones((1, 1, 1)), [[1.0]], horizon=4)
    run = gim.run(gim.QLearning(alpha=0.5, gamma=0.5, epsilon=0), mdp, episodes=1)
    q = 0.0
    for _ in range(4):
        q += 0.5 * (1 + 0.5 * q - q)
    assert run.memory.q[0, 0] == q
    assert run.returns.tolist() == [4.0]


def test_callback_reports_and_pauses_and_resume_gives_the_same_bits(tmp_path):
    whole = gim.run("q_learning", "riverswim", episodes=1_000_000, seed=4)
    reports = []

    def stop(report):
        reports.append(report)
        return True

    paused = gim.run("q_learning", "riverswim", episodes=1_000_000, seed=4, callback=stop)
    assert not paused.finished
    assert reports[0].episodes == 1_000_000
    assert reports[0].episode == paused.returns.size
    paused.save(tmp_path / "run.npz")
    resumed = gim.run(resume=tmp_path / "run.npz")
    assert resumed.finished
    assert np.array_equal(resumed.returns, whole.returns)
    assert np.array_equal(resumed.memory.q, whole.memory.q)
    assert np.array_equal(gim.run(resume=paused).returns, whole.returns)


def test_stepwise_run_on_a_foreign_environment_is_resumed_with_the_same_bits(tmp_path):
    whole = gim.run("q_learning", gymnasium.make("FrozenLake-v1"), episodes=60, seed=4)
    run = prepare(gim.QLearning(), gymnasium.make("FrozenLake-v1"), 60, 4)
    run.pause_at(100)
    assert 0 < run.returns.size < 60
    run.save(tmp_path / "run.npz")
    assert np.array_equal(gim.run(resume=tmp_path / "run.npz").returns, whole.returns)


def test_ctrl_c_stops_at_once_and_keeps_the_run():
    threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()
    before = time.perf_counter()
    with pytest.raises(gim.Interrupted) as caught:
        gim.run("q_learning", "riverswim", episodes=30_000_000, seed=4)
    assert time.perf_counter() - before < 3
    run = caught.value.run
    assert 0 < run.returns.size < 30_000_000
    rest = gim.run("q_learning", "riverswim", episodes=1000, seed=4)
    assert np.array_equal(run.returns[:1000], rest.returns)


def test_seeds_give_runs():
    runs = gim.run("random", "riverswim", episodes=50, seeds=range(3))
    assert runs.returns.shape == (3, 50)
    assert runs.score == pytest.approx(np.mean([run.score for run in runs]))
    assert np.array_equal(
        runs[1].returns, gim.run("random", "riverswim", episodes=50, seed=1).returns
    )


def test_policy_table_names_states_and_actions():
    run = gim.run("optimal", "riverswim", episodes=1)
    assert "right" in run.policy_table()
    assert gim.run("random", "riverswim", episodes=1).policy_table().count("0.50") == 12


class Odd(gymnasium.Env):
    """An environment that misbehaves on request."""

    def __init__(self, reward=0.0, state=0, space=None):
        self.observation_space = space or Discrete(3)
        self.action_space = Discrete(2)
        self.reward, self.state = reward, state

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return self.state, self.reward, False, False, {}


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Odd(reward=float("nan")), "step 0 of episode 0: the environment paid nan"),
        (Odd(reward=float("inf")), "paid inf"),
        (Odd(state=7), "step 0 of episode 0: the environment returned state 7"),
        (Odd(space=Box(0, 1)), "gim needs Discrete spaces"),
    ],
)
def test_misbehaving_environments_are_named(env, message):
    with pytest.raises(ValueError, match=message):
        gim.run("random", env, episodes=3, horizon=5)


def test_an_environment_without_time_limit_asks_for_a_horizon():
    with pytest.raises(ValueError, match="horizon="):
        gim.run("random", Odd(), episodes=3)


def test_discrete_spaces_that_do_not_start_at_0():
    env = Odd(state=6, space=Discrete(3, start=5))
    env.reset = lambda seed=None, options=None: (5, {})
    run = gim.run("q_learning", env, episodes=3, horizon=5)
    assert run.steps == 15


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"episodes": 0}, "episodes = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"agent": "q_lerning"}, "did you mean 'q_learning'"),
        ({"agent": "q_learning:alfa=1"}, "no parameter 'alfa': did you mean 'alpha'"),
        ({"agent": "q_learning:alpha=2"}, "alpha = 2.0: must be at most 1"),
        ({"world": "rivrswim"}, "did you mean 'riverswim'"),
        ({"world": 3}, "is not a world"),
        ({"agent": None}, "needs an agent and a world"),
    ],
)
def test_bad_calls(given, message):
    arguments = {"agent": "random", "world": "riverswim"} | given
    with pytest.raises(ValueError, match=message):
        gim.run(**arguments)
