"""A policy by its changes: what is done in each state from which step on.

A best policy over a horizon seldom changes its mind, so this is far smaller than an action for each
step; every file holds a policy in this form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import whole
from gim._base.files import LIMIT, Packed
from gim.mdp.names import Names

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = NDArray[np.int64] | NDArray[np.float64]


class Changes(NamedTuple):
    """A policy by its n changes, ordered by state and then by step; each state begins at step 0."""

    states: Names
    actions: Names
    steps: int | None  # H; None: the same at every step
    state: Ints  # [n]
    step: Ints  # [n] from which step on
    rows: Array  # [n] actions, or [n, A] probabilities
    seen: Bools | None  # [S] the states that the policy knows; None: all


def changes_of(array: Array, states: Names, actions: Names, seen: Bools | None) -> Changes:
    """From [S], [H, S], [S, A] or [H, S, A] to changes."""
    timed = array.ndim == (2 if array.dtype.kind == "i" else 3)
    by_step = array if timed else array[None]
    new = np.ones(by_step.shape[:2], bool)
    other = by_step[1:] != by_step[:-1]
    new[1:] = other if other.ndim == 2 else other.any(axis=2)
    state, step = np.nonzero(new.T)
    steps = len(by_step) if timed else None
    return Changes(states, actions, steps, state, step, by_step[step, state], seen)


def array_of(given: Changes, limit: int = LIMIT) -> Array:
    """From changes to [S], [H, S], [S, A] or [H, S, A], which may take `limit` bytes."""
    S, H = given.states.n, given.steps or 1
    afford(S * H * (given.actions.n if given.rows.ndim == 2 else 1), limit)
    _check(given, S, H)
    begins = np.zeros((S, H), np.int64)
    begins[given.state, given.step] = 1
    number = np.cumsum(begins.ravel()).reshape(S, H) - 1  # of the change that is in force
    array = given.rows[number.T]
    return array if given.steps is not None else array[0]


def afford(numbers: int, limit: int) -> None:
    """Raise if so many numbers take more than `limit` bytes: before any memory is taken."""
    if 8 * numbers > limit:
        raise ValueError(
            f"it asks for {8 * numbers} bytes, the limit is {limit}: if you trust it, raise the "
            "limit"
        )


def _check(given: Changes, S: int, H: int) -> None:
    state, step = given.state, given.step
    if not (state.shape == step.shape == given.rows.shape[:1]) or state.size < max(S, 1):
        raise ValueError(f"{S} states need a row each at the least")
    for name, numbers, high in (("state", state, S), ("step", step, H)):
        if numbers.min() < 0 or numbers.max() >= high:
            raise ValueError(f"there is a {name} beyond 0 to {high - 1}")
    first = np.append(True, state[1:] != state[:-1])
    ordered = np.array_equal(state[first], np.arange(S)) and not step[first].any()
    if not ordered or (np.diff(step)[~first[1:]] <= 0).any():
        raise ValueError("states must stand in order, each with rising steps that begin at 0")


def packed(given: Changes) -> Packed:
    """Arrays, in small types, and JSON."""
    arrays: dict[str, NDArray[Any]] = {"rows": _small(given.rows)}
    if given.steps is not None:
        arrays |= {"state": _small(given.state), "step": _small(given.step)}
    if given.seen is not None:
        arrays["seen"] = given.seen
    names = {"states": given.states.to_json(), "actions": given.actions.to_json()}
    return Packed(arrays, names | {"steps": given.steps})


def unpacked(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Changes:
    """The inverse of `packed`."""
    states, actions = (Names.from_json(kind, meta[f"{kind}s"]) for kind in ("state", "action"))
    steps, rows = steps_of(meta["steps"]), arrays["rows"]
    state, step = np.arange(len(rows)), np.zeros(len(rows), np.int64)
    if steps is not None:
        state, step = (arrays[name].astype(np.int64) for name in ("state", "step"))
    rows = rows.astype(np.int64 if rows.dtype.kind in "iu" else np.float64)
    return Changes(states, actions, steps, state, step, rows, arrays.get("seen"))


def steps_of(given: Any) -> int | None:
    """H as a file has it: a whole number, or None."""
    return None if given is None else whole("steps", given, low=1)


def _small(numbers: NDArray[Any]) -> NDArray[Any]:
    """The same in the smallest unsigned type that holds it; probabilities as they are."""
    if numbers.dtype.kind == "f":
        return numbers
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
