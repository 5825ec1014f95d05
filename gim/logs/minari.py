"""Datasets in the form of Minari: episodes with observations [T + 1], actions [T], rewards [T].

Anything with `iterate_episodes()` is read so: Minari's own datasets of discrete spaces, or a class
of yours. Observations and actions are numbers, rows of several (MultiDiscrete), or mappings and
tuples of such arrays (Dict, Tuple).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

COLUMNS = ("s", "a", "r", "s2", "done", "episode", "step")


def is_dataset(source: Any) -> bool:
    """Whether a source comes as episodes."""
    return callable(getattr(source, "iterate_episodes", None))


def columns(dataset: Any) -> dict[str, Any]:
    """The columns of all episodes."""
    found: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for number, episode in enumerate(dataset.iterate_episodes()):
        seen = labels(episode.observations, f"episode {number}, observations")
        acts = labels(episode.actions, f"episode {number}, actions")
        paid = np.asarray(episode.rewards, np.float64).ravel()
        ends = np.asarray(episode.terminations).ravel()  # checked like any column of flags
        T = len(acts)
        if len(seen) != T + 1 or paid.size != T or ends.size != T:
            raise ValueError(
                f"episode {number} has {len(seen)} observations, {T} actions, {paid.size} rewards "
                f"and {ends.size} terminations: give one observation more than of the others"
            )
        name = getattr(episode, "id", number)
        name = number if name is None else int(name)
        each = (seen[:-1], acts, paid, seen[1:], ends, np.full(T, name), np.arange(T))
        for some, x in zip(found.values(), each, strict=True):
            some.append(x)
    return {name: np.concatenate(some) if some else some for name, some in found.items()}


def labels(values: Any, where: str) -> Any:
    """One label for each step: numbers as they are, rows of several as tuples."""
    if isinstance(values, Mapping):
        values = tuple(values[name] for name in values)
    if isinstance(values, tuple):
        parts = [labels(part, where) for part in values]
        joined = zip(*(part.tolist() for part in parts), strict=True)
        return np.fromiter(joined, object, len(parts[0]))
    array = np.asarray(values)
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.round(array))).all():
        raise ValueError(f"{where}: these are measured, not discrete; bin them into a table first")
    if array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.ndim == 1:
        return array
    rows = map(tuple, array.reshape(len(array), -1).tolist())
    return np.fromiter(rows, object, len(array))
