"""A warm start: tests run in forks of a process that has imported them already.

Most mutants die within a second of tests, so to start Python and to import the tests is most of the
work. Here the code of one function, and of its copies, is exchanged in a fork. What stands outside
of functions needs a fresh start, and so does what runs when tests are imported: that has been done
without the fault. So does a compiled function, where tests run compiled.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

import pytest

UNFIT = 99  # exit status: this function cannot be exchanged
OUTPUT = "warm.txt"
# The tests were rewritten when they were first imported, and need not be again.
QUIET = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


def exchange(module: str, function: str, source: bytes) -> None:
    """Give a function of an imported module the code that this source has for it."""
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    here = importlib.import_module(name)
    thing: Any = here
    for part in function.split("."):
        thing = vars(thing)[part]
    python = _plain(thing)
    whole = compile(source, python.__code__.co_filename, "exec", dont_inherit=True)
    line = python.__code__.co_firstlineno
    (code,) = (c for c in _codes(whole) if (c.co_qualname, c.co_firstlineno) == (function, line))
    before = python.__code__
    for copy in gc.get_referrers(before):  # those that `gim._compile.jit.bind` has made, too
        if isinstance(copy, FunctionType) and copy.__code__ is before:
            copy.__code__ = code


def _plain(thing: Any) -> FunctionType:
    """The function that a decorator has hidden."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        while not isinstance(thing, FunctionType) and getattr(thing, name, None) is not None:
            thing = getattr(thing, name)
    while hasattr(thing, "__wrapped__"):
        thing = thing.__wrapped__
    if not isinstance(thing, FunctionType):
        raise TypeError(thing)
    return thing


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _forked(job: dict[str, Any], options: list[str]) -> int:
    """Run the tests of a job in a fork; its exit status, below 0 if a signal has ended it."""
    pid = os.fork()
    if pid == 0:
        status = UNFIT
        try:
            os.setsid()
            seconds = int(job["limit"]) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            file = os.open(OUTPUT, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
            os.dup2(file, 1)
            os.dup2(file, 2)
            exchange(job["module"], job["function"], job["source"].encode())
            status = 1  # what ends pytest itself has noticed the fault
            status = int(pytest.main([*options, *job["tests"]]))
            sys.stdout.flush()
        finally:
            os._exit(status)
    last = time.monotonic() + job["wait"]
    while time.monotonic() < last:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            _end(pid)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    _end(pid)
    os.waitpid(pid, 0)
    return -int(signal.SIGKILL)


def _end(pid: int) -> None:
    """End whatever the tests have started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def main() -> None:
    """Import the files of tests that are named first, then run jobs as they come on stdin."""
    options, files = json.loads(sys.stdin.readline())
    replies = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    pytest.main([*options, "--collect-only", *files])
    for line in sys.stdin:
        print(_forked(json.loads(line), [*options, *QUIET]), file=replies, flush=True)


if __name__ == "__main__":
    main()
