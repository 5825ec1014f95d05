"""A copy of the tree in which mutants live: nothing is ever changed in the tree itself."""

from __future__ import annotations

import json
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
from tools.mutants.warm import OUTPUT
from tools.mutants.warm import UNFIT as NOT_EXCHANGED

LEFT_OUT = shutil.ignore_patterns(".*", "*.pyc", "results", "build", "dist", "*.egg-info")
SWITCH = "NUMBA_DISABLE_JIT"  # a compiler takes longer than most tests of one function
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
KILLED, SURVIVED, TIMEOUT = "killed", "survived", "timeout"
UNFIT = "unfit"  # for a warm start
PLUGINS = ["-p", "tools.mutants.tracer", "-p", "no:cacheprovider"]
OPTIONS = ["-q", "--tb=no", "-rfE", "--basetemp=tmp", *PLUGINS]
WAIT = 20.0  # times the limit of processor time: what hangs, or a machine that is busy


class Outcome(NamedTuple):
    """How the tests ended."""

    status: str  # KILLED, SURVIVED or TIMEOUT; of a warm start also UNFIT
    test: str = ""  # the first that failed, where one did


class Scratch:
    """A copy of a tree, in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.root = Path(self._folder.name).resolve() / root.name
        shutil.copytree(root, self.root, ignore=LEFT_OUT)
        self._clock = time.time_ns()
        self._process: subprocess.Popen[str] | None = None
        self._warm: dict[bool, subprocess.Popen[str]] = {}  # by whether it compiles

    def close(self) -> None:
        """End what runs in the copy, and remove it."""
        for process in (self._process, *self._warm.values()):
            if process is not None:
                _end(process)
        self._folder.cleanup()

    def warm_up(self, files: Sequence[str], compiled: bool = False) -> None:
        """Import these files of tests, for `warm`."""
        self._warm[compiled] = subprocess.Popen(
            [sys.executable, "-m", "tools.mutants.warm"],
            cwd=self.root,
            env=self._environment(compiled),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._tell([[*OPTIONS, "-x"], list(files)], compiled)

    def cool_down(self) -> None:
        """End what `warm_up` has started."""
        while self._warm:
            _end(self._warm.popitem()[1])

    def warm(
        self, mutant: Mutant, tests: Sequence[str], limit: float, compiled: bool = False
    ) -> Outcome:
        """Run these tests on a mutant from a warm start; UNFIT if that cannot be done."""
        if compiled not in self._warm:
            return Outcome(UNFIT)
        source = mutant.applied((self.root / mutant.module).read_bytes()).decode()
        job = {"module": mutant.module, "function": mutant.function, "source": source}
        self._tell(job | {"tests": list(tests), "limit": limit, "wait": WAIT * limit}, compiled)
        answers = self._warm[compiled].stdout
        assert answers is not None
        status = int(answers.readline())
        return Outcome(UNFIT) if status == NOT_EXCHANGED else self._outcome(status, OUTPUT)

    def _tell(self, words: object, compiled: bool) -> None:
        questions = self._warm[compiled].stdin
        assert questions is not None
        print(json.dumps(words), file=questions, flush=True)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The copy with a fault in it."""
        path = self.root / mutant.module
        source, date = path.read_bytes(), path.stat().st_mtime_ns
        self._clock += 10**9
        self._write(path, mutant.applied(source), self._clock)
        try:
            yield
        finally:
            self._write(path, source, date)

    def _write(self, path: Path, source: bytes, date: int) -> None:
        """Each fault has a date of its own: modules and machine code are taken for valid by it."""
        path.write_bytes(source)
        os.utime(path, ns=(date, date))

    def pytest(
        self,
        tests: Sequence[str],
        limit: float,
        words: str = "-x",
        compiled: bool = False,
        **environment: str,
    ) -> Outcome:
        """Run these tests, up to the first failure, within a limit of processor seconds."""
        listed = self.root / "tests.txt"
        listed.write_text("\n".join(tests))
        # Processor time, not time: a busy machine must not turn a survivor into a timeout.
        shell = ["/bin/sh", "-c", 'ulimit -t "$0" && exec "$@"', str(int(limit) + 1)]
        output = self.root / "output.txt"
        self._process = process = subprocess.Popen(
            [*shell, sys.executable, "-m", "pytest", *OPTIONS, *words.split(), f"@{listed.name}"],
            cwd=self.root,
            env=self._environment(compiled) | environment,
            stdout=output.open("w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        try:
            process.wait(timeout=WAIT * limit)
        except subprocess.TimeoutExpired:
            return Outcome(TIMEOUT)
        finally:
            _end(process)
        return self._outcome(process.returncode, output.name)

    def _outcome(self, status: int, output: str) -> Outcome:
        """What an exit status and the file of an output say."""
        if status == 0:
            return Outcome(SURVIVED)
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return Outcome(TIMEOUT)
        text = (self.root / output).read_text(errors="replace")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.M)
        return Outcome(KILLED, failed.group(1) if failed else text.strip().split("\n")[-1])

    def _environment(self, compiled: bool = False) -> dict[str, str]:
        """The copy comes first on the path; then the tools, where the tree itself has none."""
        here = Path(__file__).parent.parent.parent
        path = os.pathsep.join([str(self.root), str(here)])
        own = {"PYTHONPATH": path, SWITCH: "0" if compiled else "1"}
        return os.environ | ONE_THREAD | own


def _end(process: subprocess.Popen[str]) -> None:
    """End the tests and whatever they have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
