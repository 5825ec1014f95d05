"""GIM against the paper's algorithms, transcribed, and against what the paper says of them."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

import gim
from gim.belief.knowledge import estimate, mean_rewards
from gim.paper.walks.base import explorations
from gim.runs.run import prepare
from tests.naive_gim import Literal, Published
from tests.random_mdps import random_mdp


def ours(walk: str) -> bool:
    """Whether a walk is of gim itself: benchmarks add some that only they can start."""
    return explorations.owns(explorations[walk])


class Recorder(gymnasium.Wrapper):
    """Keeps the actions taken."""

    def __init__(self, env):
        super().__init__(env)
        self.taken = []

    def step(self, action):
        self.taken.append(int(action))
        return super().step(action)


SETTINGS = [(1, 0.5, 0.2), (3, 0.8, 0.0), (5, 0.7, 0.5), (12, 1.0, 0.1), (40, 0.34, 0.2)]
SURPLUS = [None, None, 0, 2]


def small_world(seed):
    """Dense random worlds, and deterministic ones, which are full of ties and of long ways."""
    if seed % 4 == 3:
        return deterministic(seed)
    return random_mdp(seed, terminal=seed % 3 == 0, missing=seed % 2 == 0)


def deterministic(seed):
    """Every pair leads to one state for certain, but for a few that slip or end the episode."""
    rng = np.random.default_rng(seed)
    S, A = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    P = np.eye(S)[rng.integers(S, size=(S, A))]
    P[:, 0] = np.eye(S)[(np.arange(S) + 1) % S]  # a ring, so that most states can be reached
    slips = rng.random((S, A)) < 0.3
    P[slips] = 0.6 * P[slips] + 0.4 * np.eye(S)[rng.integers(S, size=slips.sum())]
    terminal = [S - 1] if seed % 8 == 3 else []
    P[terminal] = np.eye(S)[terminal][:, None]
    return gim.TabularMDP(P, np.zeros((S, A)), horizon=3 * S, terminal=terminal)


@pytest.mark.parametrize("seed", range(50))
def test_same_action_as_the_transcription_at_every_step(seed):
    m, rho, beta = SETTINGS[seed % len(SETTINGS)]
    mdp = small_world(seed)
    surplus = SURPLUS[seed % len(SURPLUS)]
    literal = Literal(mdp, m, rho, beta, seed, surplus)
    world = mdp.to_gymnasium()
    expected, explored_at = literal.explore(world, 10_000)
    env = Recorder(mdp.to_gymnasium())
    run = prepare(gim.GIM.paper(m, rho, beta, surplus=surplus, patience=10**9), env, 10_000, seed)
    run.pause_at(len(expected))
    assert env.taken[: len(expected)] == expected
    assert run.explored_at == explored_at
    if explored_at is None:
        return
    assert run.plans == 1
    assert run.memory.belief.counts.n.tolist() == literal.n  # counting stopped at that very step
    assert run.memory.known.mask.astype(int).tolist() == literal.mask
    P, seen = estimate(run.memory.belief, mdp.available)  # completion is tested on its own
    literal.plan(P.tolist(), mean_rewards(seen, 0.0).tolist())
    expected += literal.exploit(world, 10_000 - len(expected))
    run.pause_at(10_000)
    assert env.taken[:10_000] == expected


@pytest.mark.parametrize("seed", range(40))
def test_the_published_walk_does_as_its_transcription(seed):
    m, rho, beta = SETTINGS[seed % len(SETTINGS)]
    mdp = small_world(seed)
    literal = Published(mdp, m, rho, beta, seed, 1)
    expected, explored_at = literal.explore(mdp.to_gymnasium(), 3_000)
    env = Recorder(mdp.to_gymnasium())
    agent = gim.GIM(m, rho, beta, exploration="published", surplus=1, patience=10**9)
    run = prepare(agent, env, 10_000, seed)
    run.pause_at(len(expected))
    assert env.taken[: len(expected)] == expected
    assert run.explored_at == explored_at
    assert run.memory.belief.counts.n.tolist() == literal.n


@pytest.mark.filterwarnings("ignore:.*never had a known action")
def test_paper_completes_and_plans_once_at_the_first_step():
    calls = []

    def counting(matrices, weights, rng):
        calls.append(matrices.shape[0])
        return gim.completion.ALS()(matrices, weights, rng)

    mdp = gim.make("synthetic", seed=3)
    run = gim.run(gim.GIM.paper(m=5, completion=counting), mdp, episodes=2000, seed=1)
    assert run.plans == 1
    assert run.walk_plans == 0
    assert sorted(calls) == [1, 20]  # S transition matrices at once, and the reward matrix
    assert run.memory.known.pairs[0] == 160  # 0.8 * 20 * 10, and no step more


def test_no_exploration_that_ends_means_no_plan():
    run = gim.run(gim.GIM.paper(m=1000), gim.make("synthetic"), episodes=10)
    assert run.explored_at is None
    assert run.plans == 0
    assert run.policy is None


def test_rho_1_switches_completion_off():
    def never(matrices, weights, rng):
        raise AssertionError("completion was called")

    mdp = random_mdp(4, S=4, A=3, horizon=10)
    run = gim.run(gim.GIM(m=20, rho=1, completion=never), mdp, episodes=3000)
    assert run.explored_at is not None
    model = run.model
    assert model.known.all()
    n = run.memory.belief.counts.next.reshape(4, 3, 4)
    assert np.allclose(model.transitions, n / n.sum(axis=2, keepdims=True))


def out_of_reach():
    P = np.zeros((4, 2, 4))
    P[0, :, 1] = P[1, :, 0] = P[2, :, 3] = P[3, :, 2] = 1  # states 2 and 3 cannot be reached
    return gim.TabularMDP(P, np.ones((4, 2)), horizon=5)


@pytest.mark.filterwarnings("ignore:exploration stalled")
def test_rho_1_completes_nothing_after_a_stall_either():
    run = gim.run(gim.GIM(m=3, rho=1, patience=500), out_of_reach(), episodes=300)
    assert run.explored_at is not None
    assert not run.memory.known.mask.all()
    assert run.memory.belief.prior.n0.size == 0


def test_stall_ends_exploration_with_a_warning():
    mdp = out_of_reach()
    for walk in ("planned", "curious", "balanced"):
        agent = gim.GIM(m=3, rho=0.9, exploration=walk, patience=500)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            run = gim.run(agent, mdp, episodes=1000)
        texts = " ".join(str(warning.message) for warning in warned)
        assert "exploration stalled" in texts
        assert "2 states never had a known action" in texts
        assert run.finished
        assert run.explored_at < 200
        assert np.isclose(run.model.transitions.sum(axis=2), 1).all()


def test_terminal_pairs_are_known():
    mdp = gim.make("gridworld", terminal_goals=True, start=0, horizon=30)
    run = gim.run(gim.GIM(m=5, rho=1), mdp, episodes=3000, seed=2)
    assert run.explored_at is not None
    assert run.model.known[mdp.terminal].all()
    assert np.array_equal(run.model.terminal, mdp.terminal)


@pytest.mark.filterwarnings("ignore:.*never had a known action")
@pytest.mark.parametrize("walk", [name for name in explorations.names() if ours(name)])
def test_every_walk_ends_exploration(walk):
    mdp = gim.make("synthetic", S=8, A=4, seed=5)
    run = gim.run(gim.GIM(m=5, rho=0.8, exploration=walk), mdp, episodes=2000)
    assert run.explored_at is not None
    assert (run.walk_plans > 0) == explorations[walk].plans


@pytest.mark.filterwarnings("ignore:exploration stalled")
def test_planned_walking_crosses_a_chain_much_sooner():
    mdp = gim.make("riverswim", length=8)

    def episodes(agent):
        runs = gim.run(agent, mdp, episodes=4000, seeds=range(5))
        return np.median([4000 if run.explored_at is None else run.explored_at for run in runs])

    planned, curious = episodes(gim.GIM(m=10, rho=1)), episodes(gim.GIM.paper(m=10, rho=1))
    assert 4 * planned < curious


def test_model_can_be_kept_compared_given_new_rewards_and_reused(tmp_path):
    mdp = gim.make("synthetic", S=8, A=5, seed=2)
    run = gim.run(gim.GIM(m=30), mdp, episodes=3000)
    run.model.save(tmp_path / "model.npz")
    model = gim.load(tmp_path / "model.npz")
    assert np.array_equal(model.transitions, run.model.transitions)
    assert np.array_equal(model.known, run.model.known)
    found = model.compare(mdp)
    assert found["l1 known"] < 0.4
    assert found["loss"] >= -1e-9
    # New rewards, planned again without a new sample: close to the best of the changed task.
    rewards = np.random.default_rng(0).random((8, 5))
    changed = mdp.with_(rewards=rewards)
    policy = model.with_(rewards=rewards).plan().policy
    assert changed.policy_return(policy) > 0.9 * changed.optimal_return()
    # As the start of another run: what is known need not be explored again.
    again = gim.run(gim.GIM(m=30), changed, episodes=10, prior=model)
    assert again.explored_at == 0


def test_authors_presets_exist_for_the_four_tasks_only():
    agent = gim.GIM.authors("riverswim")
    assert (agent.m, agent.surplus) == (50, 1)  # known at m samples, one more is kept
    with pytest.raises(ValueError, match="did you mean 'riverswim'"):
        gim.GIM.authors("rivrswim")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"m": 0}, "m = 0: must be at least 1"),
        ({"rho": 1.5}, "rho = 1.5: must be at most 1"),
        ({"completion": "asl"}, "did you mean 'als'"),
        ({"exploration": "curios"}, "did you mean 'curious'"),
        ({"m": 2.5}, "must be a whole number"),
        ({"rows": "cut"}, "must be one of project, clip"),
    ],
)
def test_bad_parameters(given, message):
    with pytest.raises(ValueError, match=message):
        gim.GIM(**given)


@pytest.mark.filterwarnings("ignore:1 state never had a known action")
@pytest.mark.parametrize("worth", [0.0, 0.25, 3.0])
def test_a_completed_row_is_worth_what_is_asked(worth):
    """Where the pair is not known; 0 visits are next to none: any of its own overrule it."""
    run = gim.run(gim.GIM(m=3, rho=0.8, worth=worth), "gridworld", episodes=400, seed=0)
    n0, known = run.memory.belief.prior.n0, run.memory.known.mask
    assert run.explored_at is not None
    assert 0 < known.sum() < known.size
    assert (n0 == np.where(known, 0.0, max(worth, 1e-300))).all()
