"""Compilation, in one place: the only file that imports numba.

Three ways in:

- ``hot(f)``: a function called from inside a compiled loop. It may neither allocate nor slice. It
  is always inlined, since a call would copy its whole memory; ``rare(f)`` is the exception for what
  seldom runs.
- ``entry(f)``: a function that Python calls.
- ``bind(template, label, act=..., learn=...)``: a copy of a template in which the named globals
  are these functions: one compiled, cached loop per kind of agent.

Machine code is cached on disk. Numba's cache watches one file only, and functions that arrive as
arguments never hit it. So callees are bound by global name, and the name under which a function is
cached carries a digest of its own source file and of everything it calls: an edit anywhere below
is noticed, and nothing else is compiled again.

With ``NUMBA_DISABLE_JIT=1`` everything runs as plain Python, bit for bit the same; ``plain(f)``
gives that version of one function while the rest stays compiled. ``checked(f)`` gives a compiled
version that raises an IndexError where the other would read or write outside an array.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

VERSIONS = f"numba {numba.__version__} numpy {np.__version__}"
CONSTANTS = (bool, int, float, str, tuple, type(None))


def hot(f: F) -> F:
    """Compile a function for use inside a loop: no allocation, no reference counts."""
    # `_nrt` is numba's own switch; tests/test_jit.py guards its effect on speed and on leaks.
    return _compile(f, _nrt=False, forceinline=True)


def rare(f: F) -> F:
    """Compile a part of hot code that seldom runs: kept out of line, the rest stays fast."""
    return _compile(f, _nrt=False)


def entry(f: F) -> F:
    """Compile a function that Python calls."""
    return _compile(f)


def bind(template: F, label: str, inner: bool = False, **functions: Callable[..., Any]) -> F:
    """Compile a copy of `template` in which these global names stand for these functions.

    An `inner` copy is for use inside a loop, like `hot`; otherwise Python calls it, like `entry`.
    """
    copy = _copy(template, functions)
    copy.__qualname__ = f"{template.__name__}[{label}]"
    return hot(copy) if inner else entry(copy)


def plain(f: Any) -> Any:
    """Give the same function as ordinary Python, with everything it calls."""
    python = _python(f)
    space: dict[str, Any] = python.__globals__
    used = {name: space.get(name) for name in python.__code__.co_names}
    callees = {name: plain(value) for name, value in used.items() if hasattr(value, "py_func")}
    return _copy(python, callees)


def checked(f: Any) -> Any:
    """Compile the same function, with everything it calls, so that each index is checked.

    For what may hold wrong indices: agents that are being written, memories from files. It takes
    the time of another compilation, and up to an eighth of the speed.
    """
    return _checked(f, {})


def digest(f: Callable[..., Any]) -> str:
    """Hash the source file of `f`, those of all compiled functions it could call, and constants.

    What it could call is what its module has imported: that is settled before the first function
    of a file is compiled, whatever the order in which a file defines its own.
    """
    files: dict[Any, bytes] = {}
    _collect(_python(f), files)
    hashed = hashlib.sha256(VERSIONS.encode())
    for source in sorted(files.values()):
        hashed.update(source)
    return hashed.hexdigest()[:12]


def _compile(f: Any, **options: Any) -> Any:
    f.__qualname__ += f".{digest(f)}"
    return _njit(f, **options, nogil=True, error_model="numpy")


def _njit(f: Any, **options: Any) -> Any:
    try:
        return numba.njit(cache=True, **options)(f)
    except RuntimeError:  # typed into a console: there is no file that a cache could watch
        return numba.njit(**options)(f)


def _checked(f: Any, made: dict[FunctionType, Any]) -> Any:
    python = _python(f)
    if f is python:  # nothing is compiled: NUMBA_DISABLE_JIT=1
        return f
    if python not in made:
        used = {name: python.__globals__.get(name) for name in python.__code__.co_names}
        compiled = {name: value for name, value in used.items() if hasattr(value, "py_func")}
        copy = _copy(python, {name: _checked(value, made) for name, value in compiled.items()})
        copy.__qualname__ = f"{python.__qualname__}.checked"
        made[python] = _njit(copy, **(f.targetoptions | {"boundscheck": True}))
    return made[python]


def _python(f: Any) -> FunctionType:
    return getattr(f, "py_func", f)


def _copy(f: Any, functions: dict[str, Any]) -> Any:
    python = _python(f)
    space = python.__globals__ | functions
    return FunctionType(python.__code__, space, python.__name__, python.__defaults__)


def _collect(f: FunctionType, files: dict[Any, bytes]) -> None:
    space = {name: value for name, value in f.__globals__.items() if not name.startswith("__")}
    constants = [f"{name}={v!r}" for name, v in space.items() if isinstance(v, CONSTANTS)]
    file = f.__code__.co_filename
    files[file, f.__name__] = _source(f) + "\n".join(sorted(constants)).encode()
    seen = {name for name, _ in files}
    for value in space.values():
        callee = getattr(value, "py_func", None)
        if callee is not None and callee.__code__.co_filename not in seen:
            _collect(callee, files)


def _source(f: FunctionType) -> bytes:
    try:
        return _read(inspect.getfile(f))
    except (OSError, TypeError):
        return f.__code__.co_code


@lru_cache
def _read(file: str) -> bytes:
    return Path(file).read_bytes()
