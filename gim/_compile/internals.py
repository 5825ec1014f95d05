# mypy: disable-error-code="no-untyped-call, untyped-decorator"
"""All that touches numba's internals: what makes loops quick to compile, to start and to run.

- options of a function that are quick to compare
- files of machine code with checksums, which are never a reason to fail
- functions without machine code of their own, for compiled callers alone
- functions that Python calls, with their time of compiling
- frames: what a loop works on in one block of memory

Where a numba of another version does not have what is used here, `gim._compile.interface` stands in
on numba's public interface, slower to compile and to run, with the same bits.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import struct
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    register_model,
    type_callable,
    unbox,
)
from numba.np.arrayobj import populate_array

from gim._base.interrupts import deferred
from gim._base.logged import line, say

# Numba looks up what an operation means by a key that holds the options of the function that it
# compiles. It compares them by asking for all of them by name, some ten thousand times for a loop:
# an eighth of all that compiling takes.

DEFAULTS = {name: option.default for name, option in Flags.options.items()}
NAMES = hash(tuple(sorted(DEFAULTS)))  # as numba has it


class QuickFlags(Flags):
    """The same options, equal and hashed as numba's are, by their dictionaries at once."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return NotImplemented
        one, two = self._values, other._values
        return bool(one == two or DEFAULTS | one == DEFAULTS | two)

    def __hash__(self) -> int:
        return NAMES


class Function(CPUDispatcher):
    """Numba's compiled function, with quick options."""

    _compiler: Any  # numba's own, which asks it for the options

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._compiler._customize_flags = QuickFlags


# -- files of machine code


class Data(IndexDataCacheFile):
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


