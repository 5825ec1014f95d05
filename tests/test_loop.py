"""The loop: seeds, streams, pauses, Ctrl-C, foreign environments and their misbehaviour."""

from __future__ import annotations

import gc
import sys
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit, TransformReward

import gim
from gim._compile.jit import bind, hot, plain
from gim.mdp.sampling import draw, make_world
from gim.runs.agent import agents
from gim.runs.loop import Compiled, streams
from gim.runs.run import prepare
from gim.runs.stepwise import Stepwise, converse
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
            below = tables.cut[cell] - (cell - low)
            assert 0 <= below <= 1
            chance[tables.state[2 * cell]] += below / (high - low)
            chance[tables.state[2 * cell + 1]] += (1 - below) / (high - low)
        assert np.allclose(chance, expected, atol=1e-12)


def shares_and_aliases(p):
    """Vose's method (1991) with two stacks: the share below the cut of each cell, and its alias."""
    n = len(p)
    total = 0.0
    for chance in p:
        total += chance
    share, alias = [chance * (n / total) for chance in p], list(range(n))
    poor, rich = [k for k in range(n) if share[k] < 1], [k for k in range(n) if share[k] >= 1]
    while poor and rich:
        k, giver = poor.pop(), rich[-1]
        alias[k] = giver
        share[giver] -= 1 - share[k]
        if share[giver] < 1:
            poor.append(rich.pop())
    for k in poor + rich:
        share[k] = 1.0
    return share, alias


class Chosen(NamedTuple):
    """A random stream of one chosen number."""

    u: float

    def random(self):
        return self.u


def test_a_draw_agrees_with_shares_of_cells_next_to_every_cut():
    # Cuts are counted from the start of the row: beyond the first cell they are rounded. Eight
    # cells, so that the number drawn, u / 8, is exact.
    n, rows = 8, np.random.default_rng(5).dirichlet(np.ones(8), 8)
    tables = make_world(gim.TabularMDP(rows[:, None], np.zeros((n, 1)), horizon=2))
    met, rounded = set(), 0
    for row, p in enumerate(rows):
        shares, aliases = shares_and_aliases(p)
        for cell in range(n):
            rounded += cell + shares[cell] - cell < shares[cell]
            at = cell + shares[cell]
            for u in (np.nextafter(at, 0), at, np.nextafter(at, n), cell + 0.5):
                if int(u) == cell:
                    above = u - cell >= shares[cell]
                    met.add((bool(above), u == at))
                    place = plain(draw)(tables, row, Chosen(u / n))
                    assert place == 2 * (n * row + cell) + above
                    assert tables.state[place] == (aliases[cell] if above else cell)
    assert rounded > 5
    assert met == {(True, True), (True, False), (False, True), (False, False)}


def test_agents_that_act_and_learn_alike_share_one_loop():
    mdp = gim.make("riverswim")

    def loop(spec):
        return Compiled(agents.make(spec), mdp, streams(1)).play

    assert loop("ucbvi") is loop("psrl")
    assert loop("gim") is loop("two_phase")
    assert loop("gim") is not loop("gim:exploration=curious")
    assert loop("analogist") is not loop("ucbvi")  # another act
    assert loop("orlc") is not loop("ucbvi")  # another learn


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
    lake = {"id": "FrozenLake-v1", "render_mode": "ansi", "max_episode_steps": 130}
    whole = gim.run("q_learning", gymnasium.make(**lake), episodes=60, seed=4)
    run = prepare(gim.QLearning(), gymnasium.make(**lake), 60, 4)
    assert run.task.H == 130
    run.pause_at(100)
    assert 0 < run.returns.size < 60
    run.save(tmp_path / "run.npz")
    resumed = gim.load(tmp_path / "run.npz")
    assert resumed.world.render_mode == "ansi"
    assert np.array_equal(gim.run(resume=resumed).returns, whole.returns)
    assert isinstance(resumed._driver, Stepwise)


