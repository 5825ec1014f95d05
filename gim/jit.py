# mypy: disable-error-code=no-untyped-call
"""Compilation, in one place: what numba is asked for, and what it keeps on disk.

Ways in:

- ``hot(f)``: a function called from inside a compiled loop. It may neither allocate nor slice. It
  is always inlined, since a call would copy its whole memory; ``rare(f)`` is the exception for what
  seldom runs. Neither has machine code of its own (`gim.inner`) unless Python calls it.
- ``entry(f)``: a function that Python calls; ``seldom(f)`` one that seldom has much to do, and is
  compiled when it has.
- ``bind(template, label, act=..., learn=...)``: a copy of a template in which the named globals
  are these functions: one compiled, cached loop per kind of agent. A loop that Python resumes takes
  what it works on as a `gim.frames.Frame`.

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
import logging
import pickle
from collections.abc import Callable
from functools import cached_property, lru_cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher

from gim.inner import Inner

F = TypeVar("F", bound=Callable[..., Any])

VERSIONS = f"numba {numba.__version__} numpy {np.__version__} cache 3"
MUCH = 200_000  # steps of a loop that plain Python does in the time that compiling it takes
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


def seldom(work: Callable[..., float]) -> Callable[[F], F]:
    """Compile a function that Python calls once it has had some work to do.

    Compiling takes a second or so, in which plain Python gets through MUCH steps; so it is plain,
    bit for bit the same, until it has done as many, unless its machine code is on disk already.

    Args:
        work: gives of the arguments about how many steps the innermost loop has.
    """

    def decorate(f: Any) -> Any:
        made: Any = _compile(f, Seldom)
        made.work = work
        return made

    return decorate


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


def to_compile(f: Any) -> bool:
    """Whether a call of this entry will have to compile it."""
    return isinstance(f, Entry) and not f.overloads and not f.kept


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


class Entry(CPUDispatcher):
    """A function that Python calls, kept on disk."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self._cache = _Cache(self.py_func)
        except (RuntimeError, OSError):  # no folder to write to; or from a console, without file
            if Path(self.py_func.__code__.co_filename).exists():
                _say(
                    "the compile cache cannot be written, each start compiles anew "
                    "(NUMBA_CACHE_DIR)"
                )

    @cached_property
    def kept(self) -> bool:
        """Whether there was machine code on disk when it was first asked for."""
        file = getattr(self._cache, "_cache_file", None)
        return file is not None and Path(file._index_path).exists()

    def add_overload(self, made: Any) -> None:
        """Take in a version; what it has inlined may refer to environments that none else sets."""
        super().add_overload(made)
        for environment in made._find_referenced_environments():
            made.codegen.set_env(environment.env_name, environment)


class Seldom(Entry):
    """An `Entry` that is compiled late."""

    work: Callable[..., float]
    done = 0.0

    def __call__(self, *args: Any) -> Any:
        """Run it, compiled or plain."""
        if not self.overloads and not self.kept:
            self.done += self.work(*args)
            if self.done <= MUCH:
                with np.errstate(all="ignore"):
                    return self._plain(*args)
        return super().__call__(*args)

    @cached_property
    def _plain(self) -> Any:
        return plain(self)


def _compile(f: Any, kind: Any, **options: Any) -> Any:
    f.__qualname__ += f".{digest(f)}"
    return _made(f, kind, options | {"nogil": True, "error_model": "numpy"})


def _made(f: Any, kind: Any, options: dict[str, Any]) -> Any:
    if vars(numba.config)["DISABLE_JIT"]:  # set by its reading of the environment
        return f
    options |= {"nopython": True, "no_cfunc_wrapper": True}
    made = kind(py_func=f, targetoptions=options)
    return update_wrapper(made, f)


def _way_in(inner: Inner) -> Any:
    """An entry of the same function, for tests and for what thinks in Python."""
    copy = _copy(inner, {})
    copy.__qualname__ = f"{inner.py_func.__qualname__}.entry"
    kept = {key: inner.targetoptions[key] for key in ("nogil", "error_model")}
    return _made(copy, Entry, kept)


Inner.way_in = staticmethod(_way_in)


def _checked(f: Any, made: dict[FunctionType, Any]) -> Any:
    python = _python(f)
    if f is python:  # nothing is compiled: NUMBA_DISABLE_JIT=1
        return f
    if python not in made:
        used = {name: python.__globals__.get(name) for name in python.__code__.co_names}
        compiled = {name: value for name, value in used.items() if hasattr(value, "py_func")}
        copy = _copy(python, {name: _checked(value, made) for name, value in compiled.items()})
        copy.__qualname__ = f"{python.__qualname__}.checked"
        made[python] = _made(copy, type(f), f.targetoptions | {"boundscheck": True})
    return made[python]


class _Data(IndexDataCacheFile):
    """Numba's cache files, with a checksum: machine code with a wrong bit would be run."""

    def _save_index(self, overloads: Any) -> None:
        index = self._dump((self._source_stamp, overloads))
        self._write(self._index_path, self._dump(self._version) + index)

    def _load_index(self) -> Any:
        if Path(self._index_path).exists():
            self._read(self._index_path)
        return super()._load_index()

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._read(self._data_path(name)))

    def _write(self, path: str, data: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(data + hashlib.sha256(data).digest())

    def _read(self, path: str) -> bytes:
        found = Path(path).read_bytes()
        if hashlib.sha256(found[:-32]).digest() != found[-32:]:
            raise ValueError("a file was cut or changed")
        return found[:-32]


class _Cache(FunctionCache):
    """Numba's cache of one function, which is never a reason to fail.

    Whatever is wrong with it (empty or cut files, another version, a full disk, a folder that is
    gone or another user's), the function is compiled, with a word, and kept again if that is
    possible.
    """

    def __init__(self, f: Any) -> None:
        super().__init__(f)
        old = self._cache_file
        base = old._index_name.removesuffix(".nbi")
        self._cache_file = _Data(old._cache_path, base, old._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # unpickling may raise anything
            _say(f"the compile cache is damaged ({_line(problem)}): compiling anew")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            try:
                self.flush()  # an index that cannot be read
                super().save_overload(sig, data)
            except Exception as problem:
                _say(f"the compile cache cannot be written ({_line(problem)}): not kept")


def _line(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())


@lru_cache  # each word once: there are hundreds of functions
def _say(text: str) -> None:
    logging.getLogger("gim").warning(text)


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
