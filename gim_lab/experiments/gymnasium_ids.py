"""Gymnasium's own environments, in whatever version is installed."""

from __future__ import annotations

import re

import gymnasium


def newest(name: str) -> str:
    """The id of a Gymnasium environment in the newest version that is installed.

    Example:
        >>> newest("FrozenLake").startswith("FrozenLake-v")
        True
    """
    found = (re.fullmatch(rf"{name}-v(\d+)", key) for key in gymnasium.registry)
    versions = [int(match.group(1)) for match in found if match]
    if not versions:
        raise ValueError(f"gymnasium has no {name}: pip install gymnasium with its toy_text tasks")
    return f"{name}-v{max(versions)}"
