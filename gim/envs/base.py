"""What a task is: a function that returns a `TabularMDP`, found by name and by Gymnasium.

To add a task, write one file in this package::

    @task("gim/Coin-v0")
    def coin(
        bias: Annotated[float, Within(0, 1), "chance of heads"] = 0.5,
    ) -> TabularMDP:
        \"\"\"Guess how a coin falls. ...\"\"\"

`gim.make("coin", bias=0.6)`, the spec string ``coin:bias=0.6`` and `gymnasium.make("gim/Coin-v0",
bias=0.6)` then build it. One in a package of your own is found as well (docs/extending.md);
`gim.testing.check_task` checks it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gim.mdp import TabularMDP
from gim.params import brief, checked, describe
from gim.registry import Registry, write

F = TypeVar("F", bound=Callable[..., TabularMDP])

tasks = Registry("task", "gim.envs")


def make(spec: str, **params: Any) -> TabularMDP:
    """Build a task by name.

    Args:
        spec: a name or spec string such as ``riverswim:length=10``.
        params: the task's parameters; `gim envs` lists them.

    Example:
        >>> import gim
        >>> gim.make("riverswim", length=10)
        <TabularMDP riverswim:length=10: S=10 A=2 H=20 dense>
    """
    if not isinstance(spec, str):
        raise ValueError(f'{brief(spec)} is no task: give a name such as "riverswim"')
    return tasks.make(spec, **params)


def task(
    gymnasium_id: str,
    name: str | None = None,
    replace: bool = False,
    examples: Sequence[str] = ("",),
) -> Callable[[F], F]:
    """Register a function under its own name, and under this id with Gymnasium.

    Its arguments are checked against their annotations at each call, and the MDP that it returns
    is named by the spec string that builds it.

    Args:
        gymnasium_id: such as ``gim/Coin-v0``.
        name: where it is not to be that of the function.
        replace: whether it may take the name of another task.
        examples: parameters at which the tests play it, such as ``"S=6,A=4"``, where the default
            is too large for that or leaves something out.
    """

    def register(function: F) -> F:
        signature, build = inspect.signature(function), checked(function)

        @functools.wraps(build)
        def named(*args: Any, **kwargs: Any) -> TabularMDP:
            mdp = build(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            mdp.name = write(known_as, _unusual(function, given), nested=False)
            return mdp

        named.examples = tuple(examples)  # type: ignore[attr-defined]
        known_as = tasks.add(name, named, replace)
        spec, kwargs = gymnasium.registry.get(gymnasium_id), {"task": known_as}
        if spec is None or spec.kwargs != kwargs:  # else its module was reloaded
            gymnasium.register(gymnasium_id, "gim.envs.tabular:TaskEnv", kwargs=kwargs)
        return named  # type: ignore[return-value]

    return register


def rewards_of_states(rng: np.random.Generator, S: int, A: int) -> NDArray[np.float64]:
    """Rewards [S, A] that do not depend on the action: u^6 of each state, scaled to maximum 1.

    Few states pay well, so a policy has to know how to get there.
    """
    u = rng.random(S) ** 6
    return np.repeat((u / u.max())[:, None], A, axis=1)


def _unusual(function: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that differ from their defaults, in the order of declaration."""
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
    return {
        p.name: plain[p.name]
        for p in describe(function)
        if p.name in plain and plain[p.name] != p.default
    }
