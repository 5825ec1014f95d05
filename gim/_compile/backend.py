"""Which way to numba: by its internals, or by its public interface where it has changed.

``GIM_NUMBA=public`` in the environment asks for the second.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gim._base.logged import line, say

if TYPE_CHECKING:
    from gim._compile.internals import Cache, Entry, Frame, Inner, compiled_for, made, opened
else:
    try:
        if os.environ.get("GIM_NUMBA") == "public":
            raise ImportError("asked for")
        from gim._compile.internals import Cache, Entry, Frame, Inner, compiled_for, made, opened
    except (ImportError, AttributeError, TypeError) as problem:
        from gim._compile.interface import Cache, Entry, Frame, Inner, compiled_for, made, opened

        if os.environ.get("GIM_NUMBA") != "public":
            say(f"this numba is not known ({line(problem)}): compiled code is slower (gim doctor)")

__all__ = ["Cache", "Entry", "Frame", "Inner", "compiled_for", "made", "opened"]
