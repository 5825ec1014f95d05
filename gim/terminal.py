"""Text for the terminal: tables, a progress bar with time left, and curves in one line."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

REFRESH = 0.1  # seconds between two pictures of the bar
SPARSE = 10.0  # seconds between two lines where there is no terminal
CONTROL_C = "^C"  # what the terminal itself may put behind the bar
SAMPLES = 100  # pictures over which the rate is taken: the last ten seconds
LEVELS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉█"
NUMBER = re.compile(r"[-+−±~<>]*[\d.,]+(e[-+]?\d+)?( ?(%|±.*|s|ms|M|k|/s))?|[-–]|nan|-?inf|")


def table(
    rows: Iterable[Sequence[Any]], headers: Sequence[str] | None = None, align: str | None = None
) -> str:
    """Lay out rows in columns.

    Args:
        rows: cells of any kind; floats are shown to four digits, None as nothing.
        headers: a name per column, underlined; None for none.
        align: "<" or ">" per column, such as "<>>"; by default numbers stand on the right.

    Example:
        >>> print(table([["riverswim", 6], ["casinoland", 8]], ["task", "S"]))
        task        S
        ──────────  ─
        riverswim   6
        casinoland  8
    """
    cells = [[_cell(value) for value in row] for row in rows]
    head = [[str(name) for name in headers]] if headers is not None else []
    columns = max((len(row) for row in cells + head), default=0)
    lines = [row + [""] * (columns - len(row)) for row in head + cells]
    widths = [max(width_of(row[j]) for row in lines) for j in range(columns)]
    if align is None:
        body = lines[len(head) :]
        numeric = (all(NUMBER.fullmatch(row[j]) for row in body) for j in range(columns))
        align = "".join(">" if each and body else "<" for each in numeric)
    if len(align) != columns:
        raise ValueError(f"align = {align!r} has {len(align)} marks for {columns} columns")
    if head:
        lines.insert(1, ["─" * width for width in widths])
    return "\n".join(
        "  ".join(map(_padded, row, widths, align)).rstrip()
        for row in lines  # every line alike
    )


def sparkline(
    values: ArrayLike, width: int = 60, low: float | None = None, high: float | None = None
) -> str:
    """Draw a curve in one line of text; each mark is the mean of its share of the values.

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
    parts = np.array_split(curve, min(width, curve.size)) if curve.size else []
    means = np.array([part.mean() if np.isfinite(part).all() else np.nan for part in parts])
    finite = means[np.isfinite(means)]
    if not finite.size:
        return " " * means.size
    low = float(finite.min()) if low is None else low
    high = float(finite.max()) if high is None else high
    share = (means - low) / (high - low) if high > low else np.where(np.isnan(means), means, 0.0)
    marks = np.round(np.clip(share, 0, 1) * (len(LEVELS) - 1))
    return "".join(" " if np.isnan(mark) else LEVELS[int(mark)] for mark in marks)


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal."""
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


class Progress:
    """A bar with percentage, rate, elapsed time and time left.

    On a terminal one line is drawn again at most ten times a second, and wiped at the end. In a
    file or pipe there is a plain line every ten seconds, so that short work leaves no trace.

    Args:
        total: what `update` counts up to.
        label: what is being done.
        stream: where to draw; by default stderr, which leaves stdout to results.

    Example:
        >>> with Progress(2, "work") as bar:
        ...     bar.update(1, "half of it")
    """

    def __init__(
        self,
        total: int,
        label: str = "",
        stream: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.label, self.stream, self.now = total, label, stream or sys.stderr, now
        self.tty = self.stream.isatty()
        self.blocks = _can_show(self.stream, EIGHTHS)
        self.began = self.shown = now()
        self.drawn = 0  # columns of the line on the screen
        self.seen: deque[tuple[float, int]] = deque(maxlen=SAMPLES)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def update(self, done: int, extra: str = "") -> None:
        """Say how much is done; `extra` is shown behind the bar while there is room."""
        now = self.now()
        if not self.seen:
            self.seen.append((self.began if done == 0 else now, done))
        if self.tty and (now - self.shown >= REFRESH or not self.drawn):
            self.shown = now
            self.seen.append((now, done))
            room = max(_columns(self.stream) - len(CONTROL_C) - 1, 0)
            self._draw(self._line(done, extra, now, room), room)
        elif not self.tty and now - self.shown >= SPARSE:
            self.shown = now
            self.seen.append((now, done))
            self._write(self._line(done, extra, now, 10_000, bar=False) + "\n")

    def clear(self) -> None:
        """Wipe the line."""
        if self.drawn:
            self._write("\r" + " " * (self.drawn + len(CONTROL_C)) + "\r")
            self.drawn = 0

    def _line(self, done: int, extra: str, now: float, width: int, bar: bool = True) -> str:
        """The line, with as many of its parts as fit: the bar is the last to go but one."""
        share = min(max(done / self.total, 0.0), 1.0) if self.total > 0 else 1.0
        percent = f"{int(100 * share):3d}%"
        (then, before), rate = self.seen[0], 0.0
        if now > then and done > before:
            rate = (done - before) / (now - then)
        left = duration((self.total - done) / rate) if rate and self.total >= done else "?"
        parts = [f"{left} left", f"elapsed {duration(now - self.began)}", f"{count(rate)}/s", extra]
        parts = [part for part in parts if part]
        label = f"{self.label} " if self.label else ""
        for kept in range(len(parts), -1, -1):
            tail = "  ".join([percent, *parts[:kept]])
            room = width - width_of(label) - width_of(tail) - 1
            if not bar:
                return f"{label}{tail}"
            if room >= 5:
                return f"{label}{self._bar(share, min(room, 40))} {tail}"
        return percent.strip()[:width]

    def _bar(self, share: float, width: int) -> str:
        if not self.blocks:
            return ("#" * int(share * width)).ljust(width, ".")
        full, part = divmod(int(share * width * 8), 8)
        return ("█" * full + EIGHTHS[part] * (part > 0)).ljust(width)

    def _draw(self, line: str, room: int) -> None:
        width = width_of(line)
        self._write("\r" + line + " " * max(0, min(self.drawn, room) - width))
        self.drawn = width

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        value = float(value)
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)


def _padded(text: str, width: int, align: str) -> str:
    gap = " " * (width - width_of(text))
    return gap + text if align == ">" else text + gap


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size().columns


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
