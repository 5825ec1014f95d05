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
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim._base.params import brief, checked, describe
from gim._base.registry import Registry, write
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables

# -- what the states and the actions of a task are made of, said in one way by every task


MOST = 1_000_000  # states: more are never meant
LISTED, STORED = 10_000_000, 50_000_000  # probabilities in 2 GB, as outcomes or as a table


class Made(NamedTuple):
    """States or actions as combinations of the values of variables."""

    values: dict[str, Sequence[Any]]  # of each variable, by its name
    codes: NDArray[np.int64]  # [n, k] places in these values

    def take(self, kept: ArrayLike) -> Made:
        """Only these states: their numbers, or a mask."""
        return self._replace(codes=self.codes[np.asarray(kept)])

    @property
    def labels(self) -> list[Any]:
        """One for each: a tuple of values, or the value itself where there is one variable."""
        columns = [
            [values[code] for code in column]
            for values, column in zip(self.values.values(), self.codes.T.tolist(), strict=True)
        ]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    @property
    def variables(self) -> Variables:
        """The same as `gim.Variables`."""
        ordinal = [isinstance(values, range) for values in self.values.values()]
        return Variables.coded(self.codes, list(self.values.values()), list(self.values), ordinal)


def made_of(**values: Sequence[Any]) -> Made:
    """All combinations of these values.

    Example:
        >>> made_of(row=range(2), col=range(2)).labels
        [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    sizes = [len(v) for v in values.values()]
    n = math.prod(sizes)
    if n > MOST:
        factors = " * ".join(f"{size} ({name})" for name, size in zip(values, sizes, strict=True))
        raise ValueError(f"{factors} = {n:,}: make one of them smaller, {MOST:,} is the most")
    return Made(values, np.indices(sizes).reshape(len(sizes), n).T)


def check_entries(task: str, entries: int, most: int = STORED) -> None:
    """Refuse a table too large to build, before any work is done."""
    if entries > most:
        raise ValueError(
            f"{task}: a table of {entries:,} probabilities, where {most:,} is the most: "
            "give smaller numbers"
        )


def described(
    states: Made | None = None, actions: Made | Sequence[str] | None = None, **info: Any
) -> dict[str, Any]:
    """What `TabularMDP` is told of them: labels and variables.

    Args:
        states: what states are made of, or nothing known.
        actions: likewise, or names alone.
        info: further facts to keep with the task, such as its layout.
    """
    options: dict[str, Any] = {"info": info}
    for kind, made in (("state", states), ("action", actions)):
        if isinstance(made, Made):
            options[f"{kind}_labels"] = made.labels
            options["variables" if kind == "state" else "action_variables"] = made.variables
        elif made is not None:
            options[f"{kind}_labels"] = made
    return options


# --


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
