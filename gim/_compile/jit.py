# mypy: disable-error-code=no-untyped-call
"""Compilation, in one place: what numba is asked for, and what it keeps on disk.

Ways in:

- ``hot(f)``: a function called from inside a compiled loop. It may neither allocate nor slice. It
  is always inlined, since a call would copy its whole memory; ``rare(f)`` is the exception for what
  seldom runs. Neither has machine code of its own unless Python calls it.
- ``entry(f)``: a function that Python calls; ``seldom(f)`` one that seldom has much to do, and is
  compiled when it has.
- ``bind(template, label, act=..., learn=...)``: a copy of a template in which the named globals
  are these functions: one compiled, cached loop for all agents that act and learn alike. A loop
  that Python resumes takes what it works on as a `gim._compile.frames.Frame`.

Machine code is cached on disk. Numba's cache watches one file only, and functions that arrive as
arguments never hit it. So callees are bound by global name, and the name under which a function is
cached carries a digest of its own source file and of everything it calls: an edit anywhere below
is noticed, and nothing else is compiled again.

With ``NUMBA_DISABLE_JIT=1`` everything runs as plain Python, bit for bit the same; ``plain(f)``
gives that version of one function while the rest stays compiled. ``checked(f)`` gives a compiled
version that raises an IndexError where the other would read or write outside an array.
"""

from __future__ import annotations

import atexit
import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np

from gim._compile.backend import Entry, Inner, compiled_for, made

F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "bind",
    "checked",
    "compiled_for",
    "digest",
    "entry",
    "hot",
    "plain",
    "rare",
    "seldom",
    "to_compile",
]

VERSIONS = f"numba {numba.__version__} numpy {np.__version__} cache 3 {Entry.__module__}"
MUCH = 1e6  # microseconds of plain Python for each second that compiling takes, in all processes
CONSTANTS = (bool, int, float, str, tuple, type(None))


def hot(f: F) -> F:
    """Compile a function for use inside a loop: no allocation, no reference counts."""
    # `_nrt` is numba's own switch; tests/test_jit.py guards its effect on speed and on leaks.
    return _compile(f, Inner, _nrt=False, forceinline=True)


def rare(f: F) -> F:
    """Compile a part of hot code that seldom runs: kept out of line, the rest stays fast."""
    return _compile(f, Inner, _nrt=False)


def entry(f: F) -> F:
    """Compile a function that Python calls."""
    return _compile(f, Entry)


def seldom(work: Callable[..., float], by_views: bool = False) -> Callable[[F], F]:
    """Compile a function that Python calls once it has had some work to do.

    It is plain, bit for bit the same, unless its machine code is on disk, until that has taken as
    long as compiling would, in this process and in earlier ones, of which a tally is kept there:
    so nobody waits twice as long as he would have, had he known how much there is to do.

    Args:
        work: how many microseconds plain Python takes, by its arguments, for a second of compiling.
        by_views: whether plain Python gets views in place of arrays (`viewed`): the
        function
            must then take no rows of tables, ask for a `len`, not a size, and never divide by 0.
    """

    def decorate(f: Any) -> Any:
        compiled: Any = _compile(f, Seldom)
        compiled.work, compiled.by_views = work, by_views
        return compiled

    return decorate


