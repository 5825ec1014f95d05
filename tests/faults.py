"""The fault harness: a real run in a process of its own, which ends itself at a stated point.

`Victim` runs trials as `gim run` does, in a fresh interpreter, and keeps a log of what was begun.
What must hold afterwards is in `test_faults.py`; faults without workers are in
`tools/robustness/faults.py`.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATIENCE = 900.0  # seconds: ends what hangs, and nothing that is slow on a busy machine
WORKER = "gim.experiments.engines.worker"  # in the command line of a worker process

SCRIPT = """
import json, os, sys
from gim.experiments import Store, Trial, engines, execute
from gim.experiments.engines import base

trials, folder, engine, log, ends_at = json.loads(sys.argv[1])
module = __import__(f"gim.experiments.engines.{engine}", fromlist=["run"])
run = module.run

def logged(trials, workers=None):
    with open(log, "a") as file:  # what is about to be run
        for trial in trials:
            print(trial.digest, file=file)
    return run(trials, workers)

def ending(store, trial, result, put=Store.put):
    ending.writes += 1
    if ending.writes == ends_at:  # kill -9, with its workers alive
        from tests.faults import WORKER, children
        with open(log + ".workers", "w") as file:
            print(*children(os.getpid(), WORKER), file=file)
        os.kill(os.getpid(), 9)
    put(store, trial, result)

ending.writes = 0
Store.put = ending
module.run = logged
execute([Trial(*trial) for trial in trials], folder, engine, workers=2)
"""


class Victim:
    """A run of trials into a folder, which may end itself at its n-th write (`ends_at`).

    Each start is logged with the trials that the store did not hold when it began.
    """

    def __init__(self, trials, folder: Path, engine: str = "processes", ends_at: int = 0) -> None:
        words = [[t.task, t.agent, t.episodes, t.seed] for t in trials]
        self.folder, self.log = folder, folder.with_suffix(".log")
        self.log.write_text("")
        argument = json.dumps([words, str(folder), engine, str(self.log), ends_at])
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, argument],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        """Wait for the end, which must be a good one."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, out + err

    def die(self) -> list[int]:
        """Wait until it has ended itself; the workers that it had."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == -signal.SIGKILL, out + err
        return [int(pid) for pid in Path(f"{self.log}.workers").read_text().split()]

    def begun(self) -> set[str]:
        """The digests of the trials that this start gave to its engine."""
        return set(self.log.read_text().split())


def stored(folder: Path) -> dict[str, tuple[int, int]]:
    """Digests of the finished trials, and which writing of the file each is."""
    stats = {path.stem: path.stat() for path in (folder / "trials").glob("*.npz")}
    return {digest: (stat.st_ino, stat.st_mtime_ns) for digest, stat in stats.items()}


def children(pid: int, mark: str = "") -> list[int]:
    """Processes below this one, at any depth, whose command line contains a mark."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(child for child in below - {pid} if mark in _command(child))


def start(arguments: list[str], **options) -> subprocess.Popen:
    """Start the command `gim`."""
    return subprocess.Popen(
        [sys.executable, "-m", "gim", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def ended(pids: list[int]) -> bool:
    """Whether none of these processes runs any more."""
    return not any(_command(pid) for pid in pids)


def listening(pids: list[int]) -> set[str]:
    """Addresses, as the kernel writes them, at which these processes take connections."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    address = {f"socket:[{row[9]}]": row[1].split(":")[0] for row in rows if row[3] == "0A"}
    found = set()
    for pid in pids:
        try:
            links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        found |= {address[link] for link in links if link in address}
    return found


def ray_or_skip() -> None:
    """Leave a test out, and say why, where there is no Ray; it must not be imported here."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install gim[ray]")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
