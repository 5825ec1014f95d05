"""Absurd command lines and study files: each must be answered, in one line and at once.

An input may succeed, or be refused with exit status 2 and a line that begins with ``gim:``.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gim._base.escapes import BUT_LINES
from gim.cli import main
from gim_lab.experiments.reproduction import MANIFEST

SECONDS = 20  # of the processor that an input may take, compiling included
PATIENCE = 30  # times as many by the clock
PLAY = ["train", "riverswim", "--episodes", "3", "--agent"]
LOG = "hostile.csv"
COLUMNS = ("--state", "--action", "--reward", "--next", "--episode", "--step", "--done")
REPORTS = (["report"], ["reproduce", "fig1", "--scale", "smoke", "--out"])
HUGE = (
    ["train", "riverswim", "--episodes", "1000000000000000"],
    ["train", "riverswim", "--episodes", "1e300"],
    ["train", "riverswim", "--episodes", "nan"],
    ["train", "riverswim", "--episodes", "1000000000000", "--horizon", "1"],
    ["train", "riverswim", "--horizon", "2147483648"],
    ["train", "riverswim", "--horizon", "1e19"],
    ["train", "riverswim", "--seed", "18446744073709551616"],
    ["train", "riverswim", "--seed", "-1"],
    ["train", "riverswim", "--seeds", "1000000000"],
    ["train", "riverswim:length=1000000000"],
    ["train", "riverswim:length=20000"],
    ["train", "synthetic:S=100000,A=1000"],
    ["train", "gridworld:height=100000,width=100000"],
    ["train", "garnet:S=1000000"],
    ["train", "clusters:S=100000"],
    ["train", "linear:S=1000000"],
    ["train", "table1:S=100000"],
    ["train", "sysadmin:machines=60"],
    ["train", "inventory:capacity=1000000"],
    ["train", "FrozenLake-v1:max_episode_steps=1000000000000"],
    ["train", "FrozenLake-v1:max_episode_steps=-3"],
    ["train", "FrozenLake-v1:desc=3"],
    ["train", "a" * 200_000],
    [*PLAY, "gim:m=99999999999999999999999"],
    [*PLAY, "gim:m=" + "9" * 10_000],
    [*PLAY, "gim:completion=" + "als(rank=" * 3000 + ")" * 3000],
    [*PLAY, "gim:m=" + "[" * 50_000 + "]" * 50_000],
    [*PLAY, "rmax:r_max=inf"],
    [*PLAY, "q_learning:alpha=als(rank=2)"],
    [*PLAY, "gim:completion=riverswim(length=3)"],
    [*PLAY, "gim:infer=4"],
    [*PLAY, "ucbvi:infer=[1]"],
    ["compare", "riverswim", "--agents", "random", "--runs", "1000000000"],
    ["compare", "riverswim", "--agents", "random", "--runs", "1e25"],
    ["compare", "riverswim", "--agents", "random", "--runs", "2", "--seed", "99999999999999999999"],
    ["train", "/dev/zero"],
    ["train", "/dev/null", "--save", "/dev/null"],
    ["run", "/dev/zero"],
    ["inspect", "/dev/zero"],
    ["learn", "/dev/zero", "--out", "x"],
    ["report", "/dev/null"],
    ["train", "a-" * 50_000],
    ["train", "riverswim", "--agent", "a/" * 50_000],
    ["train", "\x1b[31mred\x07"],
    ["compare", "/dev/zero.npz", "--agents", "\x1b]0;x\x07", "--runs", "1"],
    ["train", "riverswim", "--episodes", "1", "--horizon", "1e12"],
    ["train", "riverswim", "--episodes", "1", "--horizon", "1e11"],
    ["learn", LOG, "--out", "o", "--horizon", "1e12"],
    ["learn", LOG, "--out", "o", "--bins", "s=inf"],
    ["learn", LOG, "--out", "o", "--bins", "s=2.5"],
    *(["learn", LOG, "--out", "o", option, ""] for option in COLUMNS),
    *(["learn", LOG, "--out", "o", option, "\x1b[2J"] for option in COLUMNS),
    ["learn", LOG, "--out", "o", "--next", "s2", "--action", "odd"],
    ["learn", LOG, "--out", "o", "--next", "s2", "--state", "odd", "--next", "odd"],
    *(["learn", name, "--out", "o"] for name in ("pipe", "loop")),
    *(["run", name, "--out", "o"] for name in ("pipe", "loop")),
    *([*command, name] for name in ("piped", "looped") for command in REPORTS),
)
HEAD = 'episodes = 2\nruns = 1\ntasks = ["riverswim"]\nagents = ["random"]\n'
GRID = list(range(1, 2000))
STUDIES = (
    HEAD.replace("runs = 1", "runs = 1000000000"),
    HEAD.replace("runs = 1", f"runs = {10**30}"),
    HEAD.replace("runs = 1", "runs = true"),
    HEAD.replace("runs = 1", f"seeds = [{2**65}]"),
    HEAD.replace("runs = 1", f"runs = 2\nseed = {2**70}"),
    HEAD.replace("episodes = 2", "episodes = 1000000000000000"),
    HEAD.replace('["riverswim"]', "[" * 20_000 + "]" * 20_000),
    HEAD.replace('["riverswim"]', "[1979-05-27]"),
    HEAD.replace('["riverswim"]', '[{name = "riverswim", length = [[[[3]]]]}]'),
    HEAD.replace('["riverswim"]', '["riverswim:length=100000000"]'),
    HEAD.replace('["random"]', '[{name = "gim", m = 1979-05-27}]'),
    HEAD.replace('["random"]', '["gim:completion=' + "als(" * 5000 + ")" * 5000 + '"]'),
    HEAD.replace('["random"]', f'[{{name = "gim", m = {GRID}, patience = {GRID}}}]'),
    HEAD + "epsilon = nan\n",
    HEAD + "epsilon = inf\n",
    HEAD + 'description = "' + "\\u0000" * 10 + '"\n',
)
PIECES = (
    *[
        "riverswim",
        "synthetic",
        "gim",
        "q_learning",
        "als",
        "analogist",
        "rank",
        "m",
        "alpha",
        "length",
        "seed",
        "none",
        "true",
    ],
    *[
        ":",
        "=",
        ",",
        "(",
        ")",
        "[",
        "]",
        ".",
        "-",
        "1",
        "0",
        "-1",
        "1e9",
        "1e400",
        "nan",
        "inf",
        "99999999999999999999",
        "0x10",
        "/",
        "..",
        ".npz",
    ],
    *(["'", '"', "%s", "{}", "\\", "é", "😀"]),
    *(" ", "\t", "\n"),
)


def inputs(rng: np.random.Generator, number: int, folder: Path) -> Iterator[list[str]]:
    """Command lines: those above first, then words put together from pieces and mutated ones."""
    _hostile_files(folder)
    fixed: list[list[str]] = [list(words) for words in HUGE]
    for i, text in enumerate(STUDIES):
        (folder / f"{i}.toml").write_text(text)
        fixed.append(
            ["run", str(folder / f"{i}.toml"), "--engine", "serial", "--out", str(folder / "o")]
        )
    yield from fixed[:number]
    for _ in range(number - len(fixed)):
        spec = "".join(rng.choice(PIECES, size=rng.integers(1, 9)).tolist())
        kind = rng.integers(4)
        if kind == 0:
            yield ["train", spec, "--episodes", "2", "--agent", "random"]
        elif kind == 1:
            yield ["train", "riverswim:length=3", "--episodes", "2", "--agent", spec]
        elif kind == 2:
            yield [
                "compare",
                "riverswim",
                "--agents",
                spec,
                "--runs",
                "1",
                "--episodes",
                "2",
                "--engine",
                "serial",
            ]
        else:
            (folder / "random.toml").write_text(shaken(HEAD, rng), errors="replace")
            yield [
                "run",
                str(folder / "random.toml"),
                "--engine",
                "serial",
                "--out",
                str(folder / "o"),
            ]


def _hostile_files(folder: Path) -> None:
    """A log with labels that would steer, and pipes and links in place of files."""
    odd = [f"\x1b[3{i}m=1+{i}\x07" for i in range(3)]
    rows = [f"{i % 3},{i % 2},{i % 5},{(i + i % 2) % 3},{odd[i % 3]}" for i in range(60)]
    (folder / LOG).write_text("\n".join(["s,a,r,s2,odd", *rows]))
    for name, place in (("pipe", "pipe"), ("piped", f"piped/{MANIFEST}")):
        if name == "piped":
            (folder / name).mkdir()
        os.mkfifo(folder / place)
    (folder / "looped").mkdir()
    for place in ("loop", f"looped/{MANIFEST}"):
        (folder / place).symlink_to(Path(place).name)


def shaken(text: str, rng: np.random.Generator) -> str:
    """The text with a few pieces in other places."""
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(text)))
        text = text[:at] + str(rng.choice(PIECES)) + text[at + int(rng.integers(4)) :]
    return text


class TooLong(BaseException):
    """An input took longer than it may."""


@contextlib.contextmanager
def limited(seconds: int, what: str) -> Iterator[None]:
    """Raise `TooLong` after so many seconds of the processor, which a busy machine does not use up.

    What waits for something uses none: it may take `PATIENCE` times as long by the clock.
    """

    def alarm(*_: Any) -> None:
        raise TooLong(f"{seconds} s were not enough for {what}")

    limits = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE * seconds),
    }
    before = {number: signal.signal(number, alarm) for number in limits}
    for timer, most in limits.values():
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for timer, _ in limits.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def answer(words: list[str], seconds: int = SECONDS) -> tuple[int, str]:
    """The exit status of a command line, and the last line on stderr; or raise what is wrong."""

    out, err = io.StringIO(), io.StringIO()
    quiet = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with limited(seconds, str(words)[:200]), quiet[0], quiet[1]:
        status = main(words)
    lines = err.getvalue().splitlines()
    if status not in (0, 2) or any(line.startswith("Traceback") for line in lines):
        raise AssertionError(f"{str(words)[:200]} ended with {status}: {' | '.join(lines)[-300:]}")
    for text in (out.getvalue(), err.getvalue()):
        if found := BUT_LINES.search(text):
            raise AssertionError(f"{str(words)[:200]} lets {found[0]!r} through")
    said = [line for line in lines if line.startswith("gim:") and not line.startswith("gim: note:")]
    if status == 2 and len(said) != 1:
        raise AssertionError(f"{str(words)[:200]} was refused in {len(said)} lines: {said[:3]}")
    return status, said[-1] if said else ""


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Work in a folder of its own, in which anything may be written."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(here)
