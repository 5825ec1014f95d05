"""A progress bar with time left, once there are data to tell it from."""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event, RLock, Thread
from types import TracebackType
from typing import TextIO

from gim._base import terminal
from gim._base.terminal import count, duration, width_of
from gim.cli.colour import paint

REFRESH = 0.1  # seconds between two pictures of the bar
SPARSE = 10.0  # seconds between two lines where there is no terminal
CONTROL_C = "^C"  # what the terminal itself may put behind the bar
SAMPLES = 100  # pictures over which the rate is taken: the last ten seconds
SURE = 1.0  # seconds of data before a time left is told
TICK = 0.5  # seconds between two pictures of a bar that nobody moves
FULL = re.compile("[█▉-▏]+")
EIGHTHS = " ▏▎▍▌▋▊▉█"


class Progress:
    """A bar with percentage, rate, elapsed time and time left.

    It only goes forward: of what is told the most counts. On a terminal one line is drawn again at
    most ten times a second, and wiped at the end. In a file or pipe there is a plain line every ten
    seconds, so that short work leaves no trace.

    Args:
        total: what `update` counts up to.
        label: what is being done.
        stream: where to draw; by default stderr, which leaves stdout to results.
        rate: whether to tell how much is done a second.

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
        rate: bool = True,
    ) -> None:
        self.total, self.label, self.stream, self.now = total, label, stream or sys.stderr, now
        self.tty, self.rate = self.stream.isatty(), rate
        self.blocks = _can_show(self.stream, EIGHTHS)
        self.began = self.shown = now()
        self.drawn = 0  # columns of the line on the screen
        self.seen: deque[tuple[float, int]] = deque(maxlen=SAMPLES)
        self.last = (0, "")  # what was told
        self.lock, self.ended = RLock(), Event()

    def __enter__(self) -> Progress:
        if self.now is time.monotonic:  # the line shows that time goes by while something compiles
            Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended.set()
        self.clear()

    def update(self, done: int, extra: str = "") -> None:
        """Say how much is done; `extra` is shown behind the bar while there is room."""
        with self.lock:
            now = self.now()
            if not self.seen:
                self.seen.append((self.began if done == 0 else now, done))
            self._show(done, extra, now, sample=True)

    def wait(self, done: int, extra: str, long: bool = False) -> None:
        """Say what goes on before the work begins; its time tells nothing of the time left.

        A long wait is told at once, in a file or pipe as well.
        """
        with self.lock:
            self._show(done, extra, self.now(), at_once=long)

    def tell(self, line: str) -> None:
        """Say something that stays, above the bar."""
        with self.lock:
            self.clear()
            self._write(f"{line}\n")

    def _show(
        self, done: int, extra: str, now: float, sample: bool = False, at_once: bool = False
    ) -> None:
        done = max(done, self.last[0])
        self.last = (done, extra)
        if self.tty and (now - self.shown >= REFRESH or not self.drawn):
            room = max(terminal.columns(self.stream) - len(CONTROL_C) - 1, 0)
        elif not self.tty and (at_once or now - self.shown >= SPARSE):
            room = 10_000
        else:
            return
        self.shown = now
        if sample:
            self.seen.append((now, done))
        line = self._line(done, extra, now, room, bar=self.tty)
        if self.tty:
            self._draw(line, room)
        else:
            self._write(line + "\n")

    def _tick(self) -> None:
        while not self.ended.wait(TICK):
            with self.lock:
                if not self.ended.is_set() and (self.drawn or not self.tty):
                    self._show(*self.last, self.now())

    def clear(self) -> None:
        """Wipe the line."""
        with self.lock:
            if not self.drawn:
                return
            self._write("\r" + " " * (self.drawn + len(CONTROL_C)) + "\r")
            self.drawn = 0

    def _line(self, done: int, extra: str, now: float, width: int, bar: bool = True) -> str:
        """The line, with as many of its parts as fit: the bar is the last to go but one."""
        share = min(max(done / self.total, 0.0), 1.0) if self.total > 0 else 1.0
        percent = f"{int(100 * share):3d}%"
        (then, before), rate = self.seen[0] if self.seen else (now, done), 0.0
        if now - then >= SURE and done > before:
            rate = (done - before) / (now - then)
        left = duration((self.total - done) / rate) if rate and self.total >= done else ""
        speed = f"{count(rate)}/s" if rate and self.rate else ""
        parts = [
            f"{left} left" if left else "",
            f"elapsed {duration(now - self.began)}",
            speed,
            extra,
        ]
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
        bright = FULL.sub(lambda bar: paint(bar[0], "blue", self.stream), line, count=1)
        self._write("\r" + bright + " " * max(0, min(self.drawn, room) - width))
        self.drawn = width

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a terminal that is gone must not cost the work
            self.stream.write(text)
            self.stream.flush()


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
