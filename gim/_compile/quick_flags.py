# mypy: disable-error-code=no-untyped-call
"""Numba's options of a function, quick to compare.

Numba looks up what an operation means by a key that holds the options of the function that it
compiles. It compares them by asking for all of them by name, some ten thousand times for a loop:
an eighth of all that compiling takes.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import Flags
from numba.core.registry import CPUDispatcher

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
