"""Memories as flat names and arrays: how NamedTuples of arrays are saved and rebuilt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def flatten(memory: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Turn a NamedTuple of arrays, nested or not, into {"field.field": array}."""
    flat: dict[str, NDArray[Any]] = {}
    for name, value in memory._asdict().items():
        if hasattr(value, "_asdict"):
            flat |= flatten(value, f"{prefix}{name}.")
        elif isinstance(value, np.ndarray):
            flat[prefix + name] = value
        else:
            kind = type(value).__name__
            raise TypeError(f"memory field {prefix}{name} is a {kind}: memories hold arrays only")
    return flat


def rebuild(template: Any, flat: dict[str, NDArray[Any]], prefix: str = "") -> Any:
    """The inverse of `flatten`, for a memory of the same type (sizes may differ)."""
    values = []
    for name, value in template._asdict().items():
        key = prefix + name
        if hasattr(value, "_asdict"):
            values.append(rebuild(value, flat, f"{key}."))
        elif key not in flat or flat[key].dtype != value.dtype or flat[key].ndim != value.ndim:
            raise ValueError(f"the saved memory has no fitting {key!r}: it is of another version")
        else:
            values.append(flat[key])
    return type(template)(*values)
