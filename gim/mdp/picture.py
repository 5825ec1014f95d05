"""How a state of an MDP is shown: as text, or as pixels that matplotlib draws.

States stand where `mdp.info["layout"]` puts them, else row by row in a near square::

    {"cells": [[row, column], ...],     one for each state
     "walls": [[row, column], ...],     optional
     "symbols": [".", "G", ...]}        optional, one for each state; G is drawn as a goal

A tile is the darker the better its state pays; terminal states have a frame. Blue against orange,
and dark against light, are told apart with any kind of colour blindness.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gim.mdp.tabular import TabularMDP

INK, GOAL, AGENT = "#2d3440", "#00548c", "#eb8100"
WALL, POOR, RICH = (np.array(c) / 255 for c in ((108, 116, 130), (226, 233, 241), (92, 164, 214)))

SIZE = 480  # pixels that the longer side of the grid aims at
LEAST, MOST = 8, 80  # pixels of a tile
WIDTH = 272  # at least, so that the caption fits
CAPTION = 28  # pixels below the grid
LETTER = 6  # pixels of a letter


class Picture:
    """Draws one MDP, state by state."""

    def __init__(self, mdp: TabularMDP) -> None:
        layout = mdp.info.get("layout", {})
        side = math.ceil(math.sqrt(mdp.S))
        self.mdp = mdp
        self.cells = [
            tuple(c) for c in layout.get("cells", [divmod(s, side) for s in range(mdp.S)])
        ]
        self.walls = [tuple(c) for c in layout.get("walls", [])]
        self.labels = [str(label) for label in mdp.state_labels or range(mdp.S)]  # short ones
        self.symbols = layout.get("symbols", self.labels)
        every = self.cells + self.walls
        self.rows, self.columns = (1 + max(cell[k] for cell in every) for k in (0, 1))
        self.tile = min(max(SIZE // max(self.rows, self.columns), LEAST), MOST)

    def text(self, s: int, caption: str) -> str:
        """Rows of symbols, the current one in brackets, and the caption."""
        width = max(map(len, self.symbols))
        shown = {
            cell: f" {symbol:>{width}} "
            for cell, symbol in zip(self.cells, self.symbols, strict=True)
        }
        shown |= dict.fromkeys(self.walls, f" {'#' * width} ")
        shown[self.cells[s]] = f"[{self.symbols[s]:>{width}}]"
        blank = " " * (width + 2)
        rows = range(self.rows)
        lines = ["".join(shown.get((i, j), blank) for j in range(self.columns)) for i in rows]
        return "\n".join([*(line.rstrip() for line in lines), caption]) + "\n"

    def pixels(self, s: int, caption: str) -> NDArray[np.uint8]:
        """The grid with a disc on the current state, and the caption below, [height, width, 3]."""
        canvas, agent, line = self._drawn
        agent.set_data([self.cells[s][1]], [self.cells[s][0]])
        line.set_text(caption)
        canvas.draw()
        return np.array(canvas.buffer_rgba())[..., :3]

    @cached_property
    def _drawn(self) -> tuple[Any, Any, Any]:
        """The canvas, and what changes on it: the disc and the caption."""
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError('pictures need matplotlib: pip install "gim[plot]"') from None
        size, n, m = self.tile, self.rows, self.columns
        width, height = max(m * size, WIDTH), n * size + CAPTION
        figure = Figure(figsize=(width / 100, height / 100), dpi=100)
        canvas: Any = FigureCanvasAgg(figure)  # its methods have no types
        grid: Any = figure.add_axes((0, CAPTION / height, m * size / width, n * size / height))
        colours = np.ones((n, m, 3))
        i, j = np.array(self.cells).T
        colours[i, j] = POOR + _worth(self.mdp)[:, None] * (RICH - POOR)
        for cell in self.walls:
            colours[cell] = WALL
        grid.imshow(colours, aspect="auto")
        for x in range(1, max(n, m)):
            grid.axhline(x - 0.5, color="white")
            grid.axvline(x - 0.5, color="white")
        points = 0.72 * size  # of a tile
        goals = np.array([symbol == "G" for symbol in self.symbols])
        ends = self.mdp.terminal
        grid.scatter(j[goals], i[goals], (0.4 * points) ** 2, GOAL, marker="D")
        grid.scatter(j[ends], i[ends], (0.8 * points) ** 2, "none", marker="s", edgecolors=INK)
        if size > 3 * LETTER:
            for label, x, y in zip(self.labels, j, i, strict=True):
                if LETTER * len(label) < size:
                    given: Any = {"fontsize": LETTER, "color": INK, "va": "top"}
                    grid.text(x - 0.4, y - 0.4, label, **given, parse_math=False)
        (agent,) = grid.plot([], [], "o", color=AGENT, markersize=0.44 * points, mec="white")
        grid.set(xlim=(-0.5, m - 0.5), ylim=(n - 0.5, -0.5))
        grid.set_axis_off()
        line = figure.text(8 / width, 8 / height, "", fontsize=8, color=INK, parse_math=False)
        return canvas, agent, line


def _worth(mdp: TabularMDP) -> NDArray[np.float64]:
    """How well each state pays [S], 0 to 1: for being entered, or for the best action there."""
    if mdp.rewards_next is None:
        pays = np.where(mdp.available, mdp.rewards, -np.inf).max(axis=1)
    else:
        pays = np.full(mdp.S, -np.inf)
        np.maximum.at(pays, mdp.rows().indices, mdp.paid())
        pays[np.isinf(pays)] = pays[np.isfinite(pays)].min()
    spread = np.ptp(pays)
    return (pays - pays.min()) / spread if spread > 0 else np.zeros(mdp.S)
