"""An MDP as a graph in plain data: states are circles, actions are bent arrows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.mdp.tabular import TabularMDP
from gim_lab.experiments.artefact import Figure, Panel, Series

Points = NDArray[np.float64]

NODE = 0.3  # radius of a circle
STEPS = 30  # points of an arrow
FANS = ((), (0.0,), (0.65, -0.65), (1.15, 0.0, -1.15), (1.5, 0.5, -0.5, -1.5))  # of loops


class Way(NamedTuple):
    """One arrow."""

    action: int
    label: str  # probability and reward, where there is anything to say
    path: Points  # [points, 2]


def graph_figure(
    mdp: TabularMDP, places: list[tuple[float, float]], name: str, title: str
) -> Figure:
    """All transitions of an MDP, a colour per action; circles carry the number of the state.

    Args:
        mdp: not too large.
        places: where each state stands.
        name, title: of the figure.
    """
    at = np.array(places, float)
    found = ways(mdp, at)
    series = []
    for kind in (_arrows, _heads):
        for a in range(mdp.A):
            mine = [way for way in found if way.action == a]
            series.append(kind(mdp.action_label(a), mine))
    states = [f"state {s}: {mdp.state_label(s)}" for s in range(mdp.S)]
    x, y = at.T.tolist()
    series.append(Series("states", x, y, text=states, kind="node"))
    for a in range(mdp.A):
        series.append(_labels(mdp.action_label(a), [w for w in found if w.action == a and w.label]))
    return Figure(name, title, [Panel("", "", "", series, graph=True)])


def ways(mdp: TabularMDP, at: Points) -> list[Way]:
    """Every transition with its path; what stays in a state is a loop on its outer side."""
    found = []
    for s in range(mdp.S):
        loops = [a for a in range(mdp.A) if mdp.transitions[s, a, s] > 0]
        up = at[s, 1] >= at[:, 1].mean()
        fan = dict(zip(loops, FANS[len(loops)], strict=True))
        for a in range(mdp.A):
            for t in np.flatnonzero(mdp.transitions[s, a]):
                label = _label(mdp, s, a, int(t))
                path = loop(at[s], fan[a], up) if t == s else bow(at[s], at[t], 0.12 + 0.15 * a)
                found.append(Way(a, label, path))
    return found


def loop(at: Points, turn: float, up: bool) -> Points:
    """A circle that touches the state, `turn` away from straight up (or down)."""
    angle = (np.pi / 2 if up else -np.pi / 2) + turn
    around = angle + np.pi + np.linspace(0.8, 2 * np.pi - 0.8, STEPS)[:, None]
    middle = at + (NODE + 0.17) * np.array([np.cos(angle), np.sin(angle)])
    return np.asarray(middle + 0.24 * np.hstack([np.cos(around), np.sin(around)]))


def bow(start: Points, end: Points, bend: float) -> Points:
    """A bent line from the rim of one state to that of another."""
    u = np.linspace(0, 1, 2 * STEPS)[:, None]
    way = end - start
    normal = np.array([way[1], -way[0]]) / np.hypot(*way)
    path = start + u * way + bend * np.sin(np.pi * u) * normal
    gaps = (np.hypot(*(path - point).T) for point in (start, end))
    outside = [gap > NODE + 0.04 for gap in gaps]
    return np.asarray(path[outside[0] & outside[1]])


def _label(mdp: TabularMDP, s: int, a: int, t: int) -> str:
    p = float(mdp.transitions[s, a, t])
    paid = float(mdp.rewards[s, a] if mdp.rewards_next is None else mdp.rewards_next[s, a, t])
    return ", ".join([f"{p:.2g}"] * (p < 1) + [f"r={paid:,.5g}"] * bool(paid))


def _arrows(name: str, found: list[Way]) -> Series:
    """Lines, parted by gaps; hovering tells probability and reward."""
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    for way in found:
        x += [*way.path[:, 0].tolist(), None]
        y += [*way.path[:, 1].tolist(), None]
        text += [way.label or "certain"] * (len(way.path) + 1)
    return Series(name, x, y, text=text)


def _heads(name: str, found: list[Way]) -> Series:
    ends = [way.path[-1] - way.path[-3] for way in found]
    return Series(
        name,
        [float(way.path[-1, 0]) for way in found],
        [float(way.path[-1, 1]) for way in found],
        text=[way.label or "certain" for way in found],
        kind="arrow",
        angle=[float(np.degrees(np.arctan2(dx, dy))) for dx, dy in ends],
    )


def _labels(name: str, found: list[Way]) -> Series:
    middle = [way.path[len(way.path) // 2] for way in found]
    x, y = ([float(point[k]) for point in middle] for k in (0, 1))
    return Series(name, [*x], [*y], text=[way.label for way in found], kind="label")
