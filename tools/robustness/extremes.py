"""Worlds at the edge of what a table can say, played by everything that is registered.

Each cell of the matrix is a world and a thing: `right` if it was played or computed and every
number that came out is finite (or refused where the page says so), else the exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from gim import planning
from gim._compile.memory import flatten
from gim.analogy.base import inferences
from gim.mdp.tabular import TabularMDP
from gim.model.completion import completions
from gim.paper.walks.base import explorations
from gim.runs.agent import agents
from gim.runs.run import prepare

SMALL = np.array(
    [[[0.5, 0.5, 0], [0, 0.5, 0.5]], [[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0.2, 0.3, 0.5]]]
)


def worlds() -> dict[str, TabularMDP]:
    """The worlds, by name."""
    pay = np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 0.25]])
    tiny = np.array([1 - 1e-12, 1e-12 - 1e-300, 1e-300])
    rare = np.broadcast_to(tiny, (3, 2, 3)).copy()
    rare[1, 1], rare[2, 0] = tiny[::-1], tiny[[1, 0, 2]]
    ends = SMALL.copy()
    ends[1:] = np.eye(3)[1:, None, :]
    apart = np.zeros((4, 2, 4))
    apart[:2, :, :2] = apart[2:, :, 2:] = np.array([[[0.5, 0.5], [0, 1]], [[1, 0], [0.5, 0.5]]])
    cycle = np.roll(np.eye(3), 1, axis=1)[:, None, :].repeat(2, axis=1)
    only = np.array([[True, False], [True, True], [False, True]])
    return {
        "rewards of 1e300": TabularMDP(SMALL, pay * 1e300, horizon=5),
        "rewards of -1e300": TabularMDP(SMALL, -pay * 1e300, horizon=5),
        "rewards of 1e70": TabularMDP(SMALL, pay * 1e70, horizon=5),
        "rewards of -1e70": TabularMDP(SMALL, -pay * 1e70, horizon=5),
        "rewards of 1e-300": TabularMDP(SMALL, pay * 1e-300, horizon=5),
        "rewards of both signs": TabularMDP(SMALL, (pay - 0.5) * 2e70, horizon=5),
        "equal rewards": TabularMDP(SMALL, np.ones((3, 2)), horizon=5),
        "noise of 1e70": TabularMDP(SMALL, pay, horizon=5, noise=1e70),
        "noise of 1e150": TabularMDP(SMALL, pay, horizon=5, noise=1e150),
        "probabilities of 1e-300": TabularMDP(rare, pay, horizon=5),
        "one state": TabularMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], horizon=5),
        "one action": TabularMDP(SMALL[:, :1], pay[:, :1], horizon=5),
        "one state, one action": TabularMDP(np.ones((1, 1, 1)), [[1.0]], horizon=5),
        "one step": TabularMDP(SMALL, pay, horizon=1),
        "all terminal but one": TabularMDP(ends, pay * [[1], [0], [0]], horizon=5, terminal=[1, 2]),
        "disconnected": TabularMDP(apart, np.ones((4, 2)) * [[0], [1], [0], [1]], horizon=5),
        "periodic": TabularMDP(cycle, pay, horizon=5),
        "few actions available": TabularMDP(SMALL, pay * only, horizon=5, available=only),
    }


def long() -> TabularMDP:
    """A world whose episodes never end in practice."""
    pay = np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 0.25]])
    return TabularMDP(SMALL, pay, horizon=2**31)


def things() -> dict[str, Callable[[TabularMDP], None]]:
    """What is tried in each world: agents, walks, inferences, completions and planners."""
    made: dict[str, Callable[[TabularMDP], None]] = {}
    for name in agents.names():
        made[f"agent {name}"] = _plays(name)
    for name in explorations.names():
        made[f"walk {name}"] = _plays(f"gim:m=3,exploration={name}")
    for name in inferences.names():
        made[f"inference {name}"] = _plays(f"ucbvi:infer={name}")
    for name in completions.names():
        made[f"completion {name}"] = _plays(f"gim:m=3,completion={name}")
    made["plan over the horizon"] = lambda mdp: _finite(mdp.plan().v, mdp.optimal_return())
    made["plan, discounted"] = lambda mdp: _finite(mdp.plan(discount=0.95).v)
    made["policy, evaluated"] = lambda mdp: _finite(
        mdp.value(mdp.uniform_policy()), mdp.random_return()
    )
    made["policy, discounted"] = lambda mdp: _finite(mdp.value(mdp.uniform_policy(), discount=0.9))
    made["expected visits"] = lambda mdp: _finite(mdp.expected_visits(mdp.uniform_policy()))
    made["diameter"] = lambda mdp: _number(planning.diameter(mdp))
    return made


def _plays(spec: str) -> Callable[[TabularMDP], None]:
    def play(mdp: TabularMDP) -> None:
        run = prepare(agents.make(spec), mdp, 60, 1).go()
        _finite(run.returns, run.score)
        for name, array in flatten(run.memory).items():
            if array.dtype.kind == "f" and np.isnan(array).any():
                raise ArithmeticError(f"NaN in memory.{name}")
        _finite(mdp.policy_return(run.best_policy()))
        if run.model is not None:
            _finite(run.model.rewards, run.model.plan().v[0])

    return play


def _finite(*values: Any) -> None:
    for value in values:
        if not np.isfinite(value).all():
            raise ArithmeticError("a number that is not finite")


def _number(value: float) -> None:
    if np.isnan(value):
        raise ArithmeticError("NaN")


def cell(thing: Callable[[TabularMDP], None], mdp: TabularMDP) -> str:
    """`right`, `refused: ...` or what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # notes of agents
        try:
            thing(mdp)
        except ValueError as problem:
            return f"refused: {problem}"
        except Exception as problem:
            return f"wrong: {type(problem).__name__}: {problem}"
    return "right"


def matrix(only: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """Every thing in every world, or `only` these agents: thing, world, outcome."""
    every = worlds()
    for name, thing in things().items():
        if only and name.removeprefix("agent ") not in only:
            continue
        for world, mdp in every.items():
            yield name, world, cell(thing, mdp)
