"""What every benchmark shares: medians, the machine's line, tables, and peers.

Times are processor seconds, here and in the peers' scripts: on one core and an idle machine they
are those of the clock, and on a busy one they do not count the neighbours.

A peer is another library with a virtual environment of its own under ``.venvs/NAME``, made from
the pins in ``benchmarks/peers/NAME.txt`` and driven as a subprocess.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

from gim._base import terminal

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
REPEATS = 5
BATCH_SECONDS = 0.02  # a timing shorter than this is repeated inside the clock


def median_seconds(job: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median processor seconds of one call of `job`, after one call that does not count."""
    began = process_time()
    job()
    calls = max(1, int(BATCH_SECONDS / max(process_time() - began, 1e-9)))
    seconds = []
    for _ in range(repeats):
        began = process_time()
        for _ in range(calls):
            job()
        seconds.append((process_time() - began) / calls)
    return statistics.median(seconds)


def machine() -> str:
    """Name the processor, the interpreter and the versions that a figure depends on."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{_processor()}, one core; Python {platform.python_version()}, {libraries}"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows of text under headings, the first column left, the others right."""
    return terminal.table(rows, headings, "<" + ">" * (len(headings) - 1))


def peer_python(name: str) -> Path:
    """Give the interpreter of a peer's own environment, made from its pins when they are new."""
    pins = PEERS / f"{name}.txt"
    home = ROOT / ".venvs" / name
    stamp = home / "pins.txt"
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not stamp.exists() or stamp.read_text() != pins.read_text():
        print(f"(setting up {home.relative_to(ROOT)})", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        quiet = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*quiet, "--requirement", str(pins)], check=True, env=own_environment())
        stamp.write_text(pins.read_text())
    return python


def run_peer(name: str, script: str, *arguments: str) -> Any:
    """Run ``benchmarks/peers/SCRIPT`` in the environment of a peer; it prints one line of JSON."""
    return run_script(peer_python(name), script, *arguments)


def run_script(python: Path, script: str, *arguments: str) -> Any:
    """Run a script of ``benchmarks/peers`` with this interpreter and read its last line as JSON."""
    done = subprocess.run(
        [str(python), str(PEERS / script), *arguments],
        env=own_environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"benchmarks/peers/{script} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def own_environment() -> dict[str, str]:
    """The environment variables of a peer's process."""
    # The pins of this project would rule out the older versions that some peers need.
    foreign = {"PIP_CONSTRAINT", "PYTHONPATH", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in foreign}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
