"""A run is entered once: whoever comes while it is played is told so, before anything is touched.

A loop that Python resumes cannot be entered a second time, from another thread or from inside
itself: compiled, it would work on the same memory twice, or end the interpreter.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Once:
    """Held by whoever works on a thing; one thread at a time, and once in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: threading.Thread | None = None
        self._paused = False  # whether the holder is where the thing is whole, as in a callback

    @contextmanager
    def entered(self, how: str) -> Iterator[None]:
        """Hold it while inside; `how` is the call, for the one line that others are told."""
        if not self._lock.acquire(blocking=False):
            raise ValueError(self._taken(how))
        self._holder = threading.current_thread()
        try:
            yield
        finally:
            self._holder = None
            self._lock.release()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the holder's thread look at the thing, and save it, while inside."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    @contextmanager
    def whole(self, how: str) -> Iterator[None]:
        """Be sure that nothing changes it while inside."""
        if self._paused and self._holder is threading.current_thread():
            yield
            return
        with self.entered(how):
            yield

    def _taken(self, how: str) -> str:
        holder = self._holder
        if holder is threading.current_thread():
            return (
                f"this run is being played: {how} cannot be called from inside its world or its "
                "callback; let the first call return, or make another run with gim.run"
            )
        name = "" if holder is None else f" in the thread {holder.name!r}"
        return (
            f"this run is being played{name}: {how} must wait until that call has returned; "
            "or make another run with gim.run"
        )
