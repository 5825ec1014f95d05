"""What a newcomer waits for: the first commands, with and without what was compiled before.

    python -m benchmarks.start

Each command runs in processes of its own, first with an empty folder for compiled code, then twice
with what that has left there. Python keeps its own compiled modules, as it does unless told not to.
Beside the processor seconds stands how long the terminal stays silent at first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.common import ROOT, machine, table

COMMANDS = (
    "--version",
    "envs",
    "train riverswim",
    "train FrozenLake-v1",
    "inspect riverswim",
    "reproduce fig1 --scale smoke --out {out}",
)
TARGETS = {"train riverswim": 8.0}  # processor seconds, cold


def run(command: str, cache: str, out: str) -> tuple[float, float]:
    """Processor seconds of a command, its children included, and seconds until its first word."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [sys.executable, "-m", "gim", *command.format(out=out).split()]
    began = time.perf_counter()
    child: Any = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    first = child.stdout.read(1) and time.perf_counter() - began
    child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"gim {command} ended with status {child.returncode}")
    return used.ru_utime + used.ru_stime, float(first)


def main() -> int:
    """Print the table; 1 if a target is missed."""
    rows, missed = [], 0
    for command in COMMANDS:
        with tempfile.TemporaryDirectory() as cache:
            cold, silent = run(command, cache, f"{cache}/one")
            warm = [run(command, cache, f"{cache}/{again}")[0] for again in ("two", "three")]
        missed += cold > TARGETS.get(command, float("inf"))
        shown = "gim " + command.replace(" --out {out}", "")
        rows.append([shown, *(f"{seconds:.1f}" for seconds in (cold, *warm, silent))])
    print(machine())
    print(table(["command", "cold, s", "second, s", "third, s", "silent at first, s"], rows))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
