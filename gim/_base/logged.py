"""What is said once, where the user's logging wants it."""

from __future__ import annotations

import logging
from functools import lru_cache


def line(problem: Exception) -> str:
    """A problem in one line."""
    return " ".join(f"{type(problem).__name__}: {problem}".split())


@lru_cache  # each word once: there are hundreds of functions
def say(text: str) -> None:
    """Say it once, where the user's logging wants it."""
    logging.getLogger("gim").warning(text)
