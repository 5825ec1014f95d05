"""Small pictures as SVG: pairs that were met, what actions do, a policy on a grid.

Colours are variables of the report page, so that they follow its light and dark look; the second
value of each is what a file of its own shows, on a white page or a dark one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.escapes import escape
from gim.analogy.structure import Rule
from gim.mdp.tabular import TabularMDP

INK, LINE, BOX = "var(--ink, #7b7b7b)", "var(--line, #80808066)", "var(--box, none)"
HALOED = "var(--ink, #1c1f24)"  # on a ground of its own
SEEN, GUESS = "var(--link, #2a7ab8)", "var(--guess, #c06a10)"
SIDE, MARGIN = 30, 4  # of a cell, and around them all
WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}  # across, down
BLIND = "H#"  # cells that nobody acts in: holes and walls
LEAST = 62  # half of the box in which one action is drawn, if there is no more to it
REACH = 48  # of an arrow that is certain
NAME, CHANCE = 13, 11  # sizes of letters
LETTER = 0.68  # of its size: how wide a letter is


def met_pairs(mdp: TabularMDP, visits: NDArray[Any]) -> str:
    """A cell is a state, its four triangles are its actions: the darker, the more often met.

    Args:
        mdp: a grid with actions up, down, left and right.
        visits: of pairs, [S, A].
    """
    most = math.log1p(float(visits.max())) or 1.0
    parts = []
    for s, x, y in _cells(mdp):
        middle = f"{x + SIDE / 2},{y + SIDE / 2}"
        for a in range(mdp.A):
            dx, dy = WAYS[mdp.action_label(a)]
            one = (x + SIDE * (dx > 0), y + SIDE * (dy > 0))
            two = (one[0] + SIDE * (dx == 0), one[1] + SIDE * (dy == 0))
            n = float(visits[s, a])
            shade = f'fill="{SEEN}" fill-opacity="{0.25 + 0.75 * math.log1p(n) / most:.2f}"'
            points = f"{one[0]},{one[1]} {two[0]},{two[1]} {middle}"
            parts.append(
                f'<polygon points="{points}" {shade if n else f"""fill="{BOX}" """} '
                f'stroke="{LINE}" stroke-width=".6"/>'
            )
    return _svg(*_size(mdp), [*parts, *_frames(mdp), *_symbols(mdp)], "pairs that were met")


def what_actions_do(rules: Sequence[Rule]) -> str:
    """Where each action leads, with its chances; rules in changes of row and col, two abreast."""
    ways = [list(_ways(rule)) for rule in rules]
    far = [
        max(abs(x) + _wide(words, CHANCE) / 2, abs(y) + CHANCE)
        for way in ways
        for *_, x, y, words in way
    ]
    names = [_wide(str(rule.action), NAME) / 2 for rule in rules]
    half = MARGIN + max([LEAST, *far, *names])  # of a box, so that nothing is cut at its edge
    wide, high = 2 * half, 2 * half + NAME
    parts = []
    for i, (rule, way) in enumerate(zip(rules, ways, strict=True)):
        left, top = wide * (i % 2), high * (i // 2)
        x, y = left + half, top + NAME + half
        parts.append(_text(left + MARGIN, top + NAME, str(rule.action), NAME, anchor="start"))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{INK}"/>')
        for dx, dy, chance, at_x, at_y, words in way:
            parts.append(_arrow(x, y, x + dx, y + dy, SEEN, 1 + 4 * chance))
            parts.append(_text(x + at_x, y + at_y + 4, words, CHANCE))
    return _svg(2 * wide, high * math.ceil(len(rules) / 2), parts, "what each action does")


def _ways(rule: Rule) -> Iterator[tuple[float, float, float, float, float, str]]:
    """Each arrow of an action: its end, its chance, and what is written where, from the middle."""
    for change, chance in rule.outcomes:
        dx, dy = float(change.get("col", 0)), float(change.get("row", 0))
        if (dx, dy) == (0.0, 0.0) or chance < 0.005:
            continue
        reach = REACH * math.sqrt(chance)
        away = reach + 12 + 4 * abs(dx)
        words = f"{chance:.2f}".removeprefix("0")
        yield reach * dx, reach * dy, chance, away * dx, away * dy, words


def _wide(words: str, size: int) -> float:
    """How wide a text is at the most."""
    return LETTER * size * len(words)


def policy_on_grid(mdp: TabularMDP, actions: NDArray[Any], visits: NDArray[Any]) -> str:
    """The action of each cell; in another colour where that pair was never met.

    Args:
        mdp: a grid with actions up, down, left and right.
        actions: of states, [S].
        visits: of pairs, [S, A].
    """
    parts = _frames(mdp)
    symbols = _symbols_of(mdp)
    for s, x, y in _cells(mdp):
        if mdp.terminal[s] or symbols[s] in BLIND:
            continue
        a = int(actions[s])
        dx, dy = WAYS[mdp.action_label(a)]
        cx, cy, half = x + SIDE / 2, y + SIDE / 2, SIDE * 0.3
        colour = SEEN if visits[s, a] else GUESS
        way = (cx - half * dx, cy - half * dy, cx + half * dx, cy + half * dy)
        parts.append(_arrow(*way, colour, 2))
    return _svg(*_size(mdp), [*parts, *_symbols(mdp, corner=True)], "the best policy it knows")


def _cells(mdp: TabularMDP) -> Iterator[tuple[int, int, int]]:
    for s, (row, column) in enumerate(mdp.info["layout"]["cells"]):
        yield s, MARGIN + SIDE * column, MARGIN + SIDE * row


def _size(mdp: TabularMDP) -> tuple[int, int]:
    rows, columns = np.array(mdp.info["layout"]["cells"]).max(axis=0) + 1
    return 2 * MARGIN + SIDE * int(columns), 2 * MARGIN + SIDE * int(rows)


def _symbols_of(mdp: TabularMDP) -> list[str]:
    found: list[str] = mdp.info["layout"].get("symbols", [""] * mdp.S)
    return found


def _frames(mdp: TabularMDP) -> list[str]:
    symbols = _symbols_of(mdp)
    return [
        f'<rect x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" stroke="{LINE}" '
        f'fill="{INK if symbols[s] in BLIND else "none"}" fill-opacity=".55"/>'
        for s, x, y in _cells(mdp)
    ]


def _symbols(mdp: TabularMDP, corner: bool = False) -> list[str]:
    """G for goals, S for where episodes start."""
    marks = []
    symbols = _symbols_of(mdp)
    for s, x, y in _cells(mdp):
        mark = "S" if mdp.start[s] > 0 and np.count_nonzero(mdp.start) == 1 else ""
        mark = "G" if symbols[s] == "G" else mark
        if mark and corner and not mdp.terminal[s]:
            marks.append(_text(x + 6, y + 10, mark, 9))
        elif mark:
            marks.append(_text(x + SIDE / 2, y + SIDE / 2 + 5, mark, 14, halo=True))
    return marks


def _arrow(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    long = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / long, (y2 - y1) / long
    size = min(4 + width, long)
    bx, by = x2 - size * ux, y2 - size * uy
    head = [
        (x2, y2),
        (bx - size * uy / 2, by + size * ux / 2),
        (bx + size * uy / 2, by - size * ux / 2),
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{bx:.1f}" y2="{by:.1f}" stroke="{colour}" '
        f'stroke-width="{width:.1f}"/><polygon points="{points}" fill="{colour}"/>'
    )


def _text(
    x: float, y: float, words: str, size: int = 13, anchor: str = "middle", halo: bool = False
) -> str:
    ground = 'stroke="var(--page, #ffffff)" stroke-width="3" paint-order="stroke" ' if halo else ""
    ink = HALOED if halo else INK
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {ground}'
        f'fill="{ink}" font-family="system-ui, sans-serif">{escape(words)}</text>'
    )


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
