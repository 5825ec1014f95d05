"""Loading by kind: `gim.load` gives back whatever was saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, overload

from gim._base import files
from gim._base.registry import did_you_mean
from gim.mdp.policy import Policy
from gim.mdp.policy.policy import is_text, read_text
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.runs.runs import Run

Loaded = TabularMDP | LearnedModel | Policy | Run

# kind of file -> the function of (arrays, meta) that rebuilds it; `gim.run` adds that of runs
KINDS: dict[str, Callable[[Any, Any], Loaded]] = {
    "mdp": TabularMDP.unpack,
    "model": LearnedModel.unpack,
    "policy": Policy.unpack,
}

TEXTS = (".csv", ".json")  # of policies that people can read


@overload
def load(path: str | Path, kind: Literal["mdp"], limit: int = ...) -> TabularMDP: ...
@overload
def load(path: str | Path, kind: Literal["model"], limit: int = ...) -> LearnedModel: ...
@overload
def load(path: str | Path, kind: Literal["policy"], limit: int = ...) -> Policy: ...
@overload
def load(path: str | Path, kind: Literal["run"], limit: int = ...) -> Run: ...
@overload
def load(path: str | Path, kind: None = None, limit: int = ...) -> Loaded: ...


def load(path: str | Path, kind: str | None = None, limit: int = files.LIMIT) -> Any:
    """Load what was saved: a `TabularMDP`, a `LearnedModel`, a `Policy` or a `Run`.

    Args:
        path: a file written by `save` of one of these, or by `to_csv` or `to_json` of a policy.
        kind: what it must be: "mdp", "model", "policy" or "run"; None takes anything.
        limit: the bytes that it may ask for.

    Example:
        >>> import tempfile, gim
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gim.make("riverswim").save(f"{folder}/river.npz")
        ...     load(f"{folder}/river.npz", "mdp")
        <TabularMDP riverswim: S=6 A=2 H=20 dense>
    """
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
