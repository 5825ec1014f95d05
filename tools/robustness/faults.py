"""Faults put into a real study, each at a stated point, and what must hold after each.

A child of this process runs the study and meets the fault at its k-th write: no clock and no luck
decides. Afterwards the study is run again in the same folder. It must end bit for bit as one that
was not disturbed, and no finished trial may be written twice.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gim._base import files
from gim_lab import Results, Store, execute
from gim_lab.trials.execute import grid
from gim_lab.trials.trial import Trial

SIGNALS = (signal.SIGKILL, signal.SIGTERM)
POINTS = ("before", "half", "written", "placed")  # of a write, where the process may end
FULL, READ_ONLY = errno.ENOSPC, errno.EROFS


class Fault(NamedTuple):
    """A fault and how it is brought about; `disturb` runs the study in a folder, disturbed."""

    name: str
    disturb: Callable[[Path, list[Trial]], None]
    keeps: bool = True  # whether what was stored before must be there afterwards, unchanged


def study() -> list[Trial]:
    """A small study of learners that explore, plan and complete."""
    agents = ["gim:m=3", "rmax:m=5", "q_learning"]
    return grid(["riverswim:length=4", "gridworld"], agents, 60, range(2))


def faults(trials: list[Trial], short: bool = False) -> list[Fault]:
    """All of them, or one of each kind."""
    moments = range(1, len(trials), 5 if short else 1)
    made = [
        Fault(f"{number.name} {point} write {k}", partial(_ends_at, point, k, number))
        for number in SIGNALS
        for point in POINTS
        for k in moments
    ]
    for code in (FULL, READ_ONLY):
        name = errno.errorcode[code]
        made += [Fault(f"{name} at write {k}", partial(_cannot_write, code, k)) for k in moments]
    made += [
        Fault(f"the folder vanishes after write {k}", partial(_vanishes, k), False) for k in (1, 4)
    ]
    made += [
        Fault(f"stored file {what.__name__}", partial(_damaged, what), False) for what in DAMAGE
    ]
    made += [Fault("two writers at once", _two_writers), Fault("the clock stands still", _no_clock)]
    if not short:
        made += [Fault(f"a worker gets {n.name}", partial(_worker_ends, n)) for n in SIGNALS]
    return made


def outcome(fault: Fault, trials: list[Trial], undisturbed: Results) -> str:
    """`same bits`, or what was lost or changed."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged file is reported, and run again
        folder = Path(name) / "results"
        fault.disturb(folder, trials)
        before = stored(folder)
        results = execute(trials, folder, engine="serial")
        if not results.same_bits(undisturbed):
            return "another result"
        if fault.keeps and not before.items() <= stored(folder).items():
            return "a finished trial was written twice"
        if len(Store(folder).results()) != len(trials):
            return "a trial is not stored"
    return "same bits"


def stored(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of finished trials, and which writing of it each is."""
    stats = {path.name: path.stat() for path in (folder / "trials").glob("*.npz")}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


# -- how each is brought about


def _child(work: Callable[[], Any]) -> int:
    """Do something in a child process; how it ended, as `waitstatus_to_exitcode` gives it."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
                work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _ends_at(point: str, k: int, number: signal.Signals, folder: Path, trials: list[Trial]) -> None:
    def work() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with _at_write(k, point, partial(os.kill, os.getpid(), number)):
            execute(trials, folder, engine="serial")

    stopped = 1  # by TERM when what is being written is whole, like Ctrl-C; by KILL at once
    if _child(work) != (-number if number == signal.SIGKILL else stopped):
        raise AssertionError(f"it did not end by {number.name}")


def _cannot_write(code: int, k: int, folder: Path, trials: list[Trial]) -> None:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    def work() -> None:
        with _at_write(k, "half", fail):
            execute(trials, folder, engine="serial")

    if _child(work) != 1:
        raise AssertionError("a failed write was not noticed")
    if left := [path for path in folder.rglob("*") if path.name.endswith(".tmp")]:
        raise AssertionError(f"{left[0].name} was left behind")


def _vanishes(k: int, folder: Path, trials: list[Trial]) -> None:
    with _at_write(k, "placed", partial(shutil.rmtree, folder)):
        execute(trials, folder, engine="serial")


def _damaged(damage: Callable[[Path], None], folder: Path, trials: list[Trial]) -> None:
    execute(trials, folder, engine="serial")
    damage(sorted((folder / "trials").glob("*.npz"))[3])


def _two_writers(folder: Path, trials: list[Trial]) -> None:
    pids = []
    for order in (trials, trials[::-1]):
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                execute(order, folder, engine="serial")
                os._exit(0)
            finally:
                os._exit(1)
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids):
        raise AssertionError("one of two writers failed")


def _no_clock(folder: Path, trials: list[Trial]) -> None:
    names = ("time", "monotonic", "perf_counter", "process_time")
    before = {name: getattr(time, name) for name in names}
    try:
        for name in names:
            setattr(time, name, lambda: 1e9)
        execute(trials, folder, engine="serial")
    finally:
        for name, clock in before.items():
            setattr(time, name, clock)


def _worker_ends(number: signal.Signals, folder: Path, trials: list[Trial]) -> None:
    ended: list[int] = []

    def end_one(step: Any) -> None:
        workers = _workers()
        if step.done == 3 and not ended and workers:
            ended.append(workers[0])
            os.kill(workers[0], number)

    execute(trials, folder, engine="processes", workers=1, progress=end_one)
    if not ended:
        raise AssertionError("no worker was found")


def _workers() -> list[int]:
    """The worker processes of this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == os.getpid() and b"worker" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return sorted(found)


@contextlib.contextmanager
def _at_write(k: int, point: str, do: Callable[[], Any]) -> Iterator[None]:
    """Do something at a point of the k-th file that is written."""
    replacing, writes = files.replacing, 0

    @contextlib.contextmanager
    def watched(path: str | Path) -> Iterator[Any]:
        nonlocal writes
        writes += 1
        if writes == k and point == "before":
            do()
        with replacing(path) as file:
            yield _Half(file, do) if writes == k and point == "half" else file
            if writes == k and point == "written":
                file.flush()
                do()
        if writes == k and point == "placed":
            do()

    files.replacing = watched
    try:
        yield
    finally:
        files.replacing = replacing


class _Half:
    """A file that lets a hundred bytes through, and then does something."""

    def __init__(self, file: Any, do: Callable[[], Any]) -> None:
        self.file, self.do, self.left = file, do, 100

    def write(self, data: Any) -> Any:
        """Write, or do it."""
        self.left -= len(data)
        if self.left < 0:
            self.file.flush()
            self.do()
        return self.file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


# -- damage to a stored file


def cut(path: Path) -> None:
    """Half of it."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    """One bit."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def emptied(path: Path) -> None:
    """Nothing in it."""
    path.write_bytes(b"")


def swapped(path: Path) -> None:
    """The file of another trial under this name."""
    other = sorted(path.parent.glob("*.npz"))[0]
    path.write_bytes(other.read_bytes())


def hostile(path: Path) -> None:
    """A valid file of another content."""
    files.save(path, "trial", {"returns": np.full(3, np.nan)}, {"digest": path.stem, "columns": {}})


def garbage(path: Path) -> None:
    """No file of gim's."""
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)) * 4)


DAMAGE = (cut, flipped, emptied, swapped, hostile, garbage)
