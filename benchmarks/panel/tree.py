"""Whose gim plays: a process settles that before it imports anything that plays.

The page is made by the tree that this file is of, in a process of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
WARM = ("button", 12)  # what a process plays first: machine code is read, or compiled, here


def use(tree: Path) -> None:
    """Import the gim of a tree, and nothing else that stands there."""
    sys.path.insert(0, str(tree.resolve()))
    try:
        found = Path(str(import_module("gim").__file__)).resolve().parent
    finally:
        sys.path.pop(0)
    if found != tree.resolve() / "gim":
        raise RuntimeError(f"the gim of {found.parent} is loaded, not that of {tree}")


def ready(tree: Path, agent: str) -> None:
    """What a process does before its first run: see `use` and `WARM`."""
    use(tree)
    world, episodes = WARM
    import_module("benchmarks.panel.play").play(world, agent, 0, episodes)
