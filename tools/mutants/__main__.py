"""Mutation testing of the core: `make mutants`, or `python -m tools.mutants --only planning`.

Small faults are drawn by a seed; each is put into a copy of the tree, where the tests that reach it
run, without compilation as far as they are quick so. Outcomes are kept as they come: a run that is
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import sys
import tomllib
from bisect import bisect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue

from tools.mutants.operators import Mutant, mutants_of
from tools.mutants.reach import Reach, Test
from tools.mutants.scratch import SURVIVED, UNFIT, Outcome, Scratch
from tools.mutants.table import EQUIVALENT, Fate, score, table

ROOT = Path(__file__).parent.parent.parent
ROOMS = [  # the core
    *("planning", "mdp", "model", "analogy", "belief", "paper", "agents"),
    "runs/loop",
]
REASONS = Path(__file__).parent / "reasons.toml"
EXTRA, FACTOR = 30.0, 5.0  # seconds, and times the unmutated time, that a mutant may take
COMPILING = 300.0  # seconds more, where what has changed must be compiled


def main(words: Sequence[str] | None = None) -> int:
    """Draw, run, and write the table."""
    args = _options().parse_args(words)
    rooms = {module: room for room in args.only or ROOMS for module in _modules(room)}
    mutants = [m for module in rooms for m in mutants_of(module, (ROOT / module).read_bytes())]
    if args.show:
        return _show([mutant for mutant in mutants if mutant.id.startswith(args.show)])
    sample = sorted(mutants, key=lambda m: hashlib.sha256(f"{args.seed} {m.id}".encode()).digest())
    sample = sample[: args.sample]
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "outcomes.jsonl"
    reasons = tomllib.loads(REASONS.read_text())
    known = _outcomes(kept, again=args.again)
    todo = [m for m in sample if m.id not in known and m.id not in reasons["equivalent"]]
    print(f"{len(mutants)} mutants, {len(sample)} drawn, {len(todo)} to run", flush=True)
    if todo:
        with kept.open("a") as file:
            print(file=file)  # should the last line have been cut
            for mutant, outcome in run(todo, args):
                known[mutant.id] = outcome
                print(json.dumps({"id": mutant.id, **outcome._asdict()}), file=file, flush=True)
                print(f"{outcome.status}  {mutant}  [{outcome.test}]", flush=True)
    fates = [_fate(mutant, known, reasons) for mutant in sample]
    title = f"{len(sample)} of {len(mutants)} mutants, seed {args.seed}"
    (args.out / "table.md").write_text(table(fates, title, rooms))
    print(f"score {score(fates):.3f}; {args.out / 'table.md'}")
    return 0


def run(todo: Sequence[Mutant], args: argparse.Namespace) -> Iterator[tuple[Mutant, Outcome]]:
    """Run mutants, each in a copy that no other uses at the time; they come as they are done."""
    copies = [Scratch(ROOT) for _ in range(args.jobs)]
    free: SimpleQueue[Scratch] = SimpleQueue()
    for scratch in copies:
        free.put(scratch)
    reach = Reach(ROOT, args.out / "reach", args.slow)
    stale = reach.stale(args.tests or sorted((ROOT / "tests").glob("test_*.py")))

    def trace(file: Path) -> None:
        print(f"tracing {file.name}", flush=True)
        with _lent(free) as scratch:
            reach.trace(file, scratch)

    def one(mutant: Mutant) -> Outcome:
        with _lent(free) as scratch:
            return judge(mutant, reach, scratch, args.budget)

    pool = ThreadPoolExecutor(args.jobs)
    try:
        list(pool.map(trace, stale))
        for compiled in (False, True):
            tests = [test for test in reach.tests if test.compiled == compiled]
            for scratch in copies if tests else ():
                scratch.warm_up(sorted({test.name.split("::")[0] for test in tests}), compiled)
        running = {pool.submit(one, mutant): mutant for mutant in todo}
        for done in as_completed(running):
            yield running[done], done.result()
    finally:  # also after Ctrl-C
        pool.shutdown(wait=False, cancel_futures=True)
        for scratch in copies:
            scratch.close()


@contextmanager
def _lent(free: SimpleQueue[Scratch]) -> Iterator[Scratch]:
    scratch = free.get()
    try:
        yield scratch
    finally:
        free.put(scratch)


def judge(mutant: Mutant, reach: Reach, scratch: Scratch, budget: float) -> Outcome:
    """Run the tests that reach a mutant: plain ones, then compiled, each as far as budgets go."""
    tests = reach.of(mutant)
    if not tests:
        return Outcome(SURVIVED, "no test reaches it")
    passed = 0
    for compiled in (False, True):
        of_mode = [test for test in tests if test.compiled == compiled]
        chosen = _affordable(of_mode, budget)
        if chosen:
            outcome = _judge(mutant, chosen, reach, scratch)
            if outcome.status != SURVIVED:
                return outcome
        passed += len(chosen)
    return Outcome(SURVIVED, f"{passed} of {len(tests)} tests pass")


def _affordable(tests: Sequence[Test], budget: float) -> Sequence[Test]:
    spent = list(accumulate(test.seconds for test in tests))
    return tests[: max(1, bisect(spent, budget))]


def _judge(mutant: Mutant, tests: Sequence[Test], reach: Reach, scratch: Scratch) -> Outcome:
    """Run tests of one mode."""
    names = [test.name for test in tests]
    limit = EXTRA + FACTOR * sum(test.seconds for test in tests)
    compiled = tests[0].compiled
    place = f"{mutant.module} {mutant.function}"
    if mutant.function and place not in reach.early and not (compiled and reach.compiles(mutant)):
        outcome = scratch.warm(mutant, names, limit, compiled)
        if outcome.status != UNFIT:
            return outcome
    with scratch.mutated(mutant):
        return scratch.pytest(names, limit + compiled * COMPILING, compiled=compiled)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tools.mutants", description=__doc__)
    add = parser.add_argument
    add("--sample", type=int, default=200, metavar="N", help="how many mutants (200)")
    add("--seed", type=int, default=0, metavar="N", help="draws them (0)")
    add("--only", action="append", metavar="ROOM", help=f"one of {', '.join(ROOMS)}, or a file")
    add("--tests", action="append", type=_file, metavar="FILE", help="use these tests only")
    add("--budget", type=float, default=300, metavar="SECONDS", help="of tests a mutant (300)")
    add("--slow", type=float, default=5, metavar="SECONDS", help="compile slower tests (5)")
    add("--jobs", type=int, default=1, metavar="N", help="mutants at a time (1)")
    add("--again", action="store_true", help="run those again that have survived")
    add("--show", metavar="ID", help="print a mutant as a diff, and run nothing")
    add("--out", type=Path, default=ROOT / "results" / "mutants", metavar="FOLDER")
    return parser


def _file(word: str) -> Path:
    return Path(word).resolve(strict=True)


def _modules(room: str) -> list[str]:
    """The files of a room, or a file named itself."""
    paths = [ROOT / room] if room.endswith(".py") else sorted((ROOT / "gim" / room).rglob("*.py"))
    paths = paths or [ROOT / "gim" / f"{room}.py"]
    if not paths[0].is_file():
        raise SystemExit(f"no room or file {room!r}: choose from {', '.join(ROOMS)}")
    return [path.relative_to(ROOT).as_posix() for path in paths]


def _outcomes(kept: Path, again: bool) -> dict[str, Outcome]:
    """What is known of mutants by id; the last word counts."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    records = [json.loads(line) for line in lines if line.endswith("}")]  # the last may be cut
    known = {each["id"]: Outcome(each["status"], each["test"]) for each in records}
    return {k: v for k, v in known.items() if not again or v.status != SURVIVED}


def _fate(mutant: Mutant, known: dict[str, Outcome], reasons: dict[str, dict[str, str]]) -> Fate:
    if mutant.id in reasons["equivalent"]:
        return Fate(mutant, EQUIVALENT, reasons["equivalent"][mutant.id])
    outcome = known[mutant.id]
    accepted = reasons["survivor"].get(mutant.id) if outcome.status == SURVIVED else None
    return Fate(mutant, outcome.status, accepted or outcome.test)


def _show(mutants: Sequence[Mutant]) -> int:
    for mutant in mutants:
        source = (ROOT / mutant.module).read_bytes()
        before, after = (text.decode().splitlines() for text in (source, mutant.applied(source)))
        lines = difflib.unified_diff(before, after, mutant.module, mutant.id, lineterm="")
        print("\n".join(lines))
    return 0 if mutants else 2


if __name__ == "__main__":
    sys.exit(main())
