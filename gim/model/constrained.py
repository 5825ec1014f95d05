"""`gim.constrained`: the best policy whose costs stay within limits.

Of a known world exactly (`gim.planning.occupancy`); of one that was learned on its mean, as far as
visits or inference support it. The policy is then valued in whole worlds drawn from the belief
(`Belief.draw`), which say between what ends the value and each cost lie.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim._base import html
from gim._base.arguments import number
from gim._base.escapes import shown
from gim._base.params import brief
from gim._base.terminal import table
from gim.mdp.names import Names
from gim.mdp.policy import Policy
from gim.mdp.tables import own_numbers
from gim.mdp.tabular import TabularMDP
from gim.model.deploy import world_of
from gim.model.rewards import returned
from gim.planning.criterion import Criterion
from gim.planning.occupancy import Infeasible, solve_within

Floats = NDArray[np.float64]
Cost: TypeAlias = ArrayLike | Callable[..., float]

DRAWS = 60  # worlds from a belief; one takes some 0.1 s
TAILS = (0.05, 0.95)  # between which nine of ten lie, as everywhere


@dataclass(frozen=True, eq=False)
class Constrained:
    """A policy within limits.

    Attributes:
        policy: probabilities, [S, A] or [H, S, A] over a horizon.
        value: what it earns from where episodes start: in all, discounted, or on average.
        costs: what each cost comes to, in the same terms.
        limits: what each may come to.
        prices: by how much the value would rise if a limit were one unit higher; 0 where a limit
            does not bind.
        free: the value of the best policy without limits.
        bounds: of "value" and each cost, the ends between which it lies with a credibility of 90 %;
            None of a world that is known, or of a model without its belief.

    Example:
        >>> import gim
        >>> mdp, right = gim.make("riverswim"), {"right": [[0, 1]] * 6}
        >>> found = gim.constrained(mdp, right, {"right": 5})
        >>> round(found.costs["right"], 6), found.value < found.free
        (5.0, True)
    """

    policy: Policy
    value: float
    costs: dict[str, float]
    limits: dict[str, float]
    prices: dict[str, float]
    free: float
    bounds: dict[str, tuple[float, float]] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        believed = self.bounds or {}
        lines = [
            [
                name,
                *(f"{x:.6g}" for x in (cost, self.limits[name], self.prices[name])),
                *(f"{x:.4g}" for x in believed.get(name, ())),
            ]
            for name, cost in self.costs.items()
        ]
        heads = ["cost", "expected", "at most", "price of a unit"]
        said = table(lines, [*heads, *(["from", "to"] if believed else [])])
        ends = " ({:.4g} to {:.4g})".format(*believed["value"]) if believed else ""
        return f"value {self.value:.6g}{ends}, without limits {self.free:.6g}\n{said}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.text("Policy within limits", str(self))


def constrained(
    given: Any,
    costs: Mapping[str, Cost],
    limits: Mapping[str, float],
    *,
    horizon: int | None = None,
    discount: float | None = None,
    average: bool = False,
) -> Constrained:
    """The best policy whose expected costs are each at most its limit.

    Args:
        given: a `TabularMDP`, or what was learned: a `LearnedModel`, a run, what `gim.learn` gave,
            a belief.
        costs: by name, a table [S, A] of what a play costs, or [S, A, S] by next state, or a
            function of the labels of a state and an action, or of a next state as well.
        limits: by the same names, what each may come to at the most: in all over the horizon,
            discounted like the rewards, or on average by step.
        horizon: H, the number of steps; with none of the three, the MDP's own.
        discount: the weight of each step against the one before.
        average: by the average of a step without end.

    Raises:
        ValueError: no policy keeps all limits; it says which contradict each other.

    Example:
        >>> import gim
        >>> mdp, orders = gim.make("inventory"), {"orders": lambda s, a: float(a > 0)}
        >>> seldom = gim.constrained(mdp, orders, {"orders": 0.3}, average=True)
        >>> round(seldom.value, 2), round(seldom.free, 2), round(seldom.costs["orders"], 6)
        (10.59, 13.59, 0.3)
    """
    mdp = world_of(given)
    over = Criterion.of(horizon, discount, average, mdp.horizon)
    names = _names(costs, limits)
    tables = [cost_table(name, costs[name], mdp) for name in names]
    most = [_limit(name, limits[name]) for name in names]
    try:
        found = solve_within(mdp, tables, most, over)
    except Infeasible as problem:
        raise ValueError(_said(problem, names, most)) from None
    bounds = None
    belief = given if hasattr(given, "draw") else getattr(given, "belief", None)
    if belief is not None:
        worlds = map(belief.draw, range(DRAWS))
        drawn = np.array([_sums(each, costs, found.policy, over, mdp.names()) for each in worlds])
        low, high = np.quantile(drawn, TAILS, axis=0)
        said = np.array([found.value, *found.costs])  # worlds differ from their mean to one side
        ends = zip(np.minimum(low, said).tolist(), np.maximum(high, said).tolist(), strict=True)
        bounds = dict(zip(["value", *names], ends, strict=True))
    return Constrained(
        Policy(found.policy, *mdp.names()),
        found.value,
        dict(zip(names, found.costs.tolist(), strict=True)),
        dict(zip(names, most, strict=True)),
        dict(zip(names, found.prices.tolist(), strict=True)),
        over.best(mdp),
        bounds,
    )


def _sums(
    mdp: TabularMDP,
    costs: Mapping[str, Cost],
    policy: Floats,
    over: Criterion,
    names: tuple[Names, Names],
) -> Floats:
    """Value and costs of a policy in one world."""
    tables = [cost_table(name, cost, mdp, names) for name, cost in costs.items()]
    return over.sums(mdp, policy, [mdp.rewards, *tables])


def _names(costs: Any, limits: Any) -> list[str]:
    for what, given in (("costs", costs), ("limits", limits)):
        if not isinstance(given, Mapping):
            raise ValueError(f'{what} = {brief(given)}: give a mapping, such as {{"orders": ...}}')
    if set(costs) != set(limits):
        lost = sorted(map(str, set(costs) ^ set(limits)))
        raise ValueError(f"costs and limits differ in their names: {', '.join(lost)}")
    return list(costs)


def _limit(name: str, given: Any) -> float:
    limit = float(number(f"limits[{name!r}]", given))
    if not np.isfinite(limit):
        raise ValueError(f"limits[{name!r}] is {limit}: leave the cost out if it has no limit")
    return limit


def cost_table(
    name: str, given: Cost, mdp: TabularMDP, names: tuple[Names, Names] | None = None
) -> Floats:
    """What a pair costs in expectation, [S, A]; nothing where an episode has ended.

    A function is asked by the names of the MDP, or by these; one variable goes by its value.
    """
    S, A, rows = mdp.S, mdp.A, mdp.rows()
    found: NDArray[Any]
    pair = np.repeat(np.arange(S * A), np.diff(rows.indptr))
    if callable(given):
        states, actions = (
            [plain_name(of[k]) for k in range(len(of))] for of in names or mdp.names()
        )
        if _takes(given) >= 3:
            triples = ((pair // A).tolist(), (pair % A).tolist(), rows.indices.tolist())
            each = zip(*triples, strict=True)
            paid = np.array([returned(given(states[s], actions[a], states[t])) for s, a, t in each])
            found = np.bincount(pair, rows.data * paid, S * A).reshape(S, A)
        else:
            found = np.zeros((S, A))
            for s, a in np.argwhere(mdp.available & ~mdp.terminal[:, None]).tolist():
                found[s, a] = returned(given(states[s], actions[a]))
    else:
        found = own_numbers(f"costs[{name!r}]", given)
        if found.shape == (S, A, S):
            paid = found.reshape(S * A, S)[pair, rows.indices]
            found = np.bincount(pair, rows.data * paid, S * A).reshape(S, A)
        if found.shape != (S, A):
            raise ValueError(
                f"costs[{name!r}] has shape {found.shape}: give [{S}, {A}] or [{S}, {A}, {S}]"
            )
    if not np.isfinite(found[mdp.available]).all():
        raise ValueError(f"costs[{name!r}] is not finite everywhere")
    return np.where(mdp.available & ~mdp.terminal[:, None], found, 0.0)


def plain_name(name: Any) -> Any:
    """A tuple of one as what it holds."""
    return name[0] if isinstance(name, tuple) and len(name) == 1 else name


def _takes(function: Callable[..., float]) -> int:
    """How many labels a function takes: 2, of a pair, or 3, with the next state."""
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(each.kind is each.VAR_POSITIONAL for each in taken):
        return 3
    return sum(
        each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in taken
    )


def _said(problem: Infeasible, names: list[str], limits: list[float]) -> str:
    """Which limits cannot be kept, and what it would take."""
    told = []
    for (*others, last), least in problem.conflicts:
        kept = " and ".join(f"{shown(names[k])} at most {limits[k]:.6g}" for k in others)
        given = f"with {kept}, " if others else ""
        told.append(
            f"{given}{shown(names[last])} comes to {least:.6g} at the least, and its limit is "
            f"{limits[last]:.6g}"
        )
    return f"no policy keeps these limits: {'; '.join(told)}"
