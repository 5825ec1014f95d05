"""The fault harness: a real run in a process of its own, which ends itself at a stated point.

`killed_at_write` runs trials as `gim run` does, in a fresh interpreter. What must hold afterwards
is in `test_faults.py`; faults without workers are in `tools/robustness/faults.py`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATIENCE = 900.0  # seconds: ends what hangs, and nothing that is slow on a busy machine
WORKER = "gim_lab.engines.worker"  # in the command line of a worker process

SCRIPT = """
import json, os, sys
from gim_lab import Store, Trial, execute
from tests.faults import WORKER, children

trials, folder, ends_at = json.loads(sys.argv[1])

def ending(store, trial, result, put=Store.put):
    ending.writes += 1
    if ending.writes == ends_at:  # kill -9, with its workers alive
        print(*children(os.getpid(), WORKER), flush=True)
        os.kill(os.getpid(), 9)
    put(store, trial, result)

ending.writes = 0
Store.put = ending
execute([Trial(*trial) for trial in trials], folder, workers=2)
"""


def killed_at_write(k: int, trials, folder: Path) -> list[int]:
    """Run trials into a folder, in a process that ends itself at its k-th write; its workers."""
    words = [[t.task, t.agent, t.episodes, t.seed] for t in trials]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([words, str(folder), k])],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    return [int(pid) for pid in done.stdout.split()]


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


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
