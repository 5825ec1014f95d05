"""What the worlds share: a registry by name, and numbers kept inside their range."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import gim

Outcomes = list[tuple[float, tuple[int, ...], float]]

WORLDS: dict[str, Callable[[], gim.TabularMDP]] = {}


def written(world: Callable[[], gim.TabularMDP]) -> Callable[[], gim.TabularMDP]:
    """Keep it by its name."""
    WORLDS[world.__name__] = world
    return world


def cells(*sizes: int) -> list[tuple[int, ...]]:
    """All tuples of numbers below the sizes."""
    return list(itertools.product(*map(range, sizes)))


def inside(x: int, size: int) -> int:
    """The nearest number from 0 to size - 1."""
    return min(max(x, 0), size - 1)
