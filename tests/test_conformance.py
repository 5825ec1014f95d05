"""The conformance kits over everything registered, and each agent on each task."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import gim
from gim import testing
from gim._base.registry import Registry
from gim._compile.memory import flatten
from gim.envs import tasks
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim.testing.agents import _plain


def own(registry):
    """The names of gim's own: not those that tests have added."""
    return [name for name in registry.names() if registry.owns(registry[name])]


EXAMPLES = [
    pytest.param(registry, word, id=f"{registry.kind}-{word}")
    for registry in Registry.every
    if registry.kind not in ("experiment", "claim")  # those have tests of their own
    for name in own(registry)
    for word in registry.examples(name)
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("registry", "word"), EXAMPLES)
def test_everything_registered_passes_the_kit_of_its_kind(registry, word):
    getattr(testing, f"check_{registry.kind}")(registry.make(word))


@pytest.mark.parametrize("name", own(tasks))
def test_every_task_passes_its_kit_at_its_defaults(name):
    mdp = gim.make(name)
    if mdp.rows().nnz < 200_000:  # larger ones in their small form only
        testing.check_task(mdp)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", own(agents))
def test_compiled_plain_and_stepwise_agree_on_every_task(name):
    """Every agent plays a sixth of the tasks, every task has a sixth of the agents."""
    agent, first = agents.make(name), own(agents).index(name) % 6
    words = [word for task in own(tasks) for word in tasks.examples(task)]
    for world in map(gim.make, words[first::6]):
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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", own(agents))
@pytest.mark.parametrize("env", ["FrozenLake-v1", "CliffWalking-v1"])
def test_runs_on_foreign_environments_are_fixed_by_their_seed(name, env):
    def returns(seed):
        given = {"horizon": 30} if env == "CliffWalking-v1" else {}
        stepped = gymnasium.Wrapper(gymnasium.make(env))
        return gim.run(name, stepped, episodes=5, seed=seed, **given).returns

    assert np.array_equal(returns(1), returns(1))
