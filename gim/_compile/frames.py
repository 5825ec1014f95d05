# mypy: disable-error-code="no-untyped-call, untyped-decorator"
"""Arguments of a compiled loop, taken apart once and kept in one block of memory.

To enter a compiled function with the memory of an agent, hundreds of fields must be taken out of
Python's objects; and a compiled generator that keeps them as its arguments copies them all at
every pause, code that took the compiler longer than the rest of the loop. A `Frame` holds the
addresses, shapes and strides of all arrays in a row; ``opened(frame)`` gives the loop what was
framed, read from there.
"""

from __future__ import annotations

import struct
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    register_model,
    type_callable,
    unbox,
)
from numba.np.arrayobj import populate_array

WORD = ir.IntType(64)


class Frame:
    """What a compiled loop works on, in a block of words; it keeps the arrays themselves alive.

    Args:
        content: a (named) tuple of arrays, numbers and such tuples.

    Example:
        >>> import numpy as np
        >>> from gim._compile.frames import Frame, opened
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
