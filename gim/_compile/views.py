"""Arrays as plain Python reads them fastest."""

from __future__ import annotations

from typing import Any

import numpy as np


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
