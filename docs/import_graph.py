"""Draw which room of the house imports which, into docs/pictures/imports.png.

    python docs/import_graph.py

Read from the sources, imports inside functions included; those for the type checker alone are not.
An arrow that others imply is left out: where a imports b and b imports c, a may import c as well.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any

from gim import plot

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path(__file__).resolve().parent / "pictures" / "imports.png"
LEFT_OUT = ("__init__", "__main__")  # which only pass on what the others define
PACKAGES = ("gim", "gim_lab")
WIDTH, HEIGHT = 9.5, 0.72  # inches: of the picture, of a level
BOX = 0.2  # half of the height of a box, in levels
HEAD = 0.06  # of an arrow
INK, LINE, FOLDER = "#FFFFFF", "#8A94A3", "#2F6FA8"  # on any page

Graph = dict[str, set[str]]


def main() -> None:
    """Read, lay out, draw."""
    graph = rooms()
    level = settled(graph)
    arrows = [(a, b) for a, below in reduced(graph).items() for b in sorted(below)]
    ways = {arrow: way(*arrow, level) for arrow in arrows}
    draw(graph, ways, arranged(graph, ways, level), level)


def rooms() -> Graph:
    """Which rooms each room imports; raises if they do so in a circle."""
    found: Graph = {}
    for module in (name for package in PACKAGES for name in modules_in(package)):
        here = room(module)
        there = {room(target) for target in imported(module)}
        found.setdefault(here, set()).update(there - {here})
    graph = {name: found[name] - {*LEFT_OUT} for name in found if name not in LEFT_OUT}
    TopologicalSorter(graph).prepare()
    return graph


def room(module: str) -> str:
    """The folder of gim that a module is in; the laboratory is one."""
    if module.partition(".")[0] != "gim":
        return module.partition(".")[0]
    return module.split(".")[1] if "." in module else LEFT_OUT[0]


def modules_in(package: str) -> list[str]:
    """All modules of a package of ours."""
    files = (path.relative_to(ROOT).with_suffix("") for path in (ROOT / package).rglob("*.py"))
    return sorted(".".join(file.parts).removesuffix(".__init__") for file in files)


@cache
def known() -> frozenset[str]:
    """All our modules."""
    return frozenset(name for package in PACKAGES for name in modules_in(package))


@cache
def imported(module: str, typing: bool = False) -> set[str]:
    """Which of our modules one imports, wherever in it; or those under TYPE_CHECKING instead."""
    path = ROOT.joinpath(*module.split("."))
    tree = ast.parse(
        (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    )
    guarded = [
        n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CH" in ast.unparse(n.test)
    ]
    for_types = {each for node in guarded for part in node.body for each in ast.walk(part)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if (node in for_types) == typing:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                found.update(whole & known() or {str(node.module)})
    return (found & known()) - {module}


def settled(graph: Graph) -> dict[str, int]:
    """A level for each room, above all that it imports and just below the first that needs it."""
    order = list(TopologicalSorter(graph).static_order())
    level: dict[str, int] = {}
    for name in order:
        level[name] = 1 + max((level[below] for below in graph[name]), default=-1)
    for name in reversed(order):
        users = [level[user] for user in graph if name in graph[user]]
        if users:
            level[name] = min(users) - 1
    return level


def reduced(graph: Graph) -> Graph:
    """Without the arrows that others imply."""
    below = {
        name: set().union(*({each} | reachable(graph, each) for each in graph[name]))
        for name in graph
    }
    return {
        name: {each for each in graph[name] if not any(each in below[o] for o in graph[name])}
        for name in graph
    }


def reachable(graph: Graph, name: str) -> set[str]:
    """All that a room imports, by whatever way."""
    return set().union(*({each} | reachable(graph, each) for each in graph[name]))


def way(start: str, end: str, level: dict[str, int]) -> list[str]:
    """The points of an arrow: its ends, and a place of its own in every level that it passes."""
    between = [f"{start} {end} {i}" for i in range(level[start] - 1, level[end], -1)]
    level.update({point: level[start] - 1 - i for i, point in enumerate(between)})
    return [start, *between, end]


def arranged(
    graph: Graph, ways: dict[tuple[str, str], list[str]], level: dict[str, int]
) -> dict[str, float]:
    """Where each room, and each arrow that passes, stands from left to right: near its own."""
    near: dict[str, list[str]] = {name: [] for name in (*sorted(graph), *sorted(level))}
    for points in ways.values():
        for one, other in pairwise(points):
            near[one].append(other)
            near[other].append(one)
    rows: dict[int, list[str]] = {}
    for name in near:
        rows.setdefault(level[name], []).append(name)
    at: dict[str, float] = {}
    for row in rows.values():
        spread(row, at)
    for turn in range(60):
        for number in sorted(rows, reverse=turn % 2 == 0):
            row = rows[number]
            row.sort(key=lambda name: sum(at[n] for n in near[name]) / max(len(near[name]), 1))
            spread(row, at)
    return at


def spread(row: list[str], at: dict[str, float]) -> None:
    """Place what stands in a level evenly, as wide as it is."""
    widths = [width(name) for name in row]
    gap = (WIDTH - sum(widths)) / (len(row) + 1)
    x = gap
    for name, wide in zip(row, widths, strict=True):
        at[name] = x + wide / 2
        x += wide + gap


def width(name: str) -> float:
    """Of a box, in inches; an arrow that passes has none."""
    return 0.0 if " " in name else 0.085 * len(name) + 0.18


@plot.looks
def draw(
    graph: Graph,
    ways: dict[tuple[str, str], list[str]],
    at: dict[str, float],
    level: dict[str, int],
) -> Any:
    """Boxes and arrows; every arrow points down."""
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path as Curve

    top = max(level.values())
    figure, axes = plot.figure(WIDTH, HEIGHT * (top + 1.2))
    axis = axes.flat[0]
    for points in ways.values():
        places = [(at[name], float(level[name])) for name in points]
        places[0] = (places[0][0], places[0][1] - BOX)
        places[-1] = (places[-1][0], places[-1][1] + BOX + HEAD)
        curve, codes = [places[0]], [Curve.MOVETO]
        for (x, y), (to_x, to_y) in pairwise(places):
            half = (y - to_y) / 2
            curve += [(x, y - half), (to_x, to_y + half), (to_x, to_y)]
            codes += [Curve.CURVE4] * 3
        line = {"fc": "none", "ec": LINE, "lw": 0.9, "zorder": 1}
        axis.add_patch(PathPatch(Curve(curve, codes), **line))
        axis.plot(*places[-1], marker="v", ms=3.5, color=LINE, mew=0, zorder=2)
    for name in graph:
        wide = width(name)
        corner = (at[name] - wide / 2, level[name] - BOX)
        box = {"fc": FOLDER, "ec": "none", "zorder": 3}
        shape = "round,pad=0,rounding_size=0.06"
        axis.add_patch(FancyBboxPatch(corner, wide, 2 * BOX, boxstyle=shape, **box))
        middle = {"ha": "center", "va": "center", "color": INK, "fontsize": 8, "zorder": 4}
        axis.text(at[name], level[name], name, **middle)
    axis.set_xlim(0, WIDTH)
    axis.set_ylim(-0.6, top + 0.6)
    axis.axis("off")
    figure.savefig(PICTURE)
    print(f"{PICTURE.name}: {len(graph)} rooms, {len(ways)} arrows")
    return figure


if __name__ == "__main__":
    main()
