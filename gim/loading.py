"""Loading by kind: `gim.load` gives back whatever was saved."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from gim import files
from gim.registry import did_you_mean

# kind of file -> module and class with `unpack(arrays, meta)`; imported only when one is met
KINDS = {
    "mdp": ("gim.mdp", "TabularMDP"),
    "run": ("gim.run", "Run"),
}


def load(path: str | Path, kind: str | None = None, limit: int = files.LIMIT) -> Any:
    """Load what was saved: a `TabularMDP`, a `Run`, ...

    Args:
        path: a file written by `save` of one of these.
        kind: what it must be, such as "mdp"; None takes anything.
        limit: the bytes that it may ask for.
    """
    saved = files.load(path, kind, limit)
    if saved.kind not in KINDS:
        hint = did_you_mean(saved.kind, KINDS)
        raise ValueError(f"{path} holds a {saved.kind!r}, which gim.load does not know{hint}")
    module, name = KINDS[saved.kind]
    try:
        return getattr(import_module(module), name).unpack(saved.arrays, saved.meta)
    except (KeyError, TypeError, IndexError, AttributeError) as problem:
        raise ValueError(
            f"{path} does not hold a whole {saved.kind} ({problem!r}): save it again"
        ) from None
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None
