"""`python -m tools.robustness WHAT`: faults, interruptions, fuzz, soak, runs, ..., as tables.

The exit status is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gim.runs.agent import agents
from gim_lab import execute
from tools.robustness import (
    command_lines,
    extremes,
    faults,
    fuzz,
    interruptions,
    ray_faults,
    run_files,
    soak,
    whole_runs,
)

DEFAULT = "analogist"


def run_faults(args: argparse.Namespace) -> int:
    """Each fault, and what became of the study."""
    trials = faults.study()
    undisturbed = execute(trials, engine="serial")
    lost = 0
    kinds: Counter[tuple[str, str]] = Counter()
    for fault in faults.faults(trials, args.short) + (
        [] if args.short else ray_faults.ray_faults()
    ):
        try:
            end = faults.outcome(fault, trials, undisturbed)
        except AssertionError as problem:
            end = str(problem)
        lost += end != "same bits"
        kinds[" ".join(word for word in fault.name.split() if not word.isdigit()), end] += 1
    _table(("fault", "number", "after it"), [(kind, n, end) for (kind, end), n in kinds.items()])
    print(f"\n{sum(kinds.values())} faults, {lost} with a lost or changed result")
    return lost


def run_interruptions(args: argparse.Namespace) -> int:
    """Interruptions by command and signal, and how long the end took."""
    rows: dict[tuple[str, str], list[interruptions.Outcome]] = {}
    for each in interruptions.interruptions(args.times, args.seed, 1 if args.short else 4):
        rows.setdefault((each.command, each.way), []).append(each)
        if each.end != "same bits":
            print(*each, sep=", ", file=sys.stderr, flush=True)
    _table(
        ("command", "signal", "times", "same bits", "exit status", "seconds to the end, at most"),
        [
            (
                *kind,
                len(ran),
                sum(each.end == "same bits" for each in ran),
                ", ".join(str(status) for status in sorted({each.status for each in ran})),
                f"{max(each.seconds for each in ran):.2f}",
            )
            for kind, ran in sorted(rows.items())
        ],
    )
    return sum(each.end != "same bits" for ran in rows.values() for each in ran)


def run_fuzz(args: argparse.Namespace) -> int:
    """Inputs by entry."""
    _table(("entry", "inputs", "answered", "refused", "finds", "seconds"), [])
    rows = []
    for row in _fuzzed(args.number, args.seed):
        _line((*row[:4], len(row.finds), f"{row.seconds:.0f}"))
        for find in row.finds[:5]:
            print(f"{row.entry}, {find}", file=sys.stderr)
        rows.append(row)
    print(f"\n{sum(row.inputs for row in rows):,} inputs")
    return sum(len(row.finds) for row in rows)


def _fuzzed(number: int, seed: int) -> Iterator[fuzz.Row]:
    yield from fuzz.run(number, seed)
    yield fuzz.row("run files", fuzz.Runs(), max(20, number // 200), seed)
    yield _command_lines(max(60, number // 50), seed)


def _command_lines(number: int, seed: int) -> fuzz.Row:
    ends: Counter[int] = Counter()
    finds, began = [], time.perf_counter()
    with command_lines.own_folder() as folder:
        for line in command_lines.inputs(np.random.default_rng(seed), number, folder):
            try:
                ends[command_lines.answer(line)[0]] += 1
            except (AssertionError, command_lines.TooLong) as problem:
                finds.append(str(problem))
    return fuzz.Row("command lines", number, ends[0], ends[2], finds, time.perf_counter() - began)


def run_files_(args: argparse.Namespace) -> int:
    """Every change of the run file of every agent."""
    _table(("agent", "changes", "refused", "harmless", "too long to play"), [])
    wrong = 0
    for name in args.agents or agents.names():
        ends: Counter[str] = Counter()
        for case in run_files.cases(run_files.paused(name), np.random.default_rng(args.seed)):
            try:
                ends[run_files.outcome(case)] += 1
            except Exception as problem:
                wrong += 1
                ends["wrong"] += 1
                print(f"{name}, {case.place} {case.change}: {problem!r}", file=sys.stderr)
        _line((name, sum(ends.values()), ends["refused"], ends["harmless"], ends["taken"]))
    return wrong


def run_extremes(args: argparse.Namespace) -> int:
    """Everything that is registered in every extreme world."""
    cells: dict[str, dict[str, str]] = {}
    for thing, world, end in extremes.matrix(args.agents):
        cells.setdefault(thing, {})[world] = end
        if end.startswith("wrong"):
            print(f"{thing}, {world}: {end}", file=sys.stderr)
    every = list(extremes.worlds())
    marks = {"right": "+", "refused": "-", "wrong": "X"}
    rows = [
        (thing, *(marks[ends[world].partition(":")[0]] for world in every))
        for thing, ends in cells.items()
    ]
    _table(("thing", *every), rows)
    return sum(row.count("X") for row in rows)


def run_whole(args: argparse.Namespace) -> int:
    """Whole runs of every agent, of the default learner ten times as many."""
    number = 20 if args.short else args.number // 20
    names = args.agents or sorted(agents.names(), key=lambda name: name != DEFAULT)
    shares = {agent: number if agent == DEFAULT else number // 10 for agent in names}
    rows: dict[str, list[whole_runs.Ran]] = {agent: [] for agent in names}
    began = time.perf_counter()
    for ran in whole_runs.all_runs(shares, args.seed, args.ledger):
        rows[ran.agent].append(ran)
        if ran.why:
            print(*ran, sep=", ", file=sys.stderr, flush=True)
        if args.seconds and time.perf_counter() - began > args.seconds:
            break
    falls = {agent: [ran for ran in runs if ran.why] for agent, runs in rows.items()}
    _table(
        ("agent", "runs", "worlds", "failed", "seconds"),
        [
            (
                agent,
                f"{len(runs)} of {shares[agent]}",
                len({ran.world for ran in runs}),
                len(falls[agent]),
                f"{sum(ran.seconds for ran in runs):.0f}",
            )
            for agent, runs in rows.items()
        ],
    )
    return sum(map(len, falls.values()))


def run_soak(args: argparse.Namespace) -> int:
    """Long runs of a few agents."""
    rows, leaks = [], 0
    for spec in soak.AGENTS:
        slices = list(soak.soak(spec, 4 if args.short else 20, 20_000 if args.short else 2_000_000))
        leaks += soak.grown(slices)
        first, last = slices[0], slices[-1]
        rows.append(
            (spec, f"{last.steps:,}", f"{last.rate / first.rate:.2f}", last.memory - first.memory)
        )
    _table(("agent", "steps", "speed, last over first slice", "memory grown, KiB"), rows)
    return leaks


def _table(head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    for row in (head, tuple("---" for _ in head), *rows):
        _line(row)


def _line(row: tuple[object, ...]) -> None:
    print("| " + " | ".join(map(str, row)) + " |", flush=True)


WHAT = {
    "faults": run_faults,
    "interruptions": run_interruptions,
    "fuzz": run_fuzz,
    "soak": run_soak,
    "runs": run_whole,
    "extremes": run_extremes,
    "files": run_files_,
}


def main() -> int:
    """Run one of them."""
    parser = argparse.ArgumentParser("python -m tools.robustness", description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("agents", nargs="*", help="for runs, files and extremes; else all")
    parser.add_argument("--short", action="store_true", help="one of each kind")
    parser.add_argument(
        "--number", type=int, default=100_000, help="inputs of the fuzzer; 20 for a run"
    )
    parser.add_argument("--times", type=int, default=100, help="interruptions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--ledger",
        type=Path,
        default=Path("results/robustness/runs.csv"),
        help="where whole runs are kept, to go on from there",
    )
    parser.add_argument("--seconds", type=float, default=0, help="that whole runs may take; 0: all")
    args = parser.parse_args()
    return int(WHAT[args.what](args) > 0)


if __name__ == "__main__":
    sys.exit(main())
