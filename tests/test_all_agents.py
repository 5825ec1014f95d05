"""What all agents must respect: units, sparse counts, ranges of rewards, true models."""

from __future__ import annotations

import types

import gymnasium
import numpy as np
import pytest

import gim
from gim._base.params import describe
from gim.agents.rtdp import RTDP
from gim.model import counts
from gim.model.rewards import reward_range, seen_range
from gim.runs.agent import Agent, agents
from tests.random_mdps import eventful, random_mdp

PARAMETERS = {name: {p.name for p in describe(agents[name])} for name in agents.names()}


RANGED = [name for name, known in PARAMETERS.items() if "r_max" in known]  # optimists, mostly


MODELLING = [name for name in agents.names() if agents[name].model is not Agent.model]


COUNTING = [  # spec strings of the agents that have a belief, at every setting of their examples
    word
    for name in agents.names()
    if agents[name].belief is not Agent.belief
    for word in agents.examples(name)
]


@pytest.mark.parametrize("word", [*RANGED, "rmax:m=5", "ucbvi:bonus=hoeffding"])
def test_the_unit_of_rewards_does_not_matter(word):
    """Rewards of 1024 times the size (exact in binary) change no choice."""
    mdp = eventful(6)
    large = mdp.with_(rewards=1024 * mdp.rewards, noise=1024 * 0.2)
    one, two = (gim.run(word, world, 200, seed=3).returns for world in (mdp, large))
    assert np.array_equal(1024 * one, two)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("word", [word for word in COUNTING if "infer=" not in word])
def test_sparse_counts_change_nothing(word, monkeypatch):
    """Completion of sparse counts goes by blocks (see test_inference): it is asked for nowhere."""
    mdp = random_mdp(7, S=6, A=3, horizon=8, terminal=True, missing=True)
    dense = gim.run(word, mdp, 150, seed=5)
    monkeypatch.setattr(counts, "DENSE_LIMIT", 0)
    sparse = gim.run(word, mdp, 150, seed=5)
    assert sparse.memory.belief.counts.keys.size
    assert np.array_equal(sparse.returns, dense.returns)
    assert np.array_equal(sparse.policy, dense.policy)


def starts_at_the_top(name):
    """Whether it keeps values that can only fall, so that they must begin high enough."""
    return agents[name].belief is Agent.belief or issubclass(agents[name], RTDP)