class Cache(FunctionCache):
    """Numba's cache of one function, which is never a reason to fail.

    Whatever is wrong with it (empty or cut files, another version, a full disk, a folder that is
    gone or another user's), the function is compiled, with a word, and kept again if that is
    possible.
    """

    def __init__(self, f: Any) -> None:
        super().__init__(f)
        old = self._cache_file
        base = old._index_name.removesuffix(".nbi")
        self._cache_file = Data(old._cache_path, base, old._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is on disk for a signature; None if there is nothing to be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # unpickling may raise anything
            say(f"the compile cache is damaged ({line(problem)}): compiling anew")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it on disk, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception:
            try:
                self.flush()  # an index that cannot be read
                super().save_overload(sig, data)
            except Exception as problem:
                say(f"the compile cache cannot be written ({line(problem)}): not kept")


# -- functions for compiled callers
#
# Numba makes of each function a library with machine code, a way in from Python for its arguments
# and a file in the cache. Of what is always inlined nothing but the code for the caller to take in
# is needed; the rest is half of the time that a loop takes to compile.


class Library(JITCodeLibrary):
    """Code to be linked into that of callers, which is where it is optimised and made to run."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, but for environments, which are the caller's to set."""
        return _WithoutEnvironments(self._codegen)


class _WithoutEnvironments:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


class InnerCompiler(Compiler):
    """Numba's compiler, into a `Library`."""

    def define_pipelines(self) -> Any:
        """As always, with our library."""
        codegen = self.state.targetctx.codegen()
        self.state.library = Library(codegen, self.state.func_id.func_qualname)
        return super().define_pipelines()


class Inner(Function):
    """A function for compiled callers. Called from Python, it is compiled again, with a way in."""

    way_in: Callable[[Any], Any]  # makes a function for Python of one of these

    def __init__(
        self,
        py_func: Any,
        locals: Any = None,
        targetoptions: Any = None,
        pipeline_class: Any = InnerCompiler,
    ) -> None:
        options = (targetoptions or {}) | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(py_func, locals or {}, options, pipeline_class)

    def __call__(self, *args: Any) -> Any:
        """Run the version for Python."""
        return self.from_python(*args)

    @cached_property
    def from_python(self) -> Any:
        """The same function with a way in."""
        return type(self).way_in(self)


# -- functions for Python

_spent, _compiling = [0.0], [False]  # seconds; whether it is going on


def compiled_for() -> float:
    """Processor seconds that compiling, or loading what was compiled, has taken so far."""
    return _spent[0]


class Entry(Function):
    """A function that Python calls, kept on disk."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self._cache = Cache(self.py_func)
        except (RuntimeError, OSError):  # no folder to write to; or from a console, without file
            if Path(self.py_func.__code__.co_filename).exists():
                say(
                    "the compile cache cannot be written, each start compiles anew "
                    "(NUMBA_CACHE_DIR)"
                )

    @cached_property
    def kept(self) -> bool:
        """Whether there was machine code on disk when it was first asked for."""
        file = getattr(self._cache, "_cache_file", None)
        return file is not None and Path(file._index_path).exists()

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, or load what is on disk; the time it takes is counted."""
        if _compiling[0]:  # as part of another
            return super().compile(sig)
        before, _compiling[0] = time.thread_time(), True
        collects = gc.isenabled()
        gc.disable()  # the compiler makes many objects that live as long as it works
        try:
            with deferred():
                return super().compile(sig)
        finally:
            if collects:
                gc.enable()
            _compiling[0] = False
            _spent[0] += time.thread_time() - before

    def add_overload(self, made: Any) -> None:
        """Take in a version; what it has inlined may refer to environments that none else sets."""
        super().add_overload(made)
        for environment in made._find_referenced_environments():
            made.codegen.set_env(environment.env_name, environment)


def made(f: Any, kind: Any, options: dict[str, Any]) -> Any:
    """A function compiled when it is first called, of one of the kinds above."""
    return kind(py_func=f, targetoptions=options | {"nopython": True, "no_cfunc_wrapper": True})


# -- frames
#
# To enter a compiled function with the memory of an agent, hundreds of fields must be taken out of
# Python's objects; and a compiled generator that keeps them as its arguments copies them all at
# every pause, code that took the compiler longer than the rest of the loop.

WORD = ir.IntType(64)


class Frame:
    """What a compiled loop works on, in a block of words; it keeps the arrays themselves alive.

    Args:
        content: a (named) tuple of arrays, numbers and such tuples.

    Example:
        >>> import numpy as np
        >>> from gim._compile.internals import Frame, opened
        >>> opened(Frame((np.arange(3), 1.5)))
        (array([0, 1, 2]), 1.5)
    """

    __slots__ = ("_numba_type_", "address", "content", "words")

    def __init__(self, content: Any) -> None:
        self.content = content
        words: list[int] = []
        form = _write(content, words)
        self.words = np.array(words, np.int64)
        self.address = self.words.ctypes.data
        if form not in _TYPES:
            _TYPES[form] = FrameType(numba.typeof(content))
        self._numba_type_ = _TYPES[form]


def opened(frame: Frame) -> Any:
    """What was framed; inside compiled code its arrays are read where they are."""
    return frame.content


class FrameType(types.Type):
    """The compiler's type of a `Frame`: that of its content."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(f"Frame({content})")

    @property
    def key(self) -> Any:
        """Frames of one type of content are of one type."""
        return self.content

    def __hash__(self) -> int:
        """That of its name: the content's asks all its parts anew, a dozen times a run."""
        return hash(self.name)


@register_model(FrameType)
class FrameModel(models.PrimitiveModel):
    """Compiled, a frame is its address."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD)


@unbox(FrameType)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    word = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(word)


@type_callable(opened)
def _type_of_opened(context: Any) -> Any:
    return lambda frame: frame.content if isinstance(frame, FrameType) else None


@lower_builtin(opened, FrameType)
def _lower_opened(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    words = builder.inttoptr(args[0], WORD.as_pointer())
    place = 0

    def read() -> Any:
        nonlocal place
        place += 1
        return builder.load(cgutils.gep_inbounds(builder, words, place - 1))

    def build(kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            return context.make_tuple(builder, kind, [build(part) for part in parts])
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder)
            data = builder.inttoptr(read(), array.data.type)
            shape = [read() for _ in range(kind.ndim)]
            strides = [read() for _ in range(kind.ndim)]
            itemsize = WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
            populate_array(array, data, shape, strides, itemsize, None)
            return array._getvalue()
        word = read()
        if kind == types.float64:
            return builder.bitcast(word, ir.DoubleType())
        if kind == types.boolean:
            return builder.icmp_unsigned("!=", word, WORD(0))
        if kind == types.int64:
            return word
        raise TypeError(f"a frame cannot hold {kind}")

    return build(signature.return_type)


_TYPES: dict[Any, FrameType] = {}  # by form: to ask numba takes milliseconds


def _write(value: Any, words: list[int]) -> Any:
    """Append the numbers that `_lower_opened` reads, in its order.

    Returns:
        What the type of the value depends on.
    """
    if isinstance(value, np.ndarray):
        words += (value.ctypes.data, *value.shape, *value.strides)
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return type(value), *[_write(part, words) for part in value]
    if isinstance(value, float):
        words += struct.unpack("q", struct.pack("d", value))
    else:
        words.append(int(value))
    return type(value)
