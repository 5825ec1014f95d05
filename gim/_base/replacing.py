"""A file, or many in one folder, take the place of others whole or not at all.

One is written beside its place under a passing name, brought to the disk, and moved over the old
one. The passing file is locked while its writer lives, so that what a killed one leaves is known.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
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
HELD = "held"  # in a folder that is being written: locked while its writer lives


def check_source(path: str | Path, wanted: str) -> Path:
    """Raise unless a file can be read here: a pipe or a device would be waited for, or never end.

    Args:
        path: of what is to be read.
        wanted: what to give instead, for the message: "a study file (.toml)".
    """
    path = Path(path)
    if not path.exists():
        if path.is_symlink():
            where = "to nothing" if _ends(path) else "to itself"
            raise ValueError(f"{path} is a link that leads {where}: give {wanted}")
        raise FileNotFoundError(f"{path} does not exist: check the path")
    if not path.is_file():
        kind = "folder" if path.is_dir() else "device or a pipe"
        raise ValueError(f"{path} is a {kind}: give {wanted}")
    return path


def _ends(link: Path) -> bool:
    """Whether a link, and all that it leads to, comes to an end."""
    try:
        link.resolve()
    except (RuntimeError, OSError):
        return False
    return True


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


@contextmanager
def replacing_all(folder: str | Path) -> Iterator[Path]:
    """A passing folder: what is written there takes its place in `folder` together, or not at all.

    It is made if it is not there. What else it holds stays as it is. All is on the disk before the
    first file is moved, and if one cannot be, those before it go back; only a process that is
    killed between two of these moves leaves some of each.
    """
    folder = _behind(Path(folder))
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give a folder")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(folder.absolute())
    passing = folder / f".all.{secrets.token_hex(8)}.tmp"
    try:
        passing.mkdir()
        with (passing / HELD).open("xb") as held:
            hold(held)
            made = passing / "new"
            made.mkdir()
            yield made
            _place(made, folder, passing / "old")
    except BaseException as problem:
        if isinstance(problem, OSError) and problem.errno and not problem.filename:
            problem.filename = str(folder)
        shutil.rmtree(passing, ignore_errors=True)
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise
    shutil.rmtree(passing, ignore_errors=True)


def _place(made: Path, folder: Path, old: Path) -> None:
    """Move all that was made into the folder; `old` keeps what was there until all are moved."""
    moves = []
    for source in sorted(path for path in made.rglob("*") if path.is_file()):
        place = folder / source.relative_to(made)
        place.parent.mkdir(parents=True, exist_ok=True)
        place = _behind(place)
        check_target(place)
        with suppress(FileNotFoundError):
            source.chmod(stat.S_IMODE(place.stat().st_mode))
        with source.open("rb") as file:
            os.fsync(file.fileno())
        moves.append((source, place))
    old.mkdir()
    kept = []
    for i, (_, place) in enumerate(moves):
        kept.append(old / str(i) if place.exists() else None)
        if kept[-1] is not None:
            shutil.copy2(place, kept[-1])
    moved = []
    try:
        for (source, place), before in zip(moves, kept, strict=True):
            moved.append((place, before))
            os.replace(source, place)
    except BaseException:
        for place, before in moved:
            if before is None:
                place.unlink(missing_ok=True)
            else:
                os.replace(before, place)
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
            if not old or not PASSING.fullmatch(left.name) or left.is_symlink():
                continue
            with (left / HELD if left.is_dir() else left).open("rb") as file:
                if not hold(file):
                    continue
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()
