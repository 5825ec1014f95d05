"""Faults on Ray: a worker, the parent, the head or the node is lost in the middle of a study.

`python -m tools.robustness.ray_faults WHO SIGNAL FOLDER` runs the study in a process of its own,
since Ray and forks do not go together, and ends one of them after the third trial.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gim_lab import execute
from gim_lab.trials.trial import Trial
from tools.robustness import faults

WHO = {  # how their command lines begin
    "worker": r"ray::(_work|IDLE)",
    "head": r"[^\0]*/gcs_server\0",
    "node": r"[^\0]*/raylet\0",
    "parent": r"",
}
SECONDS = 600  # that the disturbed study may take: on a busy machine Ray needs minutes to start
PATIENCE = "RAY_gcs_rpc_server_reconnect_timeout_s"  # Ray's own: how long a head is waited for


def ray_faults() -> list[faults.Fault]:
    """Each of them by SIGKILL, worker and parent by SIGTERM too; none where there is no Ray."""
    if importlib.util.find_spec("ray") is None:
        return []
    each = [(who, signal.SIGKILL) for who in WHO]
    each += [("worker", signal.SIGTERM), ("parent", signal.SIGTERM)]
    return [
        faults.Fault(f"the {who} on Ray gets {n.name}", partial(_lost, who, n)) for who, n in each
    ]


def _lost(who: str, number: signal.Signals, folder: Path, trials: list[Trial]) -> None:
    words = [
        sys.executable,
        "-m",
        "tools.robustness.ray_faults",
        who,
        str(int(number)),
        str(folder),
    ]
    env = os.environ | {PATIENCE: "5"}
    with subprocess.Popen(
        words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            _, said = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise AssertionError("it did not end") from None
    ended_well = child.returncode == 0  # Ray may end a parent by a signal of its own
    if {"worker": not ended_well, "parent": ended_well}.get(who, False):
        raise AssertionError(f"it ended with {child.returncode}: {said[-300:]}")
    if len(faults.stored(folder)) < 3:
        raise AssertionError("what was done before it is not stored")


def descendants(pid: int, begins: str) -> list[int]:
    """Processes below this one, at any depth, whose command line begins like this."""
    parents, commands = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            commands[int(path.name)] = (path / "cmdline").read_bytes().decode(errors="replace")
        except (OSError, IndexError):
            continue
        parents[int(path.name)] = parent
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(child for child in below - {pid} if re.match(begins, commands[child]))


def disturbed(who: str, number: int) -> Callable[[Any], None]:
    """Ends one of them once, after the third trial."""
    ended: list[int] = []

    def at(step: Any) -> None:
        if step.done >= 3 and not ended:
            mine = os.getpid()
            ended.extend([mine] if who == "parent" else descendants(mine, WHO[who])[:1])
            if ended:
                os.kill(ended[0], number)

    return at


def main(who: str, number: str, folder: str) -> None:
    """Run the study, disturbed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    progress = disturbed(who, int(number))
    execute(faults.study(), Path(folder), engine="ray", workers=2, progress=progress)


if __name__ == "__main__":
    main(*sys.argv[1:])
