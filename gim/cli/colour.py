"""Colours of the terminal: only where there is one that shows them, and NO_COLOR is not set."""

from __future__ import annotations

import os
from typing import TextIO

CODES = {"bold": "1", "faint": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}


def coloured(stream: TextIO) -> bool:
    """Whether colours may be written there.

    As everywhere: a variable NO_COLOR that is not empty switches them off, FORCE_COLOR switches
    them on where there is no terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO) -> str:
    """The text in a style, such as ``"bold"`` or ``"red"``, if the stream shows it.

    Example:
        >>> import io
        >>> paint("done", "green", io.StringIO())
        'done'
    """
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text and coloured(stream) else text
