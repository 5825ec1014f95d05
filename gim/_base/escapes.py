"""What text from outside could do to its readers ends here, each kind in one place.

Labels, names and messages come from logs, files and environments of others. Before they are shown,
`shown` takes their control characters out; `escape` does the same for HTML. Before they stand in a
CSV, `cell` writes those in a form that does nothing and that `uncell` reads back, and disarms what
a spreadsheet would take for a formula.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any, TextIO

# Those of ASCII and Latin-1, marks that turn the direction of text, and halves of letters, which
# nothing can write.
CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
BUT_LINES = re.compile(CONTROL.pattern.replace(r"\x00-\x1f", r"\x00-\x09\x0b-\x1f"))
COLOURED = re.compile(r"\x1b\[[\d;]*m|\r|" + BUT_LINES.pattern)  # what a coloured line may have
DEAD = "\N{REPLACEMENT CHARACTER}"
LONGEST = 1000  # letters of a label that are shown
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
QUOTES = ("'", '"')  # how a cell begins that is written otherwise than its text


def shown(thing: Any, longest: int = LONGEST) -> str:
    r"""A label or a name as text for people: in one line, cut if it is very long.

    Example:
        >>> shown("low\x1b[31m"), shown(3)
        ('low�[31m', '3')
    """
    text = str(thing)
    text = text if len(text) <= longest else f"{text[:longest]}…"
    return CONTROL.sub(DEAD, text)


def lines(text: str) -> str:
    """Text of several lines without any other control character."""
    return BUT_LINES.sub(DEAD, text)


def escape(thing: Any) -> str:
    """Text for HTML, also within an attribute; lines stay lines."""
    return html.escape(lines(str(thing)))


class Guarded:
    """A stream through which nothing steers a terminal but colours and a bar that is drawn again.

    Args:
        stream: where to write; whatever else it can do it still does.
        drawn: whether it shows colours and such a bar.
    """

    def __init__(self, stream: TextIO, drawn: bool) -> None:
        self._stream, self._drawn = stream, drawn

    def write(self, text: str) -> int:
        """Write a text."""
        if not self._drawn:
            return self._stream.write(lines(text))
        kept = COLOURED.sub(lambda c: c[0] if c[0][-1] in "m\r" else DEAD, text)
        return self._stream.write(kept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def cell(text: str) -> str:
    r"""Text as a cell of a CSV.

    Where it begins like a formula, or with a quotation mark, it has an apostrophe in front. With
    control characters it is written as JSON writes text, in quotation marks.

    Example:
        >>> cell("low"), cell("=now()"), cell("a\x1b[31m")
        ('low', "'=now()", '"a\\u001b[31m"')
    """
    if CONTROL.search(text):
        return json.dumps(text)
    return f"'{text}" if text.startswith(FORMULA + QUOTES) else text


def uncell(text: str) -> str:
    """The inverse of `cell`."""
    if text.startswith("'"):
        return text[1:]
    if not text.startswith('"'):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, str):
        raise ValueError(f"cannot read {text[:40]!r}: in quotation marks stands text as in JSON")
    return found
