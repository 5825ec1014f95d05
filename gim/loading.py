"""Loading by kind: `gim.load` gives back whatever was saved."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from gim import files
from gim.registry import did_you_mean

# kind of file -> the function of (arrays, meta) that rebuilds it; imported only when one is met
KINDS = {
    "mdp": ("gim.mdp", "TabularMDP.unpack"),
    "model": ("gim.model.learned", "LearnedModel.unpack"),
    "run": ("gim.run", "unpack_run"),
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
    module, unpack = KINDS[saved.kind]
    try:
        return attrgetter(unpack)(import_module(module))(saved.arrays, saved.meta)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None
    except (LookupError, TypeError, AttributeError) as problem:
        raise ValueError(
            f"{path} does not hold a whole {saved.kind} ({problem!r}): save it again"
        ) from None
