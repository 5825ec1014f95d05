"""Pictures of a state: text, or pixels drawn with numpy alone.

States stand where `mdp.info["layout"]` puts them, else row by row in a near square::

    {"cells": [[row, column], ...],     one for each state
     "walls": [[row, column], ...],     optional
     "symbols": [".", "G", ...]}        optional, one for each state; G is drawn as a goal

A tile is the darker the better its state pays; terminal states have a frame. Blue against orange,
and dark against light, are told apart with any kind of colour blindness.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gim.mdp.rendering.font import write

if TYPE_CHECKING:
    from gim.mdp.tabular import TabularMDP

Pixels = NDArray[np.uint8]  # [height, width, 3]
Alpha = NDArray[np.float64]  # [height, width]: 0 leaves what is below, 1 covers it
Colour = tuple[int, int, int]

PAPER: Colour = (255, 255, 255)
INK: Colour = (45, 52, 64)
WALL: Colour = (108, 116, 130)
POOR: Colour = (226, 233, 241)
RICH: Colour = (92, 164, 214)
GOAL: Colour = (0, 84, 140)
AGENT: Colour = (235, 129, 0)

SIZE = 480  # pixels that the longer side of the grid aims at
LEAST, MOST = 8, 80  # pixels of a tile
WIDTH = 272  # at least, so that the caption fits
CAPTION = 28  # pixels below the grid


class Picture:
    """Draws one MDP, state by state; all but the agent is drawn once."""

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
        self._empty: Pixels | None = None

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

    def pixels(self, s: int, caption: str) -> Pixels:
        """The grid with a disc on the current state, and the caption below."""
        if self._empty is None:
            self._empty = self._draw_empty()
        image = self._empty.copy()
        place = self._tile(image, self.cells[s])[self.tile // 8 :]  # below the label
        _paint(place, _disc(self.tile, 0.27), PAPER)
        _paint(place, _disc(self.tile, 0.22), AGENT)
        below = image[-CAPTION:]
        _paint(below[8:], write(caption, 2, below.shape[1] - 16), INK, left=8)
        return image

    def _draw_empty(self) -> Pixels:
        size = self.tile
        height, width = self.rows * size + CAPTION, max(self.columns * size, WIDTH)
        image = np.full((height, width, 3), PAPER, np.uint8)
        tile, frame = _box(size, 0.04), _box(size, 0.04) - _box(size, 0.08)
        for cell in self.walls:
            _paint(self._tile(image, cell), tile, WALL)
        for s, share in enumerate(_worth(self.mdp)):
            place = self._tile(image, self.cells[s])
            shade = [round(p + share * (r - p)) for p, r in zip(POOR, RICH, strict=True)]
            _paint(place, tile, shade)
            if self.symbols[s] == "G":
                _paint(place[size // 8 :], _diamond(size, 0.28), GOAL)
            if self.mdp.terminal[s]:
                _paint(place, frame, INK)
            self._label(place, str(self.labels[s]))
        return image

    def _label(self, place: Pixels, label: str) -> None:
        """The label in the upper left corner, if it can be read there."""
        edge = self.tile // 7
        for scale in (2, 1):
            ink = write(label, scale)
            if ink.shape[1] <= self.tile - 2 * edge and ink.shape[0] <= self.tile // 4:
                _paint(place[edge:], ink, INK, left=edge)
                return

    def _tile(self, image: Pixels, cell: tuple[int, ...]) -> Pixels:
        i, j = (k * self.tile for k in cell)
        indent = (image.shape[1] - self.columns * self.tile) // 2
        return image[i : i + self.tile, indent + j : indent + j + self.tile]


def _worth(mdp: TabularMDP) -> NDArray[np.float64]:
    """How well each state pays [S], 0 to 1: for being entered, or for the best action there."""
    if mdp.rewards_next is None:
        pays = np.where(mdp.available, mdp.rewards, -np.inf).max(axis=1)
    else:
        paid, rows = mdp.rewards_next, mdp.rows().tocoo()
        paid = paid if mdp.sparse else paid.reshape(rows.shape)
        pays = np.full(mdp.S, -np.inf)
        np.maximum.at(pays, rows.coords[1], np.asarray(paid[rows.coords]).ravel())
        pays[np.isinf(pays)] = pays[np.isfinite(pays)].min()
    spread = np.ptp(pays)
    return (pays - pays.min()) / spread if spread > 0 else np.zeros(mdp.S)


def _paint(image: Pixels, alpha: Alpha, colour: Any, left: int = 0) -> None:
    """Lay a colour over the upper left part of an image, `left` pixels in."""
    rows, columns = alpha.shape
    part = image[:rows, left : left + columns]
    cover = alpha[: part.shape[0], : part.shape[1], None]
    part[:] = np.rint(part * (1 - cover) + np.array(colour) * cover)


def _grid(size: int) -> NDArray[np.float64]:
    """Distances of the pixels' middles from the middle line [size]."""
    return np.abs(np.arange(size) - (size - 1) / 2)


def _disc(size: int, radius: float) -> Alpha:
    away = np.hypot(*np.meshgrid(_grid(size), _grid(size)))
    return np.clip(radius * size - away + 0.5, 0, 1)


def _diamond(size: int, radius: float) -> Alpha:
    away = np.add(*np.meshgrid(_grid(size), _grid(size)))
    return np.clip((radius * size - away) / math.sqrt(2) + 0.5, 0, 1)


def _box(size: int, margin: float) -> Alpha:
    """A square with round corners."""
    half, corner = size * (0.5 - margin), size * 0.12
    x, y = np.meshgrid(*(np.maximum(_grid(size) - half + corner, 0) for _ in range(2)))
    return np.clip(corner - np.hypot(x, y) + 0.5, 0, 1)
