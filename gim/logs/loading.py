"""`gim.load` gives back whatever was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, overload

import gim.runs.run  # noqa: F401 - it says how runs and beliefs are read
from gim._base import files
from gim.belief.belief import Belief
from gim.belief.family.family import Family
from gim.logs.learned import Learned
from gim.logs.learning import unpack_learned
from gim.logs.log import Log
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.model.loading import KINDS, load_saved
from gim.runs.runs import Run

Loaded = TabularMDP | LearnedModel | Policy | Run | Belief | Family | Log | Learned

KINDS["log"] = Log.unpack
KINDS["learned"] = unpack_learned


@overload
def load(path: str | Path, kind: Literal["mdp"], limit: int = ...) -> TabularMDP: ...
@overload
def load(path: str | Path, kind: Literal["model"], limit: int = ...) -> LearnedModel: ...
@overload
def load(path: str | Path, kind: Literal["policy"], limit: int = ...) -> Policy: ...
@overload
def load(path: str | Path, kind: Literal["run"], limit: int = ...) -> Run: ...
@overload
def load(path: str | Path, kind: Literal["belief"], limit: int = ...) -> Belief: ...
@overload
def load(path: str | Path, kind: Literal["family"], limit: int = ...) -> Family: ...
@overload
def load(path: str | Path, kind: Literal["log"], limit: int = ...) -> Log: ...
@overload
def load(path: str | Path, kind: Literal["learned"], limit: int = ...) -> Learned: ...
@overload
def load(path: str | Path, kind: None = None, limit: int = ...) -> Loaded: ...


def load(path: str | Path, kind: str | None = None, limit: int = files.LIMIT) -> Any:
    """Load what was saved: an MDP, a model, a policy, a run, a belief, a family, a log.

    Args:
        path: a file written by `save` of one of these, or by `to_csv` or `to_json` of a policy.
        kind: what it must be: "mdp", "model", "policy", "run", "belief", "family", "log" or
            "learned"; None takes anything.
        limit: the bytes that it may ask for.

    Example:
        >>> import tempfile, gim
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gim.make("riverswim").save(f"{folder}/river.npz")
        ...     load(f"{folder}/river.npz", "mdp")
        <TabularMDP riverswim: S=6 A=2 H=20 dense>
    """
    return load_saved(path, kind, limit)
