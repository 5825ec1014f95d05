"""Checks that any agent must pass, whatever its algorithm."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gim._compile.jit import plain
from gim._compile.memory import flatten
from gim.mdp.tabular import TabularMDP
from gim.model.loading import load_saved
from gim.runs.agent import Agent, agents
from gim.runs.run import prepare
from gim.runs.runs import Run
from gim.testing.steps import Watched, check_belief


def check_agent(
    agent: Agent, worlds: Sequence[TabularMDP] | None = None, episodes: int = 40, seed: int = 1
) -> None:
    """Check an agent on small worlds (or on those given).

    The spec string of the agent builds it again; compiled, plain and stepwise runs agree bit for
    bit; a seed fixes every bit; dense and sparse storage agree; a run that is paused, saved, loaded
    and resumed ends as one that was not; where it has a belief, that counts what was seen (see
    `gim.testing.steps`); the policies are valid; no reference is lost or kept. An agent that is not
    one of gim's own is also played with every index checked.

    Raises:
        AssertionError: with what does not hold.
    """
    assert agents.make(str(agent)) == agent, f"{agent} does not come back from its spec string"
    for world in small_worlds() if worlds is None else worlds:
        compiled = prepare(agent, world, episodes, seed).go()
        assert compiled.finished
        assert np.isfinite(compiled.returns).all(), f"{world}: returns are not finite"
        _same(compiled, prepare(agent, world, episodes, seed).go(), "a second run")
        _same(compiled, _plain(prepare(agent, world, episodes, seed)).go(), "plain Python")
        env = Watched(world.to_gymnasium())
        stepwise = prepare(agent, env, episodes, seed, stepwise=True).go()
        _same(compiled, stepwise, "the stepwise loop")
        check_belief(stepwise, env)
        other = world.to_dense() if world.sparse else world.to_sparse()
        _same(compiled, prepare(agent, other, episodes, seed).go(), "the other storage")
        _same(compiled, _resumed(agent, world, episodes, seed), "a paused and resumed run")
        if not agents.owns(type(agent)):
            _same(compiled, _checked(prepare(agent, world, episodes, seed)).go(), "checked indices")
        _check_policy(compiled, world)
        _check_references(agent, world)


def small_worlds() -> list[TabularMDP]:
    """Worlds with everything in them: noise, terminal states, missing actions, random starts."""
    rng = np.random.default_rng(7)
    P = rng.dirichlet(np.full(5, 0.5), size=(5, 3))
    plain_one = TabularMDP(P, rng.random((5, 3)), horizon=6, name="plain")
    available = np.ones((5, 3), bool)
    available[1, 0] = available[3, 1:] = False
    start = np.array([0.5, 0.25, 0.25, 0, 0])
    P = np.where(P < 0.1, 0, P)
    P /= P.sum(axis=2, keepdims=True)
    P[4] = np.eye(5)[4]
    pay = rng.normal(size=(5, 3, 5))
    pay[4] = 0
    full = TabularMDP(
        sparse.csr_array(P.reshape(15, 5)),
        pay,
        start,
        horizon=8,
        terminal=[4],
        available=available,
        noise=0.3,
        name="full",
    )
    return [plain_one, full]


def _plain(run: Run) -> Run:
    run._driver.play = plain(run._driver.play)
    return run


def _checked(run: Run) -> Run:
    run._driver.check_indices()
    return run


def _resumed(agent: Agent, world: TabularMDP, episodes: int, seed: int) -> Run:
    """Stop in the middle of an episode, save, load, go on."""
    run = prepare(agent, world, episodes, seed)
    run.pause_at(episodes * world.horizon // 3 + 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        run.save(path)
        return load_saved(path, "run").go()


def _same(a: Run, b: Run, what: str) -> None:
    place = f"{a.agent} on {a.world}"
    assert np.array_equal(a.returns, b.returns), f"{place}: {what} gives other returns"
    assert a.steps == b.steps, f"{place}: {what} takes another number of steps"
    one, two = flatten(a.memory), flatten(b.memory)
    for key in one:
        assert _equal(one[key], two[key]), f"{place}: {what} leaves another memory.{key}"


def _equal(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _check_policy(run: Run, world: TabularMDP) -> None:
    place = f"{run.agent} on {world}"
    try:
        if run.policy is not None:
            world.value(run.policy)  # raises if the shape is wrong or an action is not available
            assert world.state_label(0) in run.policy_table()
    except ValueError as problem:
        raise AssertionError(f"{place}: policy is none of this world: {problem}") from problem
    try:
        world.value(run.best_policy())  # likewise; there always is one
    except ValueError as problem:
        raise AssertionError(f"{place}: best_policy is none of this world: {problem}") from problem


def _check_references(agent: Agent, world: TabularMDP) -> None:
    run = prepare(agent, world, 1000, 0).pause_at(20)
    arrays = [*flatten(run.memory).values(), *flatten(run.clock).values()]
    returns = np.zeros(1000)
    run._driver.advance(run.memory, run.clock, returns, 0)  # takes hold of them once
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(50):  # in which the agent may ask for a thought, but gets none
        run._driver.advance(run.memory, run.clock, returns, 5)
    after = [sys.getrefcount(array) for array in arrays]
    assert before == after, f"{agent} on {world}: references to its memory leak"
