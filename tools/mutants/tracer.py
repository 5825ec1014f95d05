"""A pytest plugin that keeps tests steady, and on request notes which functions each one reaches.

It is loaded with ``-p tools.mutants.tracer`` and writes to the file that TRACE names, one line of
JSON a test. Reach is told by the calls that Python makes: of compiled code it sees nothing.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

TRACE, SECONDS = "MUTANTS_TRACE", "MUTANTS_SECONDS"  # in the environment: file, limit of a test

Wrapper = Generator[None, Any, Any]


class TooSlow(BaseException):
    """The test took more processor time than it is worth; what it reached until then counts."""


class Tracer:
    """Collects the functions called, as file and qualified name."""

    def __init__(self, root: Path, out: Path, seconds: float) -> None:
        self.root, self.out, self.seconds = f"{root}/", out, seconds
        self.codes: set[Any] = set()
        self.passed = True
        self.of_file: dict[Path, set[Any]] = {}  # what the import of a test file reaches

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Wrapper:
        """Importing a test file may build what all its tests use."""
        with self._traced():
            report = yield
        if isinstance(collector, pytest.Module):
            self.of_file[collector.path] = self.codes
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Wrapper:
        """Trace a test with its fixtures."""
        self.passed, before = True, time.process_time()
        with self._traced():
            result = yield
        reached = self.codes | self.of_file.get(item.path, set())
        line = {
            "test": item.nodeid,
            "seconds": round(time.process_time() - before, 3),
            "passed": self.passed,
            "reach": self._places(reached),
            "early": self._places(self.of_file.get(item.path, set())),
        }
        with self.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        """End fixtures that take too long: one of a whole file may run a study."""
        with self._limited():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        """End a test that takes too long."""
        with self._limited():
            return (yield)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        signal.signal(signal.SIGVTALRM, _too_slow)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that is skipped or fails is of no use."""
        self.passed &= report.passed

    @contextmanager
    def _traced(self) -> Iterator[None]:
        """Note every call of Python code."""
        codes = self.codes = set[Any]()

        def note(frame: FrameType, event: str, arg: object) -> None:
            codes.add(frame.f_code)  # and None is returned: its lines need not be told

        sys.settrace(note)
        try:
            yield
        finally:
            sys.settrace(None)

    def _places(self, codes: set[Any]) -> list[str]:
        return sorted({self._place(code) for code in codes} - {""})

    def _place(self, code: Any) -> str:
        """File and outermost function, such as ``gim/mdp/tabular.py TabularMDP.plan``; or ""."""
        function = code.co_flags & inspect.CO_OPTIMIZED  # the bodies of modules and classes are not
        if not function or not code.co_filename.startswith(self.root):
            return ""
        return f"{code.co_filename.removeprefix(self.root)} {code.co_qualname.split('.<')[0]}"


def _too_slow(*_: object) -> None:
    raise TooSlow


def pytest_configure(config: pytest.Config) -> None:
    """Let no test depend on luck or on time; trace, if that is asked for."""
    settings.register_profile("mutants", deadline=None, derandomize=True, database=None)
    settings.load_profile("mutants")
    if TRACE in os.environ:
        out, seconds = os.environ.pop(TRACE), os.environ.pop(SECONDS)  # not for its children
        config.pluginmanager.register(Tracer(Path.cwd(), Path(out), float(seconds)))
