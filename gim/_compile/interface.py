"""Compilation by numba's public interface alone: what stands in for `gim._compile.internals`.

The same names with the same meaning. Functions may allocate, all have machine code of their own,
and nothing watches over the files of the cache but numba itself.
"""

from __future__ import annotations

from typing import Any

import numba


class Cache:
    """Numba's own; see `entry`."""


class Inner:
    """The kind of functions that compiled code calls."""

    way_in: Any = None  # all of them have one


class Entry:
    """The kind of functions that Python calls."""


def compiled_for() -> float:
    """Nobody counts: compiling is part of what was computed."""
    return 0.0


def made(f: Any, kind: Any, options: dict[str, Any]) -> Any:
    """A function compiled when it is first called."""
    known = {key: options[key] for key in ("nogil", "error_model", "boundscheck") if key in options}
    if issubclass(kind, Entry):
        try:
            return numba.njit(cache=True, **known)(f)
        except RuntimeError:  # no folder to write to; or from a console, without file
            return numba.njit(**known)(f)
    return numba.njit(**known)(f)


def Frame(content: Any) -> Any:
    """What a compiled loop works on, as it is."""
    return content


@numba.njit
def opened(frame: Any) -> Any:
    """What was framed."""
    return frame
