"""Interruptions of real commands at random moments: nothing that was kept is lost, same bits.

A command is run to its end once. Then it is run again in another folder, and at a moment that is
drawn it is sent a signal, or Ctrl-C twice. What it has kept by then must be there afterwards, and
whole; gone on with, it must end bit for bit as the one that was not disturbed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gim
from gim._base import files
from gim.cli import main
from gim_lab import Store

WAYS = {
    "KILL": (signal.SIGKILL,),
    "TERM": (signal.SIGTERM,),
    "HUP": (signal.SIGHUP,),
    "INT": (signal.SIGINT,),
    "INT twice": (signal.SIGINT, signal.SIGINT),
}
CAN_GO_ON, CANNOT = 75, 130  # exit statuses
PATIENCE = 300.0  # seconds: ends what hangs
OFTEN = 0.0005  # minutes between two checkpoints
FRESH = 5  # one of so many is a new interpreter, the others are forks of this one
STUDY = """
episodes = {episodes}
runs = 2
tasks = ["riverswim", "gridworld"]
agents = ["psrl", {{name = "rmax", m = [5, 10]}}]
"""
FOLDERS = ("out", "shop")


class Command(NamedTuple):
    """A command, how it is gone on with, and what it leaves."""

    name: str
    words: list[str]
    state: Callable[[], dict[str, Any]]  # what is kept, as one must find it again
    on: list[str] | None = None  # the words that go on, once there is something; None: the same
    grows: bool = False  # whether what is kept is of one file, whose first number grows


class Outcome(NamedTuple):
    """What became of one interruption."""

    command: str
    way: str
    end: str  # "same bits", or what is wrong
    status: int
    seconds: float  # from the last signal to the end


def commands(size: int = 4) -> list[Command]:
    """Those that take long, which is some seconds here; a smaller size is quicker."""

    def train(name: str, world: str, agent: str, episodes: int, *more: str) -> Command:
        words = ["train", world, "--agent", agent, "--episodes", str(episodes)]
        keep = [*(hands if world == "Blackjack-v1" else ()), "--save", "run.npz", *more]
        on = ["train", "--resume", "run.npz", *more]
        return Command(name, words + keep, _run, on, grows=True)

    hands = ("--horizon", "20")  # a stepped world without a limit of its own
    every = ("--save-every", str(OFTEN))
    compare = ["compare", "riverswim", "--agents", "psrl", "q_learning", "--runs", "3"]
    compare += ["--episodes", str(150 * size), "--out", "out"]
    study = ["run", "study.toml", "--out", "out", "--engine", "serial", *every]
    learn = ["learn", "log.csv", "--reward", "r", "--out", "shop", "--horizon", str(5 * size)]
    return [
        train("train --save", "riverswim", "analogist", 60 * size),
        train("train --save, stepped", "Blackjack-v1", "q_learning", 5000 * size),
        train("train --save-every", "gridworld", "psrl", 150 * size, *every),
        train("train --save-every, stepped", "Blackjack-v1", "q_learning", 5000 * size, *every),
        Command("compare", compare, _trials),
        Command("compare, serial", [*compare, "--engine", "serial", *every], _trials),
        Command("run", study, _trials),
        Command("learn", learn, _learned),
    ]


def interruptions(
    times: int, seed: int = 0, size: int = 4, only: list[Command] | None = None
) -> Iterator[Outcome]:
    """So many, over all commands and ways in turn, at moments of this seed."""
    rng = np.random.default_rng(seed)
    with contextlib.ExitStack() as stack:
        calm: dict[str, tuple[dict[str, Any], float]] = {}
        cases = [(command, way) for way in WAYS for command in only or commands(size)]
        for k in range(times):
            command, way = cases[k % len(cases)]
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if command.name not in calm:
                _given(folder, size)
                began = time.monotonic()
                status, _ = _ran(command.words, folder)
                if status != 0:
                    raise AssertionError(f"{command.name} ends with status {status} by itself")
                calm[command.name] = _state(command, folder), time.monotonic() - began
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            _given(folder, size)
            state, seconds = calm[command.name]
            fresh = bool(rng.integers(FRESH) == 0)
            yield _interrupted(command, way, folder, state, seconds, fresh, rng)


def _interrupted(
    command: Command,
    way: str,
    folder: Path,
    calm: dict[str, Any],
    seconds: float,
    fresh: bool,
    rng: np.random.Generator,
) -> Outcome:
    moment = rng.uniform(0.0, seconds) + (1.0 if fresh else 0.0)  # to import takes a second
    between = rng.uniform(0.0, 0.3)
    before: dict[str, Any] = {}

    def disturb(pid: int) -> float:
        time.sleep(moment)
        before.update(_state(command, folder))
        for k, number in enumerate(WAYS[way]):
            time.sleep(between if k else 0.0)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return time.monotonic()

    status, took = _ran(command.words, folder, disturb, fresh)
    end = _after(command, way, folder, calm, before, status)
    return Outcome(command.name, way, end, status, took)


def _after(
    command: Command,
    way: str,
    folder: Path,
    calm: dict[str, Any],
    before: dict[str, Any],
    status: int,
) -> str:
    early = {-number for number in WAYS[way]}  # KILL, or before Python listens
    if status not in {0, CAN_GO_ON, CANNOT, *early}:
        return f"status {status}"
    try:
        kept = _state(command, folder)
    except (ValueError, OSError) as problem:
        return f"what is kept is not whole: {problem}"
    if command.grows and before and kept.get("episodes", -1) < before["episodes"]:
        return "a checkpoint was lost"
    if not command.grows and not before.items() <= kept.items():
        return "what had ended was lost"
    if status == CAN_GO_ON and command.grows and not kept:
        return "nothing to go on with"
    words = command.on if command.on is not None and kept else command.words
    again, _ = _ran(words, folder)
    if again != 0:
        return f"going on ends with status {again}"
    last = _state(command, folder)
    if command.grows:
        return "same bits" if last == calm else "other bits"
    same = all(_bits(last[name]) == _bits(calm[name]) for name in calm)
    return "same bits" if same and last.keys() == calm.keys() else "other bits"


# -- what is kept


def _state(command: Command, folder: Path) -> dict[str, Any]:
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        return command.state()


def _run() -> dict[str, Any]:
    """The run of a file: its arrays and streams, all but its seconds."""
    try:
        saved = files.load("run.npz", "run")
    except FileNotFoundError:
        return {}
    gim.load("run.npz")  # all that is checked of it
    meta = dict(saved.meta)
    meta["mind"] = {k: v for k, v in meta["mind"].items() if k != "seconds"}
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in saved.arrays.items()}
    return {"episodes": saved.arrays["returns"].size, "arrays": arrays, "meta": meta}


def _trials() -> dict[str, Any]:
    """Each trial that has ended: the writing of its file, and what came of it."""
    found = {}
    for path in Path("out/trials").glob("*.npz"):
        at = path.stat()
        found[path.stem] = (at.st_ino, at.st_mtime_ns), files.load(path, "trial")
    if found:
        table = Store("out").results()  # reports, hence here raises, whatever cannot be trusted
        if len(table) < len(found):  # more may have ended since
            raise ValueError("a trial is not read")
    machine = ("seconds", "peak_memory_mb", "host")
    return {
        stem: (
            written,
            repr([(k, v) for k, v in saved.meta["columns"].items() if not k.startswith(machine)]),
            tuple((name, array.tobytes()) for name, array in sorted(saved.arrays.items())),
        )
        for stem, (written, saved) in found.items()
    }


def _learned() -> dict[str, Any]:
    """The files that `gim learn` writes, each whole."""
    paths = sorted(path for path in Path("shop").glob("*") if not path.name.startswith("."))
    for path in paths:
        if path.suffix in {".npz", ".json", ".csv"}:
            gim.load(path)
        elif not path.read_text().rstrip().endswith("</html>"):
            raise ValueError(f"{path} is cut")
    return {path.name: ((), path.read_bytes()) for path in paths}


def _bits(kept: tuple[Any, ...]) -> tuple[Any, ...]:
    """All but the first: which writing of a file it is."""
    return kept[1:]


# -- processes


def _given(folder: Path, size: int) -> None:
    """What the commands read."""
    folder.joinpath("study.toml").write_text(STUDY.format(episodes=40 * size))
    rng = np.random.default_rng(0)
    rows, s = ["s,a,r,s2"], 0
    for _ in range(500 * size):
        a, t = int(rng.integers(4)), int(rng.integers(12))
        t = (s + a + t // 8) % 12
        rows.append(f"{s},{a},{float(t == 7)},{t}")
        s = t
    folder.joinpath("log.csv").write_text("\n".join(rows) + "\n")


def _ran(
    words: list[str],
    folder: Path,
    disturb: Callable[[int], float] | None = None,
    fresh: bool = False,
) -> tuple[int, float]:
    """Run a command in a folder; its exit status, and seconds since `disturb` was done with it."""
    sys.stdout.flush()
    sys.stderr.flush()
    with open(os.devnull, "w") as nowhere:
        if fresh:
            told = {"cwd": folder, "stdout": nowhere, "stderr": nowhere}
            process = subprocess.Popen([sys.executable, "-m", "gim", *words], **told)  # type: ignore[call-overload]
            pid = process.pid
        else:
            pid = os.fork()
            if pid == 0:
                _child(words, folder, nowhere.fileno())
        since = time.monotonic() if disturb is None else disturb(pid)
        while time.monotonic() < since + PATIENCE:
            ended, found = os.waitpid(pid, os.WNOHANG)
            if ended:
                if fresh:
                    process.returncode = os.waitstatus_to_exitcode(found)  # it is reaped
                return os.waitstatus_to_exitcode(found), time.monotonic() - since
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise AssertionError(f"{' '.join(words)} hangs")


def _child(words: list[str], folder: Path, nowhere: int) -> None:
    """The command in a fork, with signals as a new process has them."""
    status = 1
    try:
        os.chdir(folder)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.argv = ["gim"]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        status = main(words)
    except KeyboardInterrupt:  # before the command listens
        status = CANNOT
    finally:
        os._exit(status)
