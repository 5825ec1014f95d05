"""Pictures of worlds: a grid with values and arrows, any small world as a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim.mdp.tabular import TabularMDP
from gim.plot.look import COLOURS, INK, MAP, figure, folded, legend_below, looks, name_of

ARROWS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
MOST_STATES, MOST_ARROWS = 40, 400  # of a graph that can be read
WALL = "#333333"  # over a hole
BESIDE = 0.16  # from an arrow to what is written along it


@looks
def grid(
    mdp: TabularMDP, policy: NDArray[Any] | None = None, value: NDArray[Any] | None = None
) -> Any:
    """Value and policy on a grid world, with arrows; S is where episodes start, G a goal, H a hole.

    Args:
        mdp: a task made by `gridworld`, or FrozenLake or CliffWalking as `from_gymnasium` reads
            them (the cells are kept in `mdp.info`).
        policy: actions [S] or [H, S] (the first step is shown), or a `Policy`, matched by name;
            None: the optimal one.
        value: [S]; None: the value of the policy over the horizon.
    """
    layout = mdp.info.get("layout", {})
    cells = layout.get("cells")
    if cells is None or not {*map(str, mdp.action_labels or ())} >= {*ARROWS}:
        raise ValueError(f"{mdp.name} is no grid: give a task of gridworld")
    policy = mdp.plan().policy if policy is None else np.asarray(mdp.as_array(policy))
    value = mdp.value(policy)[0] if value is None else np.asarray(value)
    first = policy if policy.ndim == 1 else policy[0]
    places = np.array(cells)
    rows, columns = places.max(axis=0) + 1
    made, axes = figure(1.2 + 0.62 * columns, 0.7 + 0.62 * rows)
    axis = axes[0, 0]
    shades = np.full((rows, columns), np.nan)
    shades[places[:, 0], places[:, 1]] = value
    picture = axis.imshow(shades, cmap=MAP)
    axis.patch.set(hatch="////", edgecolor=INK, linewidth=0)  # shows where there is no cell: walls
    symbols = layout.get("symbols", [""] * mdp.S)
    middle = np.nanmean([np.nanmin(shades), np.nanmax(shades)])
    for s, (row, column) in enumerate(places):
        colour = "black" if value[s] > middle else "white"
        middle_of = {"ha": "center", "va": "center", "color": colour}
        if mdp.start[s] > 0 and np.count_nonzero(mdp.start) == 1:
            axis.text(column - 0.36, row - 0.34, "S", **middle_of, fontsize=7, fontweight="bold")
        if symbols[s] == "G" and not mdp.terminal[s]:
            axis.text(column + 0.36, row - 0.34, "G", **middle_of, fontsize=7, fontweight="bold")
        if mdp.terminal[s]:
            word = {"G": "G", "H": "H"}.get(symbols[s], "end")
            axis.text(column, row, word, **middle_of, fontsize=9, fontweight="bold")
            if word == "H":
                axis.add_patch(_square(row, column, facecolor=WALL, alpha=0.6))
            continue
        action = str(mdp.action_label(int(first[s])))
        if action not in ARROWS:
            axis.text(column, row, folded(action, 8), **middle_of, fontsize=7)
            continue
        dx, dy = ARROWS[action]
        tail, head = (column - 0.3 * dx, row + 0.3 * dy), (column + 0.3 * dx, row - 0.3 * dy)
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.4}
        axis.annotate("", xy=head, xytext=tail, arrowprops=arrow)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_title(mdp.name.split(":")[0])
    made.colorbar(picture, ax=axis, label="expected reward to come", shrink=0.8)
    return made


@looks
def graph(mdp: TabularMDP, least: float = 0.0, places: ArrayLike | None = None) -> Any:
    """An MDP as a graph: circles are states, arrows are actions with probability and reward.

    States stand where the task's layout puts them, or else on a circle. Good for a dozen states; a
    graph of more than 40 states or 400 arrows is refused, since nobody could read it.

    Args:
        mdp: a small world.
        least: transitions that are less likely are left out.
        places: where states stand instead, [S, 2]: across and up.
    """
    shown = _arrows(mdp, least)
    if mdp.S > MOST_STATES or len(shown) > MOST_ARROWS:
        raise ValueError(
            f"a graph of {mdp.S} states and {len(shown):,} arrows cannot be read: leave unlikely "
            f"ones out with least= (now {least:g}), or look at gim.plot.singular_values or "
            "gim.plot.grid"
        )
    cells = mdp.info.get("layout", {}).get("cells")
    if places is not None:
        at = np.asarray(places, float)
    elif cells is not None:
        at = np.array([(2.2 * column, -2.0 * row) for row, column in cells])
    else:
        turn = 2 * np.pi * np.arange(mdp.S) / mdp.S
        at = 0.45 * mdp.S * np.stack([np.sin(turn), np.cos(turn)], axis=1)
    wide, high = np.ptp(at, axis=0) + 2.4
    made, axes = figure(max(4.0, 0.95 * wide), max(2.6, 0.95 * high))
    axis = axes[0, 0]
    for s, a, t, p in shown:
        _arrow(axis, at, s, t, a, _label(mdp, s, a, t, p))
    for s, (x, y) in enumerate(at):
        double = {"linewidth": 3} if mdp.terminal[s] else {"linewidth": 1.2}
        axis.scatter(
            x, y, s=820, facecolor="none", edgecolor=INK, zorder=3, clip_on=False, **double
        )
        name = mdp.state_labels[s] if mdp.state_labels else str(s)  # short, to fit the circle
        axis.text(x, y, name, ha="center", va="center", zorder=4, fontsize=7)
    for a in range(mdp.A):
        colour = COLOURS[a % len(COLOURS)]
        axis.plot([], [], color=colour, lw=1.5, label=mdp.action_label(a))
    legend_below(made, *axis.get_legend_handles_labels())
    axis.set_xlim(at[:, 0].min() - 1.2, at[:, 0].max() + 1.2)
    axis.set_ylim(at[:, 1].min() - 1.2, at[:, 1].max() + 1.2)
    axis.set_aspect("equal")
    axis.axis("off")
    axis.set_title(name_of(mdp))
    return made


def _label(mdp: TabularMDP, s: int, a: int, t: int, p: float) -> str:
    paid = mdp.rewards_next if mdp.rewards_next is not None else None
    if paid is None:
        r = float(mdp.rewards[s, a])
    else:
        r = float(paid[s * mdp.A + a, t] if mdp.sparse else paid[s, a, t])
    return (f"{p:.2g}" if p < 1 else "") + (f"  r={r:,.6g}" if r else "")


def _arrow(axis: Any, at: NDArray[Any], s: int, t: int, a: int, text: str) -> None:
    """A curved arrow from s to t, or a loop at s; each action has its own bend."""
    colour = COLOURS[a % len(COLOURS)]
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.1, "shrinkA": 15, "shrinkB": 15}
    words = {"fontsize": 6.5, "color": colour, "ha": "center", "va": "center", "zorder": 5}
    x, y = at[s]
    if s == t:  # loops leave at an angle of their own
        angle = np.pi * (0.5 + (-0.25, 0.25, -1.25, 1.25)[a % 4])
        out = np.array([np.cos(angle), np.sin(angle)])
        side = np.array([-out[1], out[0]])
        tail, head = at[s] + 0.4 * out + 0.12 * side, at[s] + 0.4 * out - 0.12 * side
        style |= {"shrinkA": 0, "shrinkB": 0, "connectionstyle": "arc3,rad=-2.2"}
        axis.annotate("", xy=head, xytext=tail, arrowprops=style)
        axis.text(*(at[s] + 0.95 * out), text, **words)
        return
    bend = 0.14 + 0.1 * a
    style["connectionstyle"] = f"arc3,rad={bend}"
    axis.annotate("", xy=at[t], xytext=(x, y), arrowprops=style)
    way = at[t] - at[s]
    normal = np.array([way[1], -way[0]])
    beside = 0.5 * bend * normal + BESIDE * normal / np.hypot(*normal)  # on its outer side
    if abs(normal[0]) > abs(normal[1]):
        words["ha"] = "left" if normal[0] > 0 else "right"
    axis.text(*(at[s] + 0.5 * way + beside), text, **words)


def _arrows(mdp: TabularMDP, least: float) -> list[tuple[int, int, int, float]]:
    """All (s, a, s', p) with p of at least so much, but those out of terminal states."""
    rows = mdp.rows().tocoo()
    found = zip(*rows.coords, rows.data, strict=True)
    triples = [(*divmod(int(pair), mdp.A), int(t), float(p)) for pair, t, p in found]
    return [
        (s, a, t, p)
        for s, a, t, p in triples
        if p > 0 and p >= least and mdp.available[s, a] and not mdp.terminal[s]
    ]


def _square(row: int, column: int, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, **style)
