"""Loading by kind: what rebuilds whatever was saved; `gim.load` is this with types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gim._base import files
from gim._base.registry import did_you_mean
from gim.mdp.policy import Policy
from gim.mdp.policy.policy import is_text, read_text
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel

# kind of file -> the function of (arrays, meta) that rebuilds it; `gim.runs.run` adds that of runs
KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "mdp": TabularMDP.unpack,
    "model": LearnedModel.unpack,
    "policy": Policy.unpack,
}

TEXTS = (".csv", ".json")  # of policies that people can read


def load_saved(path: str | Path, kind: str | None = None, limit: int = files.LIMIT) -> Any:
    """What a file holds, which must be of this kind; see `gim.load`."""
    try:
        return _load(path, kind, limit)
    except OSError as problem:
        if problem.errno is not None and problem.filename is None:
            problem.filename = str(path)  # a read that fails does not say of what
        raise


def _load(path: str | Path, kind: str | None, limit: int) -> Any:
    plain = Path(path).suffix in TEXTS and Path(path).is_file()
    if is_text(path) or (plain and kind == "policy"):
        if kind not in (None, "policy"):
            raise ValueError(f"{path} holds a 'policy', not a {kind!r}: gim.load reads any kind")
        return read_text(path, limit)
    if plain:
        raise ValueError(f"{path} is no policy: a log is read by gim.from_log({str(path)!r}, ...)")
    saved = files.load(path, kind, limit)
    if saved.kind not in KINDS:
        hint = did_you_mean(saved.kind, KINDS)
        raise ValueError(f"{path} holds a {saved.kind!r}, which gim.load does not know{hint}")
    try:
        return KINDS[saved.kind](saved.arrays, saved.meta)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None
    except (LookupError, TypeError, AttributeError) as problem:
        raise ValueError(
            f"{path} does not hold a whole {saved.kind} ({problem!r}): save it again"
        ) from None
