"""While the command `gim` is still being imported: Ctrl-C is one line, as at any other time.

And the garbage collector rests: what is imported stays, and to look through it again and again
is an eighth of the time that importing takes.
"""

from __future__ import annotations

import gc
import os
import sys
from types import TracebackType


def is_command() -> bool:
    """Whether this process is the command, `gim` or `python -m gim`, and no other program."""
    word = sys.argv[0] if getattr(sys, "argv", None) else ""
    if word == "-m":  # until its module is found, whoever that is
        asked = sys.orig_argv
        return "-m" in asked and asked[asked.index("-m") + 1 :][:1] == ["gim"]
    return os.path.splitext(os.path.basename(word))[0] == "gim"


def end(kind: type[BaseException], problem: BaseException, at: TracebackType | None) -> None:
    """Say what ends the process: an interrupt in one line, anything else as Python does."""
    if issubclass(kind, KeyboardInterrupt):
        print("gim: interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, problem, at)


def imported() -> None:
    """All of gim is there: collect garbage from now on."""
    if is_command():
        gc.freeze()
        gc.enable()


if is_command():
    sys.excepthook = end
    gc.disable()
