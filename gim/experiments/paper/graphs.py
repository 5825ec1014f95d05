"""An MDP as a graph in plain data: states are circles, actions are bent arrows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gim.experiments.artefact import Figure, Panel, Series
from gim.mdp import TabularMDP

Point = NDArray[np.float64]

NODE = 0.3  # radius of a circle
STEPS = 24  # points of an arrow


def graph_figure(
    mdp: TabularMDP, places: list[tuple[float, float]], name: str, title: str
) -> Figure:
    """All transitions of an MDP, a colour per action.

    Args:
        mdp: not too large.
        places: where each state stands.
        name, title: of the figure.
    """
    at = np.array(places, float)
    centre = at.mean(axis=0)
    series = [action_arrows(mdp, a, at, centre) for a in range(mdp.A)]
    heads = [action_heads(mdp, a, at, centre) for a in range(mdp.A)]
    words = [labels(mdp, a, at, centre) for a in range(mdp.A)]
    nodes = Series(
        "states",
        list(at[:, 0]),
        list(at[:, 1]),
        text=[mdp.state_label(s) for s in range(mdp.S)],
        kind="node",
    )
    panel = Panel("", "", "", [*series, *heads, nodes, *words], graph=True)
    return Figure(name, title, [panel])


def action_arrows(mdp: TabularMDP, a: int, at: Point, centre: Point) -> Series:
    """The lines of one action, parted by gaps; hovering tells probability and reward."""
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    for s, t, label in _moves(mdp, a):
        path = _path(at, s, t, a, centre)
        x += [*map(float, path[:, 0]), None]
        y += [*map(float, path[:, 1]), None]
        text += [label] * (len(path) + 1)
    return Series(mdp.action_label(a), x, y, text=text)


def action_heads(mdp: TabularMDP, a: int, at: Point, centre: Point) -> Series:
    """The heads of the arrows of one action, with probability and reward beside them."""
    moves = list(_moves(mdp, a))
    paths = [_path(at, s, t, a, centre) for s, t, _ in moves]
    ends = [path[-1] - path[-4] for path in paths]
    return Series(
        mdp.action_label(a),
        [float(path[-1, 0]) for path in paths],
        [float(path[-1, 1]) for path in paths],
        text=[label for _, _, label in moves],
        kind="arrow",
        angle=[float(np.degrees(np.arctan2(dx, dy))) for dx, dy in ends],
    )


def labels(mdp: TabularMDP, a: int, at: Point, centre: Point) -> Series:
    """Probability and reward of each arrow, in its middle."""
    moves = list(_moves(mdp, a))
    middle = [_path(at, s, t, a, centre)[STEPS // 2] for s, t, _ in moves]
    return Series(
        mdp.action_label(a),
        [float(x) for x, _ in middle],
        [float(y) for _, y in middle],
        text=[label for _, _, label in moves],
        kind="label",
    )


def _moves(mdp: TabularMDP, a: int) -> list[tuple[int, int, str]]:
    """From, to, and what is written on the arrow."""
    moves = []
    for s in range(mdp.S):
        for t in np.flatnonzero(mdp.transitions[s, a]):
            p = float(mdp.transitions[s, a, t])
            paid = mdp.rewards[s, a] if mdp.rewards_next is None else mdp.rewards_next[s, a, t]
            words = [f"{p:.2g}"] * (p < 1) + [f"r={float(paid):,.6g}"] * bool(paid)
            moves.append((s, int(t), ", ".join(words)))
    return moves


def _path(at: Point, s: int, t: int, a: int, centre: Point) -> Point:
    """A bent way from the rim of one circle to that of another, or a loop; [points, 2]."""
    u = np.linspace(0, 1, STEPS)[:, None]
    if s == t:
        away = at[s] - centre
        base = np.arctan2(away[1], 0.05 * away[0]) if away[1] else np.pi / 2
        angle = base + (0.0, 0.95, -0.95, np.pi)[a % 4]
        ring = 0.24 + 0.03 * a
        turn = angle + np.pi + np.linspace(0.75, 2 * np.pi - 0.75, STEPS)[:, None]
        middle = at[s] + (NODE + 0.75 * ring) * np.array([np.cos(angle), np.sin(angle)])
        return np.asarray(middle + ring * np.hstack([np.cos(turn), np.sin(turn)]))
    way = at[t] - at[s]
    length = float(np.hypot(*way))
    normal = np.array([way[1], -way[0]]) / length
    bow = at[s] + u * way + (0.14 + 0.1 * a) * np.sin(np.pi * u) * normal
    outside = (np.hypot(*(bow - at[s]).T) > NODE) & (np.hypot(*(bow - at[t]).T) > NODE + 0.05)
    return bow[outside]
