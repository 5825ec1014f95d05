"""Ctrl-C at the right moment, and a word at once whatever runs; TERM and HUP are like it.

Python looks at signals between two lines of its own. In the middle of compiled code or of a long
call it hears nothing, for minutes. So the system writes each signal to a descriptor as well, where
a thread waits: compiled code runs without the interpreter's lock, and the thread can speak, and at
a second signal end the command, meanwhile.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

PAUSING = "pausing at the next moment at which nothing is lost (once more: end at once)"
TOLD = 0.2  # seconds that what goes on may wait for the word to be said
GRACE = 0.3  # seconds that a command has to end by itself after the second signal
ALL = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

Ending = Callable[[], tuple[str, int]]  # the last line, and the exit status


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Collect signals in a list while inside; in a program, a second one is not held back.

    A run must stop between two slices, never in the middle of a thought: only then does it go on
    and end bit for bit as if it had not been stopped. In the command a second signal ends the
    process, see `commanded`.
    """
    caught = [signal.SIGINT.value] if broken_off() else []  # it was lost on the way

    def note(number: int, frame: Any) -> None:
        watch.noted += 1
        if caught and not watch.command:
            raise KeyboardInterrupt
        caught.append(number)

    with _watched(note, _watch[-1] if _watch else Watch(_taken())) as watch:
        yield caught
        if caught:
            watch.said.wait(TOLD)


@contextmanager
def commanded(interrupted: Ending) -> Iterator[None]:
    """The command runs inside: one signal is a KeyboardInterrupt, a second ends the process.

    Within a run the first is for the run, see `interrupts`. `interrupted` is how the second ends,
    unless something inside knows better (`ending`).
    """

    def note(number: int, frame: Any) -> None:
        watch.noted += 1
        if watch.noted == 1:
            watch.raised = True
            raise KeyboardInterrupt

    watch = Watch(_taken(), command=True)
    watch.endings.append(interrupted)
    with _watched(note, watch):
        yield


def broken_off() -> bool:
    """Whether the command was told to end in the middle of something, which may be broken.

    A KeyboardInterrupt ends the generators of a compiler for ever, and others make another error of
    it, or none.
    """
    return bool(_watch) and _watch[0].raised


def heed() -> None:
    """End here if the command was told to end and that was lost on the way."""
    if broken_off():
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Let Python hear signals when this is over; the thread speaks and ends the command meanwhile.

    For a compiler: what it hands to C must return, and an exception on the way out may leave it
    broken for ever or end the interpreter.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = _watch[0].taken if _watch else (signal.SIGINT,)
    before: dict[int, Any] = {
        number: handler for number in numbers if callable(handler := signal.getsignal(number))
    }
    held: list[int] = []
    for number in before:
        signal.signal(number, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held:
            before[number](number, None)


@contextmanager
def ending(how: Ending) -> Iterator[None]:
    """Say how a second signal ends the command while inside: it is asked in the thread."""
    endings = _watch[0].endings if _watch else []
    endings.append(how)
    try:
        yield
    finally:
        endings.remove(how)


def of_worker() -> None:
    """Leave TERM and HUP as they are in this process: whoever has started it ends it."""
    _kept_to.append(signal.SIGINT)


class Watch:
    """What is heard while something runs; `command` if the process is its own to end."""

    def __init__(self, taken: tuple[int, ...], command: bool = False) -> None:
        self.taken, self.command = taken, command
        self.times = self.noted = 0  # signals that the thread has heard; that Python has
        self.raised = False  # whether the first was a KeyboardInterrupt
        self.said, self.over = threading.Event(), threading.Event()
        self.endings: list[Ending] = []

    def hear(self) -> None:
        """One more signal (in the thread)."""
        self.times += 1
        if self.times == 1:
            say(PAUSING)
            self.said.set()
        elif self.times == 2 and not self.over.wait(GRACE):
            if self.command:
                text, status = self.endings[-1]()
                say(text)
                os._exit(status)
            if self.noted < 2:  # Python takes signals that come close together for one
                signal.raise_signal(signal.SIGINT)


def say(text: str) -> None:
    """A line on stderr; on a terminal it takes the place of a progress bar."""
    with suppress(Exception):  # whatever became of stderr
        line = f"gim: {text}"
        if sys.stderr.isatty():
            line = "\r" + line.ljust(shutil.get_terminal_size().columns - 1)
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


class _Ear(NamedTuple):
    """Where the system writes signals, for the thread of this process."""

    here: socket.socket
    there: socket.socket

    def listen(self) -> None:
        while numbers := self.here.recv(64):
            for number in numbers:
                for watch in _watch[:1]:
                    if number in watch.taken:
                        watch.hear()


_watch: list[Watch] = []  # the outermost: all that run inside share what it has heard
_before: dict[int, Any] = {}  # the handlers outside of it
_ear: list[_Ear] = []
_kept_to: list[int] = []


def _taken() -> tuple[int, ...]:
    """The signals that are to be heard: Ctrl-C, and others that nobody in this process minds."""
    return tuple(
        number
        for number in _kept_to or ALL
        if (before := signal.getsignal(number)) is not None
        and (number == signal.SIGINT or before is signal.SIG_DFL)
    )


@contextmanager
def _watched(note: Callable[[int, Any], None], watch: Watch) -> Iterator[Watch]:
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    outermost = not _watch
    before = {number: signal.signal(number, note) for number in watch.taken}
    descriptor = signal.set_wakeup_fd(_descriptor(), warn_on_full_buffer=False) if outermost else -1
    if descriptor != -1:  # another's: signals are told there, and only Python's handlers are ours
        signal.set_wakeup_fd(descriptor)
        watch.said.set()
    if outermost:
        _watch.append(watch)
        _before.update(before)
    try:
        yield watch
    finally:
        if outermost:
            watch.over.set()
            _watch.clear()
            _before.clear()
            signal.set_wakeup_fd(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)


def _descriptor() -> int:
    """Where signals are written; the thread is there from the first time on."""
    if not _ear:
        here, there = socket.socketpair()
        there.setblocking(False)
        _ear.append(_Ear(here, there))
        threading.Thread(target=_ear[0].listen, name="gim: signals", daemon=True).start()
    return _ear[0].there.fileno()


def _in_child() -> None:
    """A child of a fork: its signals are its own, and whoever has forked it can end it."""
    if _watch:
        signal.set_wakeup_fd(-1)
        for number, handler in _before.items():
            signal.signal(number, handler)
    for held in (_watch, _before, _ear):
        held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
