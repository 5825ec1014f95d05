"""Where episodes begin, and what was done in them, as runs keep it."""

import gymnasium
import numpy as np
import pytest

import gim
from gim.runs.gymnasium_task import reward_range_of
from gim.runs.loop import STEPS_KEPT
from gim.runs.run import prepare, unpack_run


class Season(gymnasium.Env):
    """A season that is drawn at reset and stays; a step pays 1 in the season's own way."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)
    reward_range = (0.0, 1.0)

    def __init__(self):
        self.began, self.did = [], []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.season = int(self.np_random.choice(4, p=[0.4, 0.3, 0.2, 0.1]))
        self.began.append(self.season)
        self.did.append([])
        return self.season, {}

    def step(self, action):
        self.did[-1].append((self.season, int(action)))
        ended = bool(self.np_random.random() < 0.2)
        return self.season, float(action == self.season % 2), False, ended, {}


def test_the_model_begins_where_episodes_did():
    env = Season()
    run = gim.run("analogist:infer=none", env, episodes=60, horizon=8)
    begun = np.bincount(env.began, minlength=4)
    assert run.task.starts.tolist() == begun.tolist()
    assert run.model.start.tolist() == (begun / 60).tolist()


def test_the_trail_holds_what_was_done():
    env = Season()
    run = gim.run("random", env, episodes=150, horizon=8)
    kept = run.trail.pairs
    assert kept.shape == (100, 8)
    for e in range(50, 150):
        done = [2 * s + a for s, a in env.did[e]]
        assert kept[e % 100, : len(done)].tolist() == done
        assert (kept[e % 100, len(done) :][:1] == -1).all()


def test_of_endless_episodes_nothing_is_kept():
    """A row of a billion steps would fill the memory before the first of them."""
    run = prepare(gim.QLearning(), gim.make("riverswim"), 2, 0, horizon=2**31)
    assert run.trail.pairs.shape == (1, 1)
    assert run.pause_at(5000).steps == 5000
    long = prepare(gim.QLearning(), gim.make("riverswim"), 2, 0, horizon=STEPS_KEPT)
    assert long.trail.pairs.shape == (1, STEPS_KEPT)


def test_both_loops_leave_the_same_trail(tmp_path):
    mdp = gim.make("riverswim:length=5").with_(horizon=7)
    one = gim.run("psrl", mdp, episodes=30, seed=3)
    two = prepare(gim.PSRL(), mdp.to_gymnasium(), 30, 3, stepwise=True).go()
    assert (one.trail.pairs == two.trail.pairs).all()
    assert two.task.starts is None  # its table says where episodes begin
    one.save(tmp_path / "run.npz")
    assert (gim.load(tmp_path / "run.npz").trail.pairs == one.trail.pairs).all()


gymnasium.register("gim-tests/Season-v0", Season)


def test_a_saved_run_keeps_where_episodes_began():
    env = gymnasium.make("gim-tests/Season-v0", max_episode_steps=8)
    run = prepare(gim.Analogist(infer=None), env, 40, 0).go()
    arrays, meta = run.pack()
    again = unpack_run(dict(arrays), meta)
    assert again.task.starts.tolist() == run.task.starts.tolist()
    assert again.model.start.tolist() == run.model.start.tolist()
    older = {name: array for name, array in arrays.items() if name not in ("trail", "starts")}
    assert not unpack_run(older, meta).task.starts.any()  # it had kept neither


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("starts", np.array([1, 2, 3, -1]), "starts holds a number that is not from 0"),
        ("starts", np.zeros(3, np.int64), r"starts has shape \(3,\)"),
        ("trail", np.full((5, 8), 8), "trail holds a number that is not from -1 to 7"),
        ("trail", np.zeros((5, 8)), "trail has shape"),
    ],
)
def test_a_file_with_impossible_beginnings_is_refused(name, value, says):
    env = gymnasium.make("gim-tests/Season-v0", max_episode_steps=8)
    arrays, meta = prepare(gim.Random(), env, 5, 0).go().pack()
    with pytest.raises(ValueError, match=says):
        unpack_run(dict(arrays) | {name: value}, meta)


def test_an_environment_tells_its_range_of_rewards_through_wrappers():
    env = Season()
    assert reward_range_of(env) == (0.0, 1.0)
    assert reward_range_of(gymnasium.wrappers.TimeLimit(env, 8)) == (0.0, 1.0)
    assert reward_range_of(gymnasium.wrappers.TransformReward(env, lambda r: 9 * r)) is None
    env.reward_range = (-np.inf, np.inf)
    assert reward_range_of(env) is None
    for odd in ((1, 0), (0, np.nan), "ab", 3):
        env.reward_range = odd
        with pytest.raises(ValueError, match="reward_range = "):
            reward_range_of(env)
