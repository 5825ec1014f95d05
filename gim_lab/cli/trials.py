"""What the commands that run trials share: their options, progress, and what Ctrl-C says."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from gim.cli.command import INTERRUPTED, RESUMABLE, can_go_on, minutes, whole
from gim.cli.screen import width
from gim_lab.engines.base import ENGINES, engine_of
from gim_lab.experiments.comparison import comparison_table, hints, notes, scale
from gim_lab.trials.execute import Stopped, execute
from gim_lab.trials.results import Results
from gim_lab.trials.store import Store
from gim_lab.trials.trial import Trial

PARQUET = "results.parquet"


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Take an engine and how many workers it has."""
    add = parser.add_argument
    add(
        "--engine",
        default="processes",
        metavar="NAME",
        help=f"{', '.join(ENGINES)} (default: processes)",
    )
    add("--workers", type=whole, metavar="N", help="trials at a time (default: one per processor)")
    text = "keep trials while they are played, so that long ones go on after they were stopped"
    add("--save-every", type=minutes, metavar="MINUTES", help=text)
    add("--address", metavar="ADDRESS", help="of a running Ray cluster (with --engine ray)")
    add("--keep", action="store_true", help="trust finished trials that other code has made")


def engine_words(args: argparse.Namespace) -> list[str]:
    """The options that were given, and the folder, as they are typed."""
    words = []
    for name, default in (("engine", "processes"), ("workers", None), ("address", None)):
        if getattr(args, name) != default:
            words += [f"--{name}", str(getattr(args, name))]
    words += ["--keep"] if args.keep else []
    for what in args.imports:
        words += ["--import", what]
    if args.save_every is not None:
        words += ["--save-every", f"{args.save_every:g}"]
    return words if args.out is None else [*words, "--out", str(args.out)]


def engine_arguments(args: argparse.Namespace) -> dict[str, object]:
    """What `execute` is to be given, checked before anything is done."""
    given: dict[str, object] = {"engine": args.engine, "workers": args.workers}
    if args.address is not None:
        given["address"] = args.address
    engine_of(**given)  # type: ignore[arg-type]
    return given | {"keep": args.keep}


def check_folder(folder: Path | None) -> None:
    """Raise unless results can be kept in this folder; it is made when there is one to keep."""
    if folder is None:
        return
    Store(folder)
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise ValueError(f"cannot keep results in {folder}: {above} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot keep results in {folder}: {above} is not writable")


def play(
    trials: Sequence[Trial], args: argparse.Namespace, label: str, words: Sequence[str]
) -> Results | int:
    """Run trials with a progress bar; after Ctrl-C say how to go on, and give that exit status.

    `words` is the command that goes on, as it was typed.
    """
    try:
        given = engine_arguments(args) | {"save_every": args.save_every}
        return execute(trials, args.out, progress=label, **given)  # type: ignore[arg-type]
    except Stopped as stop:
        how = "nothing is kept; with --out DIR it could go on later"
        if args.out is not None:
            how = _how(words)
        print(f"gim: stopped after {stop.done} of {stop.total} trials; {how}", file=sys.stderr)
        return INTERRUPTED if args.out is None else RESUMABLE


@contextmanager
def keeping(args: argparse.Namespace, words: Sequence[str]) -> Iterator[None]:
    """Check the folder for results; what is interrupted inside goes on from it, if there is one."""
    check_folder(args.out)
    if args.save_every is not None:
        if args.out is None:
            raise ValueError("--save-every needs a folder to keep trials in: add --out DIR")
        if args.engine == "ray":
            raise ValueError("--save-every keeps trials on this machine: leave --engine ray out")
    with nullcontext() if args.out is None else can_go_on(_how(words)):
        yield


def _how(words: Sequence[str]) -> str:
    return f"to go on: {shlex.join(['gim', *words])}"


def show(titles: Sequence[str], agents: Sequence[str], results: Results) -> None:
    """Print a table per world; the results stand world by world, agent by agent, seed by seed."""
    runs = len(results) // (len(titles) * len(agents))
    for w, title in enumerate(titles):
        start = w * len(agents) * runs
        parts = [results[start + i * runs : start + (i + 1) * runs] for i in range(len(agents))]
        several = f"{runs} runs" if runs > 1 else "1 run"
        print(f"{title}: {parts[0].column('episodes')[0]:,} episodes, {several}{scale(parts[0])}\n")
        print(comparison_table(agents, parts, width()))
        print("\n".join(["", *hints(agents, parts)]).rstrip() + "\n")
        for text in notes(agents, parts):
            print(f"gim: note: {title}, {text}", file=sys.stderr)


def keep_table(results: Results, folder: Path) -> None:
    """Write the tidy table beside the trials, where pyarrow is there to write it."""
    try:
        results.to_parquet(folder / PARQUET)
    except ValueError as problem:
        warnings.warn(f"no {PARQUET} was written: {problem}", stacklevel=2)
        print(f"kept in {folder}")
    else:
        print(f"kept in {folder}; as one table: {folder / PARQUET}")
