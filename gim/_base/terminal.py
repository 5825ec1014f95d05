"""Text for the terminal: tables, and curves in one line."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from gim._base.averages import equal_groups, size_for
from gim._base.escapes import shown

NARROWEST = 12  # letters of a column that is folded
COLOUR = re.compile(r"\x1b\[[\d;]*m")
LEVELS = "▁▂▃▄▅▆▇█"
NUMBER = re.compile(r"[-+−±~<>]*[\d.,]+(e[-+]?\d+)?( ?(%|±.*|s|ms|M|k|/s))?|[-–]|nan|-?inf|")


def table(
    rows: Iterable[Sequence[Any]],
    headers: Sequence[str] | None = None,
    align: str | None = None,
    width: int | None = None,
) -> str:
    """Lay out rows in columns.

    Args:
        rows: cells of any kind; floats are shown to four digits, None as nothing.
        headers: a name per column, underlined; None for none.
        align: "<" or ">" per column, such as "<>>"; by default numbers stand on the right.
        width: columns of the screen; the widest columns of text are folded to fit. None: any.

    Example:
        >>> print(table([["riverswim", 6], ["casinoland", 8]], ["task", "S"]))
        task        S
        ──────────  ─
        riverswim   6
        casinoland  8
    """
    cells = [[_cell(value) for value in row] for row in rows]
    head = [[shown(name) for name in headers]] if headers is not None else []
    columns = max((len(row) for row in cells + head), default=0)
    lines = [row + [""] * (columns - len(row)) for row in head + cells]
    widths = [max(width_of(row[j]) for row in lines) for j in range(columns)]
    if align is None:
        body = lines[len(head) :]
        numeric = (all(NUMBER.fullmatch(row[j]) for row in body) for j in range(columns))
        align = "".join(">" if each and body else "<" for each in numeric)
    if len(align) != columns:
        raise ValueError(f"align = {align!r} has {len(align)} marks for {columns} columns")
    if width is not None:
        _narrow(widths, align, width)
        lines = [part for row in lines for part in _folded(row, widths)]
        head = [part for row in head for part in _folded(row, widths)]
    if head:
        lines.insert(len(head), ["─" * width for width in widths])
    return "\n".join(
        "  ".join(map(_padded, row, widths, align)).rstrip()
        for row in lines  # every line alike
    )


def _narrow(widths: list[int], align: str, width: int) -> None:
    """Take from the widest columns of text until all fit, or none has room to give."""
    text = [j for j, mark in enumerate(align) if mark == "<"]
    while sum(widths) + 2 * (len(widths) - 1) > width and text:
        widest = max(text, key=lambda j: widths[j])
        if widths[widest] <= NARROWEST:
            return
        widths[widest] -= 1


def _folded(row: list[str], widths: list[int]) -> list[list[str]]:
    """A row as the lines that it takes."""
    parts = [
        [cell] if width_of(cell) <= width else wrap(cell, width)
        for cell, width in zip(row, widths, strict=True)
    ]
    return [list(line) for line in zip_longest(*parts, fillvalue="")]


def sparkline(
    values: ArrayLike, width: int = 60, low: float | None = None, high: float | None = None
) -> str:
    """Draw a curve in one line of text; each mark is the mean of equally many values.

    Args:
        values: [n]; what is not finite leaves a gap.
        width: marks at the most.
        low, high: values of the lowest and the highest mark; by default those of the curve.

    Example:
        >>> sparkline([0, 1, 2, 3, 2, 1])
        '▁▃▆█▆▃'
    """
    if width < 1:
        raise ValueError(f"width = {width}: a curve has at least one mark")
    curve = np.asarray(values, np.float64).ravel()
    parts = curve[equal_groups(curve.size, size_for(curve.size, width))]
    whole = np.isfinite(parts).all(axis=1, keepdims=True)
    means = np.where(whole, parts, np.nan).mean(axis=1)
    finite = means[np.isfinite(means)]
    if not finite.size:
        return " " * means.size
    low = float(finite.min()) if low is None else low
    high = float(finite.max()) if high is None else high
    share = (means - low) / (high - low) if high > low else np.where(np.isnan(means), means, 0.0)
    marks = np.round(np.clip(share, 0, 1) * (len(LEVELS) - 1))
    return "".join(" " if np.isnan(mark) else LEVELS[int(mark)] for mark in marks)


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal; colours take none."""
    text = COLOUR.sub("", text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    none = sum(unicodedata.category(c) in ("Mn", "Me", "Cf") for c in text)
    return len(text) + wide - none


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03 or 0:07."""
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"


def count(number: float) -> str:
    """A number in few letters: 950, 12k, 3.4M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        value = float(value)
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return shown(value)


def _padded(text: str, width: int, align: str) -> str:
    gap = " " * (width - width_of(text))
    return gap + text if align == ">" else text + gap


def columns(stream: TextIO) -> int:
    """The width of a terminal, in letters."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size().columns
