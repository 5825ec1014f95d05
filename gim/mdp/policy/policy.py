"""The type `Policy`: actions by state (and step), in the names that their world uses."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim._base import files, html
from gim._base.arguments import several, whole
from gim._base.terminal import table
from gim.mdp.names import MOST, Names, label_of
from gim.mdp.policy.changes import Array, Changes, array_of, changes_of, packed, unpacked
from gim.mdp.policy.csv_file import read_csv, write_csv
from gim.mdp.policy.json_file import read_json, write_json

SUM_TOLERANCE = 1e-8  # as planners have it

SHOWN = 40  # lines of a policy in a notebook
MOST_CHANGES = 6  # of a state that a table shows
CSV_HEADS = (b"state,", b'"state"')  # how the first line of a policy begins, and of many a log
HEAD = 1 << 20  # bytes of the first line that are looked at: it may list thousands of actions


class Policy:
    """What to do in each state: an array to numpy, a function, a table, a file.

    `run.best_policy()` makes one. `np.asarray(policy)` is actions, int [S] or [H, S], or
    probabilities, float [S, A] or [H, S, A], so whatever takes a policy takes this.

    Args:
        array: in one of these four forms.
        states: their labels, or `Names`; None: they are numbers.
        actions: likewise, or how many there are; None: those that the array needs.
        seen: [S] bool, the states that the policy knows; None: all. To ask it about another is an
            error, unless it is declared.
        declared: the values that each variable of a state can have. In a state that is made of them
            and not known, the policy does what it does most in the known states most like it.

    Example:
        >>> policy = Policy([[1, 0], [0, 0]], states=["shore", "deep"], actions=["stay", "swim"])
        >>> policy("shore"), policy("shore", step=1), policy.index(0)
        ('swim', 'stay', 1)
        >>> print(policy.table())
        state  action (from step)
        ─────  ──────────────────
        shore  swim (0), stay (1)
        deep   stay
    """

    states: Names
    actions: Names
    horizon: int | None  # H; None: the same at every step
    seen: NDArray[np.bool_] | None

    def __init__(
        self,
        array: ArrayLike,
        states: Names | Sequence[Any] | None = None,
        actions: Names | Sequence[Any] | int | None = None,
        *,
        seen: ArrayLike | None = None,
        declared: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self._array = _checked(np.array(array))
        drawn = self._array.dtype.kind == "f"
        S = self._array.shape[-2 if drawn else -1]
        A = self._array.shape[-1] if drawn else int(self._array.max()) + 1
        self.states = _names("state", states, S)
        self.actions = _names("action", actions, A)
        if len(self.states) != S:
            raise ValueError(f"{len(self.states)} states were named, the policy has {S}")
        if len(self.actions) != A and (drawn or len(self.actions) < A):
            raise ValueError(f"{len(self.actions)} actions were named, the policy has {A}")
        self.horizon = len(self._array) if self._array.ndim == (3 if drawn else 2) else None
        self.seen = None if seen is None else np.array(seen)
        if self.seen is not None and (self.seen.shape != (S,) or self.seen.dtype != bool):
            raise ValueError(f"seen must be bool [{S}]")
        self._array.setflags(write=False)
        self._rng = np.random.default_rng(0)
        self.declared = None if declared is None else {x: list(y) for x, y in declared.items()}

    # -- what it says

    def __call__(self, state: Any, step: int = 0, rng: np.random.Generator | None = None) -> Any:
        """The action in a state, both as the world calls them.

        Args:
            state: its label, the variables it is made of (a tuple, array or mapping), or its
                number where states have no labels.
            step: the step of the episode, from 0; of no account where all steps are alike.
            rng: for a policy that draws its actions; None: a stream of the policy's own.
        """
        try:
            s = self.states.find(state)
        except ValueError:
            if self.declared is None:
                raise
            return self.actions[self._alike(state, step)]
        return self.actions[self.index(s, step, rng)]

    def index(self, s: int, step: int = 0, rng: np.random.Generator | None = None) -> int:
        """The number of the action in state number s."""
        s = whole("state", s, 0, len(self.states) - 1)
        if self.seen is not None and not self.seen[s]:
            if self.declared is not None:
                return self._alike(self.states[s], step)
            raise ValueError(f"state {self.states[s]!r} was never seen: the policy cannot say")
        row = self._array if self.horizon is None else self._array[self._step(step)]
        return int(row[s]) if row.ndim == 1 else self._draw(row[s], rng)

    def _alike(self, state: Any, step: int) -> int:
        """What is done most in the known states that differ least from one that is not known.

        They differ by the places of their values among those that there can be, added up.
        """
        assert self.declared is not None
        names = list(self.declared)
        if isinstance(state, Mapping):
            state = [state.get(name) for name in names]
        label = label_of(state)
        values = label if isinstance(label, tuple) else (label,)
        places, known = self._places
        for name, value in zip(names, values, strict=False):
            if value not in places[name]:
                some = ", ".join(map(repr, self.declared[name][:5]))
                raise ValueError(f"{name} = {value!r} is none of what there can be: {some}, ...")
        if len(values) != len(names):
            raise ValueError(f"{state!r} is no state: give {', '.join(names)}")
        own = np.array([places[name][x] for name, x in zip(names, values, strict=True)])
        far = np.abs(known[:, 1:] - own).sum(axis=1)
        near = known[far == far.min(), 0]
        row = self._array if self.horizon is None else self._array[self._step(step)]
        chances = np.eye(len(self.actions))[row[near]] if row.ndim == 1 else row[near]
        return int(chances.sum(axis=0).argmax())

    @cached_property
    def _places(self) -> tuple[dict[str, dict[Any, int]], NDArray[np.int64]]:
        """The place of each value, and the known states by number and places, [n, 1 + k]."""
        assert self.declared is not None
        places = {x: {value: k for k, value in enumerate(y)} for x, y in self.declared.items()}
        rows = []
        for s in range(len(self.states)):
            label = self.states[s]
            values = label if isinstance(label, tuple) else (label,)
            if self.seen is not None and not self.seen[s]:
                continue
            each = list(zip(places.values(), values, strict=False))
            if len(values) == len(places) and all(x in of for of, x in each):
                rows.append([s, *(of[x] for of, x in each)])
        if not rows:
            raise ValueError("the policy knows no state, so it cannot say")
        return places, np.array(rows)

    def _step(self, step: int) -> int:
        last = (self.horizon or 1) - 1
        try:
            return whole("step", step, 0, last)
        except ValueError as problem:
            raise ValueError(f"{problem} (the policy is for {last + 1} steps)") from None

    def _draw(self, chances: NDArray[Any], rng: np.random.Generator | None) -> int:
        if rng is not None and not hasattr(rng, "random"):
            raise ValueError(f"rng = {rng!r}: give np.random.default_rng(seed)")
        bounds = np.cumsum(chances)
        u = (self._rng if rng is None else rng).random() * bounds[-1]
        return int(np.searchsorted(bounds, u, side="right"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """For numpy: [S], [H, S], [S, A] or [H, S, A]; read-only unless it is a copy."""
        return np.array(self._array, dtype, copy=copy)

    def __repr__(self) -> str:
        sizes = f"S={len(self.states)} A={len(self.actions)}"
        timed = "" if self.horizon is None else f" H={self.horizon}"
        return f"<Policy {sizes}{timed}{' random' if self._array.dtype.kind == 'f' else ''}>"

    def _repr_html_(self) -> str:
        lines = self.table().splitlines()
        more = [f"... {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
        return html.text(repr(self)[1:-1], "\n".join([*lines[:SHOWN], *more]))

    # -- ways out and in

    def table(self) -> str:
        """The policy as text, a line for each state; steps count from 0.

        Of a state in which it changes its mind often the first changes are shown, and how many more
        there are; the files have them all.
        """
        given = self._changes()
        said: list[list[tuple[int, str]]] = [[] for _ in range(len(self.states))]
        for s, h, row in zip(given.state.tolist(), given.step.tolist(), given.rows, strict=True):
            said[s].append((h, self._text(row)))
        timed = len(given.rows) > len(said)
        lines = []
        for s, parts in enumerate(said):
            several = ", ".join(f"{text} ({h})" for h, text in parts[:MOST_CHANGES])
            if (more := len(parts) - MOST_CHANGES) > 0:
                several += f", ... ({more} more)"
            what = several if len(parts) > 1 else parts[0][1]
            known = self.seen is None or self.seen[s]
            lines.append([str(self.states[s]), what if known else "(never seen)"])
        return table(lines, ["state", "action (from step)" if timed else "action"])

    def _text(self, row: Any) -> str:
        if not row.ndim:
            return str(self.actions[int(row)])
        may = np.flatnonzero(row).tolist()
        return " / ".join(f"{self.actions[a]} {row[a]:.2f}" for a in may)

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads."""
        files.save(path, "policy", *self.pack())

    def to_csv(self, path: str | Path) -> None:
        """Write a table for spreadsheets, which `gim.load` reads; see `gim.mdp.policy.csv_file`."""
        _write(path, write_csv(self._changes()))

    def to_json(self, path: str | Path) -> None:
        """Write JSON, which `gim.load` reads; see `gim.mdp.policy.json_file`."""
        _write(path, write_json(self._changes()))

    def pack(self) -> files.Packed:
        """Arrays and JSON that `unpack` turns into the same policy."""
        arrays, meta = packed(self._changes())
        told = {} if self.declared is None else {"declared": self.declared}
        return files.Packed(arrays, meta | told)

    @classmethod
    def unpack(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Policy:
        """The inverse of `pack`."""
        found = cls.of(unpacked(arrays, meta))
        if (told := meta.get("declared")) is not None:
            found.declared = {x: list(map(label_of, y)) for x, y in told.items()}
        return found

    @classmethod
    def of(cls, given: Changes, limit: int = files.LIMIT) -> Policy:
        """From changes; `limit` is the bytes that the array may take."""
        return cls(array_of(given, limit), given.states, given.actions, seen=given.seen)

    def _changes(self) -> Changes:
        return changes_of(self._array, self.states, self.actions, self.seen)


def is_text(path: str | Path) -> bool:
    """Whether a file looks like a policy written as CSV or JSON, and not like a log of steps."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.readline(HEAD).removeprefix(codecs.BOM_UTF8).lstrip()
    return begin.startswith(b"{") or (begin.startswith(CSV_HEADS) and b"action of " in begin)


def read_text(path: str | Path, limit: int = files.LIMIT) -> Policy:
    """The policy in a file of CSV or JSON; `limit` is the bytes that it may ask for."""
    path = Path(path)
    if (size := path.stat().st_size) > limit:
        raise ValueError(
            f"{path} has {size} bytes, the limit is {limit}: if you trust it, raise the limit"
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            text = lines.read()
        read = read_json if text.lstrip().startswith("{") else read_csv
        return Policy.of(read(text, limit), limit)
    except ValueError as problem:
        raise ValueError(f"{path} is no policy: {problem}") from None


def _checked(array: NDArray[Any]) -> Array:
    """The array as int64 or float64, in a shape and with numbers that a policy may have."""
    kind = array.dtype.kind
    if not ((kind in "iu" and array.ndim in (1, 2)) or (kind == "f" and array.ndim in (2, 3))):
        raise ValueError(
            f"a policy of dtype {array.dtype} and shape {array.shape} is neither actions (int [S] "
            "or [H, S]) nor probabilities (float [S, A] or [H, S, A])"
        )
    if not array.size:
        raise ValueError(f"a policy of shape {array.shape} is empty")
    if kind != "f":
        if array.min() < 0:
            raise ValueError("a policy holds a negative action: they are numbers from 0")
        if array.max() > MOST:
            raise ValueError(f"a policy plays action {array.max()}: they are numbers from 0 on")
        return array.astype(np.int64)
    chances = array.astype(np.float64)
    if not ((chances >= 0) & (chances <= 1 + SUM_TOLERANCE)).all():
        raise ValueError("a policy holds a number that is no probability: give 0 to 1")
    off = np.abs(chances.sum(axis=-1) - 1) > SUM_TOLERANCE
    if off.any():
        place = np.argwhere(off)[0].tolist()
        raise ValueError(f"policy{place} sums to {chances[tuple(place)].sum():.6g}, not 1")
    return chances


def _names(kind: str, given: Names | Sequence[Any] | int | None, least: int) -> Names:
    if isinstance(given, Names):
        return given
    if given is None:
        return Names(kind, least)
    if isinstance(given, (int, np.integer)):
        return Names(kind, whole(f"{kind}s", given, 1, MOST))
    labels = (
        given if isinstance(given, (set, frozenset)) else several(f"{kind}s", given, "their labels")
    )
    return Names(kind, len(labels), labels)


def _write(path: str | Path, text: str) -> None:
    with files.replacing(path) as file:
        file.write(text.encode())
