"""`run.best_policy()`: never None, never by optimism, in the world's own names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

import gim
from gim._compile.jit import hot
from gim.analogy.base import Inference, Prior, prior_of
from gim.model.deploy import planned
from gim.model.learned import LearnedModel
from gim.runs.agent import GO_ON, Agent, agents
from gim.runs.run import prepare
from gim.testing.agents import small_worlds
from tests.random_mdps import random_mdp

EVERY = agents.names()
MODELS = [  # at every setting of their examples
    word
    for name in EVERY
    if agents[name].model is not Agent.model
    for word in agents.examples(name)
]


def cautious(model: LearnedModel) -> list[list[int]]:
    """The slow, obvious twin of `planned`: a table of pairs, one at a time."""
    S, A = model.S, model.A
    P, r = model.to_dense().transitions.copy(), model.rewards.copy()
    playable = [
        [a for a in range(A) if model.available[s, a] and model.supported[s, a]] for s in range(S)
    ]
    least = min([0.0, *(r[s, a] for s in range(S) for a in playable[s])])
    for s in range(S):
        if not playable[s]:
            playable[s] = [a for a in range(A) if model.available[s, a]]
            r[s, playable[s]] = least
    v, policy = np.zeros(S), []
    for _ in range(model.horizon):
        q = {(s, a): r[s, a] + P[s, a] @ v for s in range(S) for a in playable[s]}
        policy.insert(0, [max(playable[s], key=lambda a, s=s: (q[s, a], -a)) for s in range(S)])
        v = np.array([q[s, a] for s, a in enumerate(policy[0])])
    return policy


@pytest.mark.parametrize("word", EVERY)
@pytest.mark.parametrize("episodes", [0, 1, 30])
def test_every_agent_has_one_at_any_time(word, episodes):
    for world in small_worlds():
        run = prepare(agents.make(word), world, max(1, episodes), 3)
        if episodes:
            run.go()
        policy = run.best_policy()
        assert isinstance(policy, gim.Policy)
        value = world.policy_return(policy)  # raises where an action is not available
        assert value <= world.optimal_return() + 1e-9
        assert len(policy.states) == world.S
        assert len(policy.actions) == world.A
        assert policy.horizon in (None, world.horizon)


def test_it_is_the_optimum_of_who_knows_the_world():
    world = gim.make("casinoland")
    for run in (prepare(gim.Optimal(), world, 1), gim.run("optimal", world, episodes=1)):
        assert world.policy_return(run.best_policy()) == pytest.approx(world.optimal_return())
    chances = np.asarray(gim.run("random", world, episodes=1).best_policy())
    assert np.array_equal(chances, world.uniform_policy())


@pytest.mark.parametrize("word", ["q_learning", "double_q_learning", "delayed_q_learning"])
def test_who_learns_values_is_greedy_in_them(word):
    world = gim.make("gridworld")
    run = gim.run(word, world, episodes=200)
    q = run.memory.q if word != "double_q_learning" else run.memory.q[0] + run.memory.q[1]
    best = np.asarray(run.best_policy())
    assert best.shape == (world.S,)
    assert np.array_equal(q[np.arange(world.S), best], q.max(axis=1))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("word", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_who_has_a_model_plans_on_it(word, seed):
    world = random_mdp(seed, S=6, A=3, horizon=5, terminal=True, missing=True)
    run = gim.run(word, world, episodes=4, seed=seed)
    found = np.asarray(run.best_policy())
    if getattr(run.agent.inference(), "doubted", False):  # rules are doubted besides
        assert np.array_equal(found, run.belief.deployed)
        mean = run.belief.mean
        assert mean.policy_return(found) >= mean.policy_return(cautious(mean)) - 0.5
        return
    assert np.array_equal(found, cautious(run.model))


@pytest.mark.parametrize("word", ["mbie_eb", "psrl", "rmax:m=3", "ucbvi", "gim:rho=1,m=3"])
@pytest.mark.parametrize("pays", ["rewards", "costs"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_pair_never_met_is_never_recommended(word, pays, sparse):
    """Without inference: neither for the hope of a reward nor to escape a cost."""
    for seed in range(4):
        world = random_mdp(seed, S=8, A=4, horizon=6, sparse=sparse)
        shift = 5.0 if pays == "costs" else 0.0
        world = world.with_(rewards=world.rewards - world.rewards.min() - shift)
        run = gim.run(word, world, episodes=2, seed=seed)
        met, policy = run.model.visits > 0, np.asarray(run.best_policy())
        some = met.any(axis=1)
        assert some.any()
        assert not met.all(axis=1).all()
        assert met[np.arange(world.S), policy][:, some].all()


def test_an_untried_way_out_of_costs_is_not_taken():
    """A cost of 1 at every step; pairs never met would stay for nothing if one believed it."""
    walk = gim.from_step(
        lambda s, a: [(1.0, min(max(s + a, 0), 9), -1.0)],
        states=range(10),
        actions=(-1, 0, 1),
        terminal=[9],
        horizon=30,
    )
    run = gim.run("ucbvi", walk, episodes=40, seed=1)
    assert walk.policy_return(run.best_policy()) == -9.0
    early = gim.run("ucbvi", walk, episodes=3, seed=1)
    model, policy = early.model, np.asarray(early.best_policy())
    met = model.visits > 0
    assert not met.all()
    assert met[np.arange(10), policy][:, met.any(axis=1)].all()
    believed = model.rewards[(model.visits == 0) & ~model.terminal[:, None]]
    assert believed.size
    assert (believed == -1.0).all()


@dataclass(frozen=True)
class Moves(Inference):
    """Predicts that every pair goes to state 0, worth 5 visits, and says nothing of rewards."""

    def __call__(self, counts: Any, frame: Any, rng: Any) -> Prior:
        S, A = counts.n.shape
        q = np.zeros((S, A, S))
        q[:, :, 0] = 1.0
        return prior_of(q, np.full((S, A), 5.0))


def test_inferred_pairs_may_be_recommended_but_not_for_a_reward_that_nobody_knows():
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, 0, 2] = P[1, 1, 0] = P[2, :, 2] = 1.0
    world = gim.TabularMDP(P, [[-1, -1], [-3, -1], [-1, -1]], horizon=6)
    run = prepare(gim.UCBVI(infer=Moves()), world, 50, 0)
    run.pause_at(7)
    model = run.model
    unmet = (model.visits == 0) & model.available
    assert model.supported.all()
    assert unmet.any()
    assert (model.rewards[unmet] == model.rewards[model.visits > 0].min()).all()
    assert np.array_equal(np.asarray(run.best_policy()), cautious(model))


def test_support_is_kept_and_told_from_the_rows_where_it_was_not_given(tmp_path):
    run = gim.run("ucbvi", random_mdp(1, S=6, A=3), episodes=2)
    model = run.model
    assert np.array_equal(model.supported, model.visits > 0)
    model.save(tmp_path / "m.npz")
    assert np.array_equal(gim.load(tmp_path / "m.npz").supported, model.supported)
    assert np.array_equal(model.with_(horizon=3).supported, model.supported)
    for form in (model.to_dense(), model.to_sparse()):
        arguments = form._arguments() | {"supported": None}
        assert np.array_equal(LearnedModel(**arguments).supported, model.supported)


def test_psrl_deploys_the_mean_not_a_draw():
    world = gim.make("gridworld")
    run = gim.run("psrl", world, episodes=60, seed=2)
    assert np.array_equal(np.asarray(run.best_policy()), planned(run.model))
    assert world.policy_return(run.best_policy()) > world.policy_return(run.policy)
    before = run.random.thinking.bit_generator.state
    run.best_policy()
    assert run.random.thinking.bit_generator.state == before  # asking changes nothing


def test_it_is_the_plan_when_all_is_known():
    for seed in range(5):
        world = random_mdp(seed, S=5, A=3, horizon=4, terminal=True, missing=True)
        model = LearnedModel(
            **world._arguments(), visits=np.ones((5, 3)), known=np.ones((5, 3), bool)
        )
        assert np.array_equal(planned(model), world.plan().policy)


class Memory(NamedTuple):
    nothing: NDArray[np.int64]


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> int:
    return 0


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    return GO_ON


def test_an_agent_with_nothing_to_show_says_what_is_missing():
    class Mute(Agent, name="mute_for_a_test"):
        act = staticmethod(act)
        learn = staticmethod(learn)

        def start(self, task, rng):
            return Memory(np.zeros(1, np.int64))

    try:
        run = prepare(Mute(), gim.make("riverswim"), 1)
        with pytest.raises(ValueError, match=r"Mute has neither .*define greedy\(memory, task\)"):
            run.best_policy()
    finally:
        del agents._made["mute_for_a_test"]


# -- in whose names


def test_names_are_those_of_the_world():
    best = gim.run("psrl", "riverswim", episodes=300).best_policy()
    assert (best(0), best(3), best(0, step=19)) == ("right", "right", "left")
    assert best.index(0) == 1
    casino = gim.run("optimal", "casinoland", episodes=1).best_policy()
    assert casino("room 0") in gim.make("casinoland").action_labels
    with pytest.raises(ValueError, match=r"0 is no state .*'room 0'.*policy.index takes numbers"):
        casino(0)
    walk = gim.from_step(
        lambda cell, move: [(1.0, (min(max(cell[0] + move, 0), 3), cell[1]), -1.0)],
        states=[(x, y) for x in range(4) for y in "ab"],
        actions=(-1, 1),
        terminal=[(3, "a"), (3, "b")],
        horizon=9,
    )
    best = gim.run("optimal", walk, episodes=1).best_policy()
    assert best((1, "b")) == 1
    assert type(best((1, "b"))) is int


class OffByOne(gymnasium.Env):
    """States 5 and 6, actions 1 and 2: right is the action that is 4 below the state."""

    observation_space = gymnasium.spaces.Discrete(2, start=5)
    action_space = gymnasium.spaces.Discrete(2, start=1)
    spec = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 5 + int(self.np_random.integers(2))
        return self.state, {}

    def step(self, action):
        reward = float(action == self.state - 4)
        self.state = 5 + int(self.np_random.integers(2))
        return self.state, reward, False, False, {}


@pytest.mark.parametrize("word", ["q_learning:gamma=0", "ucbvi:r_min=0,r_max=1"])
def test_an_environment_is_answered_in_its_own_numbers(word, tmp_path):
    best = gim.run(word, OffByOne(), episodes=200, horizon=5).best_policy()
    assert (best(5), best(6)) == (1, 2)
    best.to_csv(tmp_path / "p.csv")
    assert gim.load(tmp_path / "p.csv")(np.int64(6)) == 2


def test_a_policy_plays_in_a_gymnasium_loop():
    env = gymnasium.make("FrozenLake-v1")
    policy = gim.run("psrl", env, episodes=200).best_policy()
    returns = []
    for episode in range(200):
        state, _ = env.reset(seed=episode)
        total = 0.0
        for step in range(100):
            state, reward, terminated, truncated, _ = env.step(policy(state, step))
            total += reward
            if terminated or truncated:
                break
        returns.append(total)
    exact = gim.from_gymnasium("FrozenLake-v1").policy_return(policy)
    assert exact > 0.7
    assert np.mean(returns) == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 200))
