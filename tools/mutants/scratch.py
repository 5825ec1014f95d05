"""A copy of the tree in which mutants live: nothing is ever changed in the tree itself."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tools.mutants.operators import Mutant

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "results", "build", "dist", "*.egg-info")
PLAIN = {"NUMBA_DISABLE_JIT": "1"}  # a compiler takes longer than the tests of one function
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
KILLED, SURVIVED, TIMEOUT = "killed", "survived", "timeout"
WAIT = 20.0  # times the limit of processor time: what hangs, or a machine that is busy


class Outcome(NamedTuple):
    """How the tests ended."""

    status: str  # KILLED, SURVIVED or TIMEOUT
    test: str = ""  # the first that failed, where one did


class Scratch:
    """A copy of a tree, in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.root = Path(self._folder.name).resolve() / root.name
        shutil.copytree(root, self.root, ignore=LEFT_OUT)
        self._clock = int(time.time())
        self._process: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End what runs in the copy, and remove it."""
        if self._process is not None:
            _end(self._process)
        self._folder.cleanup()

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The copy with a fault in it."""
        path = self.root / mutant.module
        source = path.read_bytes()
        self._write(path, mutant.applied(source))
        try:
            yield
        finally:
            self._write(path, source)

    def _write(self, path: Path, source: bytes) -> None:
        """Each time with another date: compiled modules are taken for valid by date and size."""
        path.write_bytes(source)
        self._clock += 1
        os.utime(path, (self._clock, self._clock))

    def pytest(
        self, tests: Sequence[str], limit: float, words: str = "-x", **environment: str
    ) -> Outcome:
        """Run these tests, up to the first failure, within a limit of processor seconds."""
        listed = self.root / "tests.txt"
        listed.write_text("\n".join(tests))
        plugins = "-p tools.mutants.tracer -p no:cacheprovider --basetemp=tmp"
        options = f"-q --tb=no -rfE {plugins} {words}".split()
        # Processor time, not time: a busy machine must not turn a survivor into a timeout.
        shell = ["/bin/sh", "-c", 'ulimit -t "$0" && exec "$@"', str(int(limit) + 1)]
        self._process = process = subprocess.Popen(
            [*shell, sys.executable, "-m", "pytest", *options, f"@{listed.name}"],
            cwd=self.root,
            env=os.environ | ONE_THREAD | PLAIN | {"PYTHONPATH": self._path()} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=WAIT * limit)
        except subprocess.TimeoutExpired:
            return Outcome(TIMEOUT)
        finally:
            _end(process)
        if process.returncode == 0:
            return Outcome(SURVIVED)
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Outcome(TIMEOUT)
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.M)
        return Outcome(KILLED, failed.group(1) if failed else output.strip().split("\n")[-1])

    def _path(self) -> str:
        """The copy first; then the tools, where the tree itself has none."""
        here = Path(__file__).parent.parent.parent
        return os.pathsep.join([str(self.root), str(here)])


def _end(process: subprocess.Popen[str]) -> None:
    """End the tests and whatever they have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
