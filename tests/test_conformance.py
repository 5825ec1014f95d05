"""The conformance kit over everything registered: each agent on each task, each task by itself."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.agent import agents
from gim.envs import tasks
from gim.memory import flatten
from gim.run import prepare
from gim.testing import check_task
from gim.testing.agents import _plain
from tests.small_worlds import WORDS

WORLDS = {word: gim.make(word) for word in WORDS}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", agents.names())
def test_compiled_plain_and_stepwise_agree_on_every_task(name):
    agent = agents.make(name)
    for world in WORLDS.values():
        compiled = prepare(agent, world, 8, 3).go()
        others = {
            "plain": _plain(prepare(agent, world, 8, 3)).go(),
            "stepwise": prepare(agent, world.to_gymnasium(), 8, 3, stepwise=True).go(),
        }
        for what, other in others.items():
            assert np.array_equal(compiled.returns, other.returns), (what, world)
            one, two = flatten(compiled.memory), flatten(other.memory)
            for key in one:
                assert np.array_equal(one[key], two[key], equal_nan=True), (what, world, key)


@pytest.mark.parametrize("name", tasks.names())
def test_every_task_passes_its_checks(name):
    # Ten machines have 11,264 rows of up to 1,024 successors; six say as much in a second.
    check_task(gim.make(name, **({"machines": 6} if name == "sysadmin" else {})))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", agents.names())
@pytest.mark.parametrize("env", ["FrozenLake-v1", "CliffWalking-v1"])
def test_runs_on_foreign_environments_are_fixed_by_their_seed(name, env):
    import gymnasium

    def returns(seed):
        given = {"horizon": 30} if env == "CliffWalking-v1" else {}
        stepped = gymnasium.Wrapper(gymnasium.make(env))
        return gim.run(name, stepped, episodes=5, seed=seed, **given).returns

    assert np.array_equal(returns(1), returns(1))
