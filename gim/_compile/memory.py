"""Memories as flat names and arrays: how NamedTuples of arrays are saved, rebuilt and checked.

What comes from a file ends up in compiled code, so it is compared with a memory that the same agent
has just made for the same world. Each array must have its dtype and shape and hold no NaN. Beyond
that a NamedTuple says itself what its arrays may hold, and which of them grow::

    class Memory(NamedTuple):
        q: NDArray[np.float64]     # [S, A]
        best: NDArray[np.int64]    # [S]
        alpha: NDArray[np.float64] # [1]

        def limits(self) -> Limits:  # asked of the new memory
            return {"best": actions(self.q), "alpha": SAME}

        def fault(self) -> str: ...  # asked of the rebuilt one; "" if all is well; may be left out

One that has integers and no `limits` is not trusted: its run goes on with every index checked
(`gim._compile.jit.checked`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

COUNT = 1 << 53  # no number of visits or steps is larger; up to there floats count by ones


class Limit(NamedTuple):
    """What an array may hold; one that `grows` may have another size than at the start."""

    low: float = -np.inf
    high: float = np.inf
    grows: bool = False
    same: bool = False  # as at the start
    optional: bool = False  # files of earlier versions may lack it: it is then as at the start


Limits = dict[str, Limit]
SAME = Limit(same=True)
VISITS = Limit(0, COUNT)
LARGE = Limit(0, np.inf)  # a number of visits that may be "never"


def actions(table: NDArray[Any], none: int = 0) -> Limit:
    """An action of a table [..., A], or down to -`none` what stands for no action."""
    return Limit(-none, table.shape[-1] - 1)


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


def part(flat: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """What stands under a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in flat.items() if k.startswith(prefix)}


def trusted(memory: Any) -> bool:
    """Whether every part that holds integers says what they may be."""
    parts = memory._asdict().values()
    own = [part for part in parts if not hasattr(part, "_asdict")]
    says = hasattr(memory, "limits") or not any(part.dtype.kind == "i" for part in own)
    return says and all(trusted(part) for part in parts if hasattr(part, "_asdict"))


def rebuild(template: Any, flat: dict[str, NDArray[Any]], prefix: str = "") -> Any:
    """The inverse of `flatten`: a memory like the template, from arrays that are checked."""
    if not prefix and (strange := flat.keys() - flatten(template).keys()):
        raise ValueError(f"the saved memory has {min(strange)!r}, which this agent does not keep")
    limits: Limits = template.limits() if hasattr(template, "limits") else {}
    values = []
    for name, value in template._asdict().items():
        key = prefix + name
        if hasattr(value, "_asdict"):
            values.append(rebuild(value, flat, f"{key}."))
            continue
        limit = limits.get(name, Limit())
        saved = flat.get(key, value if limit.optional else None)
        if saved is None or saved.dtype != value.dtype or saved.ndim != value.ndim:
            raise ValueError(f"the saved memory has no fitting {key!r}: it is of another version")
        if saved.dtype.kind == "f" and np.isnan(saved).any():
            raise ValueError(f"the saved memory has a NaN in {key!r}: no run leaves one there")
        _check(key, saved, value, limit)
        values.append(saved)
    memory = type(template)(*values)
    if hasattr(memory, "mended"):  # what an earlier version did not keep
        memory = memory.mended()
    if problem := memory.fault() if hasattr(memory, "fault") else "":
        raise ValueError(f"the saved memory is not whole: {prefix}{problem}")
    return memory


def row_fault(first: NDArray[Any], *parts: NDArray[Any]) -> str:
    """What is wrong with the starts of CSR rows, of which these parts hold the entries."""
    rising = first.size == 0 or (first[0] == 0 and (np.diff(first) >= 0).all())
    entries = first[-1] if first.size else 0
    if not rising or any(part.size != entries for part in parts):
        return "first does not say where rows begin"
    return ""


def _check(key: str, saved: NDArray[Any], fresh: NDArray[Any], limit: Limit) -> None:
    if saved.shape != fresh.shape and not limit.grows:
        raise ValueError(
            f"the saved memory has {key!r} of shape {saved.shape}, not {fresh.shape}: it is of "
            "another agent or world (an array that grows says so in `limits`, see memory.py)"
        )
    if limit.same and not np.array_equal(saved, fresh):
        raise ValueError(
            f"the saved memory has another {key!r} than this agent has in this world: it is of "
            "another version, or was changed"
        )
    if saved.size and saved.dtype.kind != "b":
        least, most = saved.min(), saved.max()
        if least < limit.low or most > limit.high:
            wrong = least if least < limit.low else most
            raise ValueError(
                f"the saved memory has {wrong} in {key!r}, where a run leaves numbers from "
                f"{limit.low:g} to {limit.high:g}"
            )
