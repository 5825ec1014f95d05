"""`gim.load` gives back whatever was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, overload

import gim.runs.run  # noqa: F401 - it says how runs are read
from gim._base import files
from gim.belief.family.family import Family
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.model.loading import load_saved
from gim.runs.runs import Run

Loaded = TabularMDP | LearnedModel | Policy | Run | Family


@overload
def load(path: str | Path, kind: Literal["mdp"], limit: int = ...) -> TabularMDP: ...
@overload
def load(path: str | Path, kind: Literal["model"], limit: int = ...) -> LearnedModel: ...
@overload
def load(path: str | Path, kind: Literal["policy"], limit: int = ...) -> Policy: ...
@overload
def load(path: str | Path, kind: Literal["run"], limit: int = ...) -> Run: ...
@overload
def load(path: str | Path, kind: Literal["family"], limit: int = ...) -> Family: ...
@overload
def load(path: str | Path, kind: None = None, limit: int = ...) -> Loaded: ...


def load(path: str | Path, kind: str | None = None, limit: int = files.LIMIT) -> Any:
    """Load what was saved: a `TabularMDP`, a `LearnedModel`, a `Policy`, a `Run` or a `Family`.

    Args:
        path: a file written by `save` of one of these, or by `to_csv` or `to_json` of a policy.
        kind: what it must be: "mdp", "model", "policy", "run" or "family"; None takes anything.
        limit: the bytes that it may ask for.

    Example:
        >>> import tempfile, gim
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gim.make("riverswim").save(f"{folder}/river.npz")
        ...     load(f"{folder}/river.npz", "mdp")
        <TabularMDP riverswim: S=6 A=2 H=20 dense>
    """
    return load_saved(path, kind, limit)
