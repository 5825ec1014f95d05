"""`gim.sensitivity`: how the best policy and its worth change with one parameter, or one price.

For each value of the parameter the world is planned anew, and each of these policies is valued in
each of the worlds: so it is seen where the policy changes, what that is worth, and what is lost by
keeping to one policy while the parameter is another.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim._base import files, html
from gim._base.arguments import number, several
from gim._base.escapes import escape, shown
from gim._base.params import brief
from gim._base.terminal import table
from gim.envs.base import make
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.model.constrained import Cost, cost_table
from gim.model.deploy import world_of
from gim.planning.criterion import Criterion

STATES, MOST = 60, 200  # states of the picture; values of the parameter
WIDE, HIGH, MARGIN = 640, 220, 60  # of a picture, in pixels
COLOURS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """What comes of one parameter.

    Attributes:
        name: of the parameter.
        values: [n] its values, rising.
        worth: [n] the value of the best policy at each.
        policies: [n] the best policies.
        held: [n, n] what the policy that is best at the first is worth where the second holds.
        changed: [n] in how many states (and steps) that can be met the policy differs from that of
            the value before; of the first 0.

    Example:
        >>> import gim
        >>> found = gim.sensitivity("gridworld", [0, 0.5], name="slip", discount=0.9)
        >>> bool(found.worth[0] > found.worth[1]), found.loss.shape
        (True, (2, 2))
    """

    name: str
    values: Floats
    worth: Floats
    policies: list[Policy]
    held: Floats
    changed: NDArray[np.int64]
    reached: NDArray[np.bool_] = field(repr=False)

    @property
    def loss(self) -> Floats:
        """[n, n] what is lost by the policy of the first value where the second holds."""
        return np.maximum(self.worth - self.held, 0.0)

    @property
    def breaks(self) -> list[tuple[float, float]]:
        """Between which values the policy changes."""
        return [
            (float(self.values[k - 1]), float(self.values[k])) for k in np.flatnonzero(self.changed)
        ]

    def at(self, value: float) -> int:
        """The number of the nearest value."""
        return int(np.abs(self.values - number("value", value)).argmin())

    def table(self, value: float | None = None) -> str:
        """A line for each value, with what the policy of one of them loses there.

        Args:
            value: whose policy is held to; None: the middle one.
        """
        k = len(self.values) // 2 if value is None else self.at(value)
        rows = [
            [f"{v:.6g}", f"{w:.6g}", str(int(c)) if c else "", f"{lost:.3g}"]
            for v, w, c, lost in zip(
                self.values, self.worth, self.changed, self.loss[k], strict=True
            )
        ]
        held = f"loses with the policy of {self.values[k]:.6g}"
        places = "states" if self.policies[0].horizon is None else "states and steps"
        return table(rows, [shown(self.name), "worth", f"{places} that change", held])

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._body(None)

    def page(self, value: float | None = None) -> str:
        """One HTML file without scripts: worth, what is lost, and where the policy changes."""
        title = f"What changes with {shown(self.name)}"
        return html.document(title, f"<h1>{escape(title)}</h1>\n{self._body(value)}")

    def save(self, path: str | Path, value: float | None = None) -> None:
        """Write the page."""
        with files.replacing(path) as file:
            file.write(self.page(value).encode())

    def _body(self, value: float | None) -> str:
        k = len(self.values) // 2 if value is None else self.at(value)
        name, held = escape(shown(self.name)), f"{self.values[k]:.6g}"
        spans = "; ".join(f"{low:.6g} and {high:.6g}" for low, high in self.breaks)
        where = (
            f"The best policy changes between {spans}." if spans else "The policy stays as it is."
        )
        return "\n".join(
            [
                f"<p>{escape(where)}</p>",
                f"<p>What the best policy is worth by {name} (full line), and what that of "
                f"{held} is worth (dashed).</p>",
                _curves(self.values, self.worth, self.held[k]),
                f"<p>The action by {name} and by state, at the first step.</p>",
                self._actions(),
                f"<pre>{escape(self.table(value))}</pre>",
            ]
        )

    def _actions(self) -> str:
        """The action of each state at the first step, by value: a table, a colour for each."""
        first = np.array([_first(policy) for policy in self.policies])  # [n, S]
        (states, actions), met = (self.policies[0].states, self.policies[0].actions), self.reached
        heads = "".join(f"<th>{x:.6g}</th>" for x in self.values)
        rows = [f"<tr><th>{escape(shown(self.name))}</th>{heads}</tr>"]
        for s in np.flatnonzero(met)[:STATES].tolist():
            cells = "".join(
                f'<td style="background:{COLOURS[a % len(COLOURS)]}60">'
                f"{escape(shown(actions[a]))}</td>"
                for a in first[:, s].tolist()
            )
            rows.append(f"<tr><th>{escape(shown(states[s]))}</th>{cells}</tr>")
        return f"<table>{''.join(rows)}</table>"


def sensitivity(
    world: Any,
    values: ArrayLike,
    *,
    name: str = "parameter",
    price: Cost | None = None,
    horizon: int | None = None,
    discount: float | None = None,
    average: bool = False,
) -> Sensitivity:
    """How the best policy and its worth change with one parameter of a world, or with one price.

    Args:
        world: a function of the parameter that gives a `TabularMDP`; the name of a registered world
            of which `name` is an option; or, with `price`, a world or what was learned of one.
        values: of the parameter.
        name: of the parameter.
        price: what is paid for, a table [S, A] or [S, A, S] or a function of labels, as in
            `gim.constrained`: the parameter is then the price of a unit, taken off rewards.
        horizon: H; with none of the three, each world's own.
        discount: the weight of each step against the one before.
        average: by the average reward of a step.

    Example:
        >>> import gim
        >>> mdp, orders = gim.make("inventory"), lambda s, a: float(a > 0)
        >>> print(gim.sensitivity(mdp, [0, 10], name="fee", price=orders, average=True))
        fee    worth  states that change  loses with the policy of 10
        ───  ───────  ──────────────────  ───────────────────────────
          0  13.5895                                          0.00957
         10    9.647                   1                            0
    """
    given = np.unique([number("values", x) for x in several("values", values, "numbers")])
    if not 2 <= given.size <= MOST:
        raise ValueError(f"values holds {given.size} different numbers: give 2 to {MOST}")
    worlds = _worlds(world, given.tolist(), name, price)
    first = worlds[0]
    for x, other in zip(given, worlds, strict=True):
        if (other.S, other.A) != (first.S, first.A):
            raise ValueError(
                f"at {name} = {x:g} there are {other.S} states and {other.A} actions, not "
                f"{first.S} and {first.A}: a policy of one must fit the others"
            )
    overs = [Criterion.of(horizon, discount, average, mdp.horizon) for mdp in worlds]
    plans = [over.plan(mdp).policy for over, mdp in zip(overs, worlds, strict=True)]
    if len({plan.shape for plan in plans}) > 1:
        raise ValueError("the worlds differ in their horizons: give horizon=")
    held = np.array(
        [[over.worth(mdp, plan) for over, mdp in zip(overs, worlds, strict=True)] for plan in plans]
    )
    reached = np.any([mdp.reachable() & ~mdp.terminal for mdp in worlds], axis=0)
    changed = [0, *(int((a != b)[..., reached].sum()) for a, b in itertools.pairwise(plans))]
    policies = [Policy(plan, *mdp.names()) for plan, mdp in zip(plans, worlds, strict=True)]
    worth = held.diagonal().copy()
    return Sensitivity(name, given, worth, policies, held, np.array(changed), reached)


def _worlds(world: Any, values: Sequence[float], name: str, price: Cost | None) -> list[TabularMDP]:
    """The world at each value."""
    if price is not None:
        mdp = world_of(make(world) if isinstance(world, str) else world)
        costs = cost_table("price", price, mdp)
        return [mdp.with_(rewards=mdp.rewards - x * costs) for x in values]
    if isinstance(world, str):
        made = [make(world, **{name: _plain(x)}) for x in values]
    elif isinstance(world, TabularMDP) or not callable(world):
        raise ValueError(
            f"{brief(world)} has no parameter: give a function of it that makes the world, a "
            "world's name, or price="
        )
    else:
        made = [world(x) for x in values]
    for x, mdp in zip(values, made, strict=True):
        if not isinstance(mdp, TabularMDP):
            raise ValueError(f"at {name} = {x:g} the world is {brief(mdp)}, no TabularMDP")
    return made


def _plain(x: float) -> float | int:
    """A whole number as one: options of worlds tell them apart."""
    return int(x) if float(x).is_integer() else x


def _first(policy: Policy) -> NDArray[np.int64]:
    array = np.asarray(policy)
    return array[0] if array.ndim == 2 else array


def _curves(x: Floats, best: Floats, held: Floats) -> str:
    """Two curves over the same axis, with their ends in numbers."""
    both = np.concatenate([best, held])
    low, high = float(both.min()), float(both.max())
    room = (high - low) or 1.0

    def points(y: Floats) -> str:
        across = MARGIN + (x - x[0]) / (x[-1] - x[0]) * (WIDE - MARGIN - 10)
        up = HIGH - 30 - (y - low) / room * (HIGH - 50)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))

    lines = "".join(
        f'<polyline points="{points(y)}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        for y, colour, dash in (
            (held, COLOURS[1], ' stroke-dasharray="5 4"'),
            (best, COLOURS[0], ""),
        )
    )
    texts = (
        (4, 24, "start", high),
        (4, HIGH - 28, "start", low),
        (MARGIN, HIGH - 8, "start", float(x[0])),
        (WIDE - 10, HIGH - 8, "end", float(x[-1])),
    )
    labels = "".join(
        f'<text x="{a}" y="{b}" text-anchor="{anchor}">{value:.5g}</text>'
        for a, b, anchor, value in texts
    )
    size = f'width="{WIDE}" height="{HIGH}"'
    return f'<svg {size} role="img" aria-label="worth">{lines}{labels}</svg>'