def test_a_run_is_not_saved_without_the_wrappers_of_its_environment(tmp_path):
    env = TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: 2 * r)
    with pytest.raises(ValueError, match="cannot be saved with a TransformReward around"):
        gim.run("q_learning", env, 3).save(tmp_path / "run.npz")


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


# -- environments that show their table


class Watched(gymnasium.Wrapper):
    """Counts its steps."""

    steps = 0

    def step(self, action):
        self.steps += 1
        return self.env.step(action)


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


def test_an_environment_that_shows_its_table_is_played_from_it(caplog):
    env = Watched(lake().unwrapped)
    for made in (lake(), env.env, TimeLimit(env.env, 100), gim.make("riverswim").to_gymnasium()):
        run = prepare(gim.QLearning(), made, 5, horizon=50)
        assert isinstance(run._driver, Compiled)
    object_, word = (
        gim.run("psrl", lake(), 30, seed=3),
        gim.run("psrl", "FrozenLake-v1", 30, seed=3),
    )
    assert np.array_equal(object_.returns, word.returns)
    assert "played from the table" in object_.notes[0]
    assert not word.notes
    gim.run("psrl", lake(), 5)
    assert caplog.text.count("played from the table") <= 1  # said once, if not before this test
    assert env.steps == 0


class Shaped(type(lake().unwrapped)):
    """A lake that pays for each step; its table says nothing of that."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward - 1.0, *rest


def patched():
    env = lake().unwrapped
    env.step = lambda action: (0, 5.0, False, False, {})
    return env


@pytest.mark.parametrize(
    "build",
    [
        lambda: lake(render_mode="ansi"),
        lambda: Watched(lake()),
        lambda: gymnasium.Wrapper(lake()),
        lambda: RecordEpisodeStatistics(lake()),
        lambda: TransformReward(lake(), lambda r: 2 * r),
        Shaped,
        patched,
    ],
)
def test_what_the_table_would_not_show_is_stepped_through(build):
    run = prepare(gim.QLearning(), build(), 5, horizon=10)
    assert isinstance(run._driver, Stepwise)
    run.go()
    assert not run.notes
    if build is Shaped:
        assert (run.returns < 0).all()
    if build is patched:
        assert (run.returns == 50).all()


def test_watchers_see_every_step():
    env = Watched(lake())
    run = gim.run("random", env, 20)
    assert env.steps == run.steps > 0
    assert run.score >= 0  # the table is still there for the optimum


# -- environments without one


class Odd(gymnasium.Env):
    """An environment that misbehaves on request."""

    def __init__(self, reward=0.0, state=0, space=None, first=0, actions=None):
        self.observation_space = space or Discrete(3)
        self.action_space = actions or Discrete(2)
        self.reward, self.state, self.first = reward, state, first

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.first, {}

    def step(self, action):
        return self.state, self.reward, False, False, {}


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Odd(reward=float("nan")), "step 0 of episode 0: the environment paid nan"),
        (Odd(reward=float("inf")), "paid inf"),
        (Odd(reward=None), "paid None; rewards must be finite numbers"),
        (Odd(reward=10**400), "paid int"),
        (Odd(state=7), "step 0 of episode 0: the environment returned state 7"),
        (Odd(state=-1), "returned state -1"),
        (Odd(state=0.0), "returned state 0.0"),
        (Odd(first=3), "step 0 of episode 0: the environment returned state 3"),
        (Odd(space=Box(0, 1)), "gim needs Discrete spaces"),
        (Odd(space=Dict(a=Discrete(2), b=Text(3))), "the observation_space has Text"),
        (Odd(actions=Box(-1, 1)), "the action_space has Box"),
        (Odd(space=Box(0, 255, (84, 84), np.uint8)), "has about 10.16993 values, more than"),
        (Odd(space=Box(-np.inf, np.inf, (2,), np.int64)), "whole numbers with bounds"),
        (Odd(space=MultiDiscrete([2**11, 2**11])), "has 4,194,304 values, more than 1,048,576"),
        (
            Odd(space=MultiDiscrete([2**10, 2**10]), actions=Discrete(100)),
            "1,048,576 states and 100 actions are more than 67,108,864 pairs: merge or leave out",
        ),
    ],
)
def test_misbehaving_environments_are_named(env, message):
    with pytest.raises(ValueError, match=message):
        gim.run("random", env, episodes=3, horizon=5)


def test_a_run_goes_on_after_its_environment_has_raised():
    """The episode that broke off begins anew; what was learned before stays."""

    class Fails(Odd):
        steps = 0

        def step(self, action):
            self.steps += 1
            if self.steps == 7:
                raise OSError("the line is down")
            return 0, 1.0, False, False, {}

    run = prepare(gim.QLearning(), Fails(), 3, horizon=5)
    with pytest.raises(ValueError, match=r"step 1 of episode 1.*the line is down"):
        run.go()
    assert run.steps == 5  # of the episode that was over
    run.go()
    assert run.returns.tolist() == [5, 5, 5]


@hot
def _act_out_of_range(memory, s, h, rng):
    return memory.actions[0, 0] + 7 * (-1) ** h


def test_an_action_that_does_not_exist_is_named():
    run = prepare(gim.Random(), Odd(), 3, horizon=5)
    run._driver.play = bind(converse, "out of range", act=_act_out_of_range, learn=gim.Random.learn)
    with pytest.raises(
        ValueError, match="step 0 of episode 0: the agent chose action 7 in state 0"
    ):
        run.go()


def test_an_environment_without_time_limit_asks_for_a_horizon():
    with pytest.raises(ValueError, match="horizon="):
        gim.run("random", Odd(), episodes=3)


def test_time_limits_around_an_environment_are_seen():
    assert gim.run("random", TimeLimit(Odd(), 5), episodes=3).steps == 15
    assert gim.run("random", TimeLimit(TimeLimit(Odd(), 5), 9), episodes=3).steps == 15
    assert prepare(gim.Random(), TimeLimit(Odd(), 5), 3, horizon=4).task.H == 4
    assert prepare(gim.Random(), TimeLimit(Odd(), 5), 3, horizon=7).task.H == 5  # cut before
    assert prepare(gim.Random(), lake(), 3, horizon=200).task.H == 100


def test_discrete_spaces_that_do_not_start_at_0():
    env = Odd(state=6, space=Discrete(3, start=5), first=5)
    run = gim.run("q_learning", env, episodes=3, horizon=5)
    assert run.steps == 15
    assert run.policy_table().splitlines()[-1].split()[0] == "7"


class Shop(gymnasium.Env):
    """Two stocks, observed and ordered in any of Gymnasium's finite forms."""

    def __init__(self, form):
        self.form = form
        box = {"low": 0, "high": 3, "shape": (2,), "dtype": np.int32}
        self.observation_space, self.action_space = {
            "multi": (MultiDiscrete([4, 4]), MultiDiscrete([2, 2], start=[1, 1])),
            "tuple": (Tuple([Discrete(4)] * 2), Tuple([Discrete(2, start=1)] * 2)),
            "dict": (
                Dict(a=Discrete(4), b=Dict(c=Discrete(4))),
                Dict(a=Discrete(2, start=1), b=Dict(c=Discrete(2, start=1))),
            ),
            "box": (Box(**box), Box(1, 2, (2,), np.int8)),
            "number": (Discrete(16), Discrete(4)),
        }[form]

    def _seen(self):
        a, b = self.stocks
        shown = {
            "multi": np.array([a, b]),
            "tuple": (a, np.int64(b)),
            "dict": {"b": {"c": b}, "a": a},
        }
        return (shown | {"box": np.array([a, b], np.int32), "number": 4 * a + b})[self.form]

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.stocks = [0, 0]
        return self._seen(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        if self.form == "number":
            orders = [action // 2, action % 2]
        elif self.form == "dict":
            orders = [action["a"] - 1, action["b"]["c"] - 1]
            action.clear()  # an environment may do what it likes with its action
        else:
            orders = [int(x) - 1 for x in action]
            if self.form in ("multi", "box"):
                action[:] = 1
        sold = self.np_random.integers(0, 2, 2)
        self.stocks = [
            min(max(x + o - d, 0), 3) for x, o, d in zip(self.stocks, orders, sold, strict=True)
        ]
        return self._seen(), sum(self.stocks) - 0.1 * sum(orders), False, False, {}


@pytest.mark.parametrize("form", ["multi", "tuple", "dict", "box"])
def test_spaces_made_of_whole_numbers_run_as_their_numbers_do(form):
    runs = [gim.run("q_learning", Shop(kind), 30, seed=5, horizon=8) for kind in (form, "number")]
    assert np.array_equal(runs[0].returns, runs[1].returns)
    assert np.array_equal(runs[0].memory.q, runs[1].memory.q)
    v, acts = runs[0].task.variables, runs[0].task.action_variables
    named = form == "dict"
    assert v.names == (("a", "b.c") if named else ("x0", "x1"))
    assert acts.names == (("a", "b.c") if named else ("a0", "a1"))
    assert v.sizes == (4, 4)
    assert v.values(7) == (1, 3)
    assert acts.values(1) == (1, 2)
    assert runs[1].task.variables is None
    assert str(v.values(7)) in runs[0].policy_table()


def test_blackjack_simply_runs():
    run = gim.run("q_learning", gymnasium.make("Blackjack-v1"), episodes=2000, seed=1, horizon=10)
    assert run.task.S == 704
    assert run.task.variables.names == ("player", "dealer", "ace")
    assert run.task.variables.ordinal == (True, True, False)
    assert set(np.unique(run.returns)) <= {-1.0, 0.0, 1.0, 1.5}
    assert "(20, 5, 0)" in run.policy_table()
    model = gim.run("ucbvi:r_min=-1,r_max=1", gymnasium.make("Blackjack-v1"), 5, horizon=9).model
    assert model.variables == run.task.variables
    assert model.action_label(1) == "hit"


def test_bits_of_an_array_are_nominal():
    class Lamps(Odd):
        def step(self, action):
            return np.array([1, 0, 1], np.int8), 0.0, False, False, {}

    env = Lamps(space=MultiBinary(3), first=np.zeros(3, np.int8))
    run = gim.run("q_learning", env, 2, horizon=4)
    assert run.task.S == 8
    assert run.task.variables.ordinal == (False, False, False)
    assert run.memory.q.shape == (8, 2)


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


def test_the_stepwise_loop_lets_go_of_its_memory():
    run = prepare(gim.QLearning(), Odd(), 30, horizon=5)
    run.pause_at(20)
    q, now = run.memory.q, run.clock.steps
    held = sys.getrefcount(q), sys.getrefcount(now)
    for _ in range(10):
        run.pause_at(run.steps + 5)
    assert (sys.getrefcount(q), sys.getrefcount(now)) == held
    framed = sys.getrefcount(run.memory)
    run._driver._leave()
    assert sys.getrefcount(run.memory) < framed
    del run
    gc.collect()
    assert sys.getrefcount(q) == 2  # this name, and the argument


def test_a_stepped_run_that_has_not_begun_can_be_saved(tmp_path):
    whole = gim.run("q_learning", "FrozenLake-v1", episodes=30, seed=5)
    prepare(agents.make("q_learning"), gymnasium.make("FrozenLake-v1"), 30, 5, stepwise=True).save(
        tmp_path / "run.npz"
    )
    assert np.array_equal(gim.load(tmp_path / "run.npz").go().returns, whole.returns)