def viewed(value: Any) -> Any:
    """The same with memoryviews in place of arrays, which give Python's own numbers.

    A loop in plain Python is more than twice as fast on these as on arrays.
    """
    if isinstance(value, tuple):
        parts = [viewed(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, np.generic):
        return value.item()
    return memoryview(value.data) if isinstance(value, np.ndarray) else value


def bind(
    template: F,
    label: str,
    inner: bool = False,
    work: Callable[..., float] | None = None,
    **functions: Callable[..., Any],
) -> F:
    """Compile a copy of `template` in which these global names stand for these functions.

    An `inner` copy is for use inside a loop, like `hot`; otherwise Python calls it, like `entry`,
    or with `work` like `seldom`.
    """
    copy = _copy(template, functions)
    copy.__qualname__ = f"{template.__name__}[{label}{_of_others(copy)}]"
    if work is not None:
        return seldom(work)(copy)
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


def to_compile(f: Any) -> bool:
    """Whether a call of this entry will have to compile it."""
    return hasattr(f, "overloads") and not f.overloads and not getattr(f, "kept", False)


def digest(f: Callable[..., Any]) -> str:
    """Hash the source file of `f`, those of all compiled functions it could call, and constants.

    What it could call is what its module has imported: that is settled before the first function
    of a file is compiled, whatever the order in which a file defines its own. The fields of
    NamedTuples are constants as well, since machine code reads them by their places.
    """
    files: dict[Any, bytes] = {}
    _collect(_python(f), files)
    hashed = hashlib.sha256(VERSIONS.encode())
    for source in sorted(files.values()):
        hashed.update(source)
    return hashed.hexdigest()[:12]


class Seldom(Entry):
    """An `Entry` that is compiled late."""

    work: Callable[..., float]
    by_views = False
    done = 0.0  # in all processes

    def __call__(self, *args: Any) -> Any:
        """Run it, compiled or plain."""
        if not self.overloads and not self.kept:
            if not self.done:
                self.done = self._tally()
                atexit.register(self._keep_tally)
            self.done += self.work(*args)
            if self.done <= MUCH:
                with np.errstate(all="ignore"):
                    return self._plain(*(viewed(args) if self.by_views else args))
        return super().__call__(*args)

    @cached_property
    def _plain(self) -> Any:
        return plain(self)

    @property
    def _file(self) -> Path | None:
        """Where the tally is kept, if anything can be."""
        file = getattr(self._cache, "_cache_file", None)
        return None if file is None else Path(file._index_path).with_suffix(".done")

    def _tally(self) -> float:
        """Steps done in earlier processes."""
        try:
            return max(0.0, min(float(self._file.read_text()), MUCH)) if self._file else 0.0
        except (OSError, ValueError):
            return 0.0

    def _keep_tally(self) -> None:
        if self._file and not self.overloads:
            with suppress(OSError):  # it is never a reason to fail
                self._file.write_text(f"{self.done:.0f}")


def _compile(f: Any, kind: Any, **options: Any) -> Any:
    f.__qualname__ += f".{digest(f)}"
    return _made(f, kind, options | {"nogil": True, "error_model": "numpy"})


def _made(f: Any, kind: Any, options: dict[str, Any]) -> Any:
    if vars(numba.config)["DISABLE_JIT"]:  # set by its reading of the environment
        return f
    return update_wrapper(made(f, kind, options), f)


def _way_in(inner: Inner) -> Any:
    """An entry of the same function, for tests and for what thinks in Python."""
    copy = _copy(inner, {})
    copy.__qualname__ = f"{inner.py_func.__qualname__}.entry"
    kept = {key: inner.targetoptions[key] for key in ("nogil", "error_model")}
    return _made(copy, Entry, kept)


Inner.way_in = staticmethod(_way_in)


def _checked(f: Any, done: dict[FunctionType, Any]) -> Any:
    python = _python(f)
    if f is python:  # nothing is compiled: NUMBA_DISABLE_JIT=1
        return f
    if python not in done:
        used = {name: python.__globals__.get(name) for name in python.__code__.co_names}
        compiled = {name: value for name, value in used.items() if hasattr(value, "py_func")}
        copy = _copy(python, {name: _checked(value, done) for name, value in compiled.items()})
        copy.__qualname__ = f"{python.__qualname__}.checked"
        done[python] = _made(copy, _kind(f), f.targetoptions | {"boundscheck": True})
    return done[python]


def _kind(f: Any) -> Any:
    return type(f) if isinstance(f, Entry | Inner) else Entry


def _python(f: Any) -> FunctionType:
    return getattr(f, "py_func", f)


def _copy(f: Any, functions: dict[str, Any]) -> Any:
    python = _python(f)
    space = python.__globals__ | functions
    return FunctionType(python.__code__, space, python.__name__, python.__defaults__)


def _collect(f: FunctionType, files: dict[Any, bytes]) -> None:
    space = {name: value for name, value in f.__globals__.items() if not name.startswith("__")}
    constants = [f"{name}={v!r}" for name, v in space.items() if isinstance(v, CONSTANTS)]
    constants += [f"{name}={v._fields}" for name, v in space.items() if hasattr(v, "_fields")]
    files[f.__code__.co_filename, f.__name__] = _source(f) + "\n".join(sorted(constants)).encode()
    seen = {name for name, _ in files}
    for callee in (getattr(value, "py_func", None) for value in space.values()):
        if callee is not None and callee.__code__.co_filename not in seen:
            _collect(callee, files)


def _of_others(f: FunctionType) -> str:
    """What tells copies apart that call code of others: files of theirs may use one label twice.

    Of gim's own functions nothing: each of its labels stands for one choice of them.
    """
    told = "\n".join(_told(f, set()))
    return f".{hashlib.sha256(told.encode()).hexdigest()[:8]}" if told else ""


def _told(f: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    seen.add(f)
    code, space = f.__code__, f.__globals__
    cells = [cell.cell_contents for cell in f.__closure__ or ()]
    closed: dict[str, Any] = dict(zip(code.co_freevars, cells, strict=True))
    if str(space.get("__name__")).partition(".")[0] != "gim":
        values = {name: v for name, v in closed.items() if not hasattr(v, "py_func")}
        yield f"{f.__qualname__} in line {code.co_firstlineno} with {values!r}"
    used: dict[str, Any] = {name: space.get(name) for name in code.co_names}
    for name, value in (used | closed).items():
        if hasattr(value, "py_func") and value.py_func not in seen:
            told = list(_told(value.py_func, seen))
            yield from [name, *told] if told else []


def _source(f: FunctionType) -> bytes:
    try:
        return _read(inspect.getfile(f))
    except (OSError, TypeError):
        return f.__code__.co_code


@lru_cache
def _read(file: str) -> bytes:
    return Path(file).read_bytes()
