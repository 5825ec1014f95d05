"""A file takes the place of another whole or not at all.

It is written beside its place under a passing name, brought to the disk, and moved over the old
one. The passing file is locked while its writer lives, so that what a killed one leaves is known.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # not a Unix: nothing is locked, nothing swept
    fcntl = None  # type: ignore[assignment]

PASSING = re.compile(r"\..*\.[0-9a-f]{16}\.tmp", re.DOTALL)  # a file that is being written
YOUNG = 60.0  # seconds


def check_target(path: str | Path) -> None:
    """Raise unless a file can be written here: for use before hours of work."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file in it")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is a device or a pipe: give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot save {path}: make the folder {path.parent} first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot save {path}: the folder {path.parent} is not writable")


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its place only when all of it is on the disk.

    A link stays one: what it points to is replaced. An old file's mode is kept.
    """
    path = _behind(Path(path))
    check_target(path)
    _sweep(path.parent.absolute())
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            hold(file)
            yield file
            file.flush()
            with suppress(FileNotFoundError):
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as problem:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError) and problem.errno and not problem.filename:
            problem.filename = str(path)  # a write that fails does not say of what
        raise


def _behind(path: Path) -> Path:
    """The file that a link points to; any other path as it is."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (RuntimeError, OSError):
        raise ValueError(f"{path} is a link that leads to itself: give another name") from None


def hold(file: IO[bytes]) -> bool:
    """Lock a file as long as it is open and this process lives; whether it was free."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by its writer, or a disk without locks
        return False
    return True


@cache
def _sweep(folder: Path) -> None:
    """Remove what writers that were killed have left in a folder, once in the life of a process.

    Nobody holds such a file any more. One that is younger than a minute is let be: its writer may
    be about to lock it.
    """
    for left in folder.glob(".*.tmp"):
        with suppress(OSError):
            old = time.time() - left.stat().st_mtime > YOUNG
            if old and PASSING.fullmatch(left.name) and left.is_file() and not left.is_symlink():
                with left.open("rb") as file:
                    if hold(file):
                        left.unlink()