class Coin(gymnasium.Env):
    """A world without a table, which does not say how large its rewards are."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, low=0.0, high=1.0):
        self.pays = (low, high)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(self.np_random.random() < 0.5), self.pays[action], False, False, {}


@pytest.mark.parametrize("name", [name for name in RANGED if starts_at_the_top(name)])
def test_values_that_start_at_the_top_must_know_it(name):
    with pytest.raises(ValueError, match=r"not say how large its rewards can be: give .*r_max="):
        gim.run(name, Coin(), 5, horizon=5)
    told = "r_min=0,r_max=1" if "r_min" in PARAMETERS[name] else "r_max=1"
    assert gim.run(f"{name}:{told}", Coin(), 5, horizon=5).finished


def test_delayed_q_learning_finds_what_pays_once_it_knows_the_top():
    run = gim.run("delayed_q_learning:r_max=1", Coin(), 300, horizon=5, seed=1)
    assert run.returns[-50:].mean() > 4.5


@pytest.mark.parametrize("name", [name for name in RANGED if not starts_at_the_top(name)])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, -2.0), (100.0, 250.0)])
def test_reward_ranges_that_are_not_told_are_learned(name, low, high):
    env = Coin(low, high)
    run = gim.run(name, env, 300, horizon=5, seed=1)
    assert (run.returns[-50:].mean() / 5 - low) / (high - low) > 0.9
    assert "what was seen stands for it" in run.notes[0]
    assert len(run.notes) == 1
    told = "r_min=-3,r_max=250" if "r_min" in PARAMETERS[name] else "r_max=1"
    assert not gim.run(f"{name}:{told}", env, 5, horizon=5).notes
    assert gim.run(
        f"{name}:r_max=0", env, 5, horizon=5
    ).finished  # seen or not, what is given holds


def test_a_certificate_says_that_the_range_of_rewards_is_assumed():
    run = gim.run("analogist", Coin(), 20, horizon=5)
    assert gim.certify(run).assumed == ("no pair pays less than -1 or more than 2",)


def test_what_was_seen_of_rewards():
    seen = counts.new_counts(2, 2)
    assert seen_range(seen) == (0, 1)
    seen.n[0, 0], seen.R[0, 0] = 4, -12.0
    assert seen_range(seen) == (-3, -2)
    seen.n[1, 0], seen.R[1, 0] = 2, 1.0
    assert seen_range(seen) == (-3, 4)  # what was not tried may pay more than all that was
    seen.n[:, 1], seen.R[:, 1] = 1, 0.25
    assert seen_range(seen) == (-3, 0.5)
    task = types.SimpleNamespace(reward_range=None)
    assert reward_range(task, None, None, seen) == (-3, 0.5)
    assert reward_range(task, 1.0, None, seen) == (1, 1)
    assert reward_range(task, None, -5.0, seen) == (-5, -5)
    assert reward_range(task, -9.0, 9.0, None) == (-9, 9)


@pytest.mark.parametrize("name", ["analogist", "ucbvi", "rmax"])
def test_what_pays_first_is_not_taken_for_the_best_there_is(name):
    """State 1 pays nothing; state 0 pays 1 for the first action, as often as one likes, 3 for the
    second, which nobody has seen before it is tried."""

    class Better(Coin):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = int(self.np_random.random() < 0.5)
            return self.state, {}

        def step(self, action):
            paid = 0.0 if self.state else (1.0, 3.0)[action]
            self.state = 0
            return 0, paid, False, False, {}

    run = gim.run(name, Better(), 60, horizon=5, seed=0)
    assert run.returns[-20:].mean() > 12


def test_r_min_above_r_max_is_refused():
    with pytest.raises(ValueError, match="r_min = 3 is above r_max = 2"):
        gim.run("ucbvi:r_min=3,r_max=2", "riverswim", 5)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [n for n in MODELLING if not agents[n].assumes_structure])
def test_models_are_valid_and_come_near_the_truth(name):
    """Of agents that assume no structure: this world has none."""
    mdp = eventful(1)
    run = gim.run(name, mdp, 2000, seed=1)
    met = run.model.visits >= 40
    assert met.sum() >= 4
    assert run.model.compare(mdp)["l1"][met].max() < 0.5
    assert np.array_equal(run.model.terminal, mdp.terminal)


# -- the optimum, where theory promises it

PLANNERS = ["mbie", "ucrl2", "ubev", "orlc", "e3:m=30"]
COUNTERS = ["ucbvi", "ucbvi:bonus=hoeffding", "psrl", "mbie_eb"]
RMAX = ["rmax:m=60", "rmax:m=60,plan_per=pair"]
STRUCTURED = [f"{name}_rmax:m=20" for name in ("factored", "met", "relocatable")]
BACKUPS = ["rtdp_rmax:m=60", "rtdp_mbie"]
BONUSES = [f"optimistic_q_learning:bonus={bonus}" for bonus in ("hoeffding", "bernstein")]
NEAR = [  # episodes, share of the optimum, tasks, agents
    (1500, 0.97, ["riverswim"], [*COUNTERS, "rlsvi", *STRUCTURED, "mormax:m=20"]),
    (1500, 0.98, ["riverswim"], RMAX),
    (1500, 0.97, ["riverswim", "casinoland", "gridworld"], PLANNERS),
    (1500, 0.98, ["casinoland"], ["rlsvi"]),
    (5000, 0.97, ["riverswim", "casinoland"], BACKUPS),
    (10_000, 0.95, ["riverswim"], BONUSES),
    (10_000, 0.97, ["casinoland"], BONUSES),
]


@pytest.mark.parametrize(
    ("task", "word", "episodes", "share"),
    [(task, word, n, share) for n, share, many, words in NEAR for task in many for word in words],
)
def test_agents_come_near_the_optimum(task, word, episodes, share):
    """Their policy, and what they earn by then; without exploring it is next to nothing."""
    mdp = gim.make(task)
    run = gim.run(word, mdp, episodes, seed=2)
    assert mdp.policy_return(run.policy) >= share * mdp.optimal_return()
    if word not in PLANNERS:  # which keep the widths of their proofs for longer
        assert mdp.score(run.returns[-min(1000, episodes // 3) :]) >= share - 0.02
    assert (run.plans == 0) == (word in (*BACKUPS, *BONUSES))


@pytest.mark.parametrize("word", [*COUNTERS, *RMAX, *PLANNERS])
def test_agents_come_near_the_optimum_of_random_worlds(word):
    for seed in (3, 4):
        mdp = eventful(seed)
        run = gim.run(word, mdp, 2500, seed=seed)
        best, worst = mdp.optimal_return(), mdp.random_return()
        assert best - mdp.policy_return(run.policy) <= 0.05 * (best - worst)
        assert best - run.returns[-1000:].mean() <= 0.1 * (best - worst)
