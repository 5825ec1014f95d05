"""Play what is missing, in processes beside each other, and print the page."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

from benchmarks.common import machine
from benchmarks.panel import store
from benchmarks.panel.figures import Runs, check_worlds, earned, is_lost
from benchmarks.panel.pages import page
from benchmarks.panel.play import Played, play
from benchmarks.panel.tree import ready
from benchmarks.panel.worlds import ALL, SETS


def show(given: Namespace, seeds: Iterable[int]) -> int:
    """Play what was asked for and print the page; 1 if a world is lost."""
    worlds = given.worlds or list(SETS[given.set])
    if unknown := [world for world in worlds if world not in ALL]:
        raise SystemExit(f"no world {unknown[0]!r}: choose from {', '.join(sorted(ALL))}")
    folder = store.home(given.tree, given.agent)
    now = played(folder, worlds, [*seeds], given)
    file = given.against or store.TODAY
    before = store.stored(file) if file.exists() else {}
    print(f"{machine()}\n{given.agent} of {given.tree.resolve()}; against {file}\n")
    try:
        check_worlds(now, before)
    except ValueError as problem:
        raise SystemExit(str(problem)) from None
    print(page(now, before))
    if given.store:
        about = {"agent": given.agent, "commit": commit_of(given.tree), "machine": machine()}
        store.store(given.store, now, about)
        print(f"\n{len(now)} runs are in {given.store}")
    return int(any(is_lost(world, now, before) for world in worlds))


def commit_of(tree: Path) -> str:
    """The commit of a tree, and whether files were changed since; nothing where it has none."""
    asked = ["git", "-C", str(tree), "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def played(folder: Path, worlds: list[str], seeds: list[int], given: Namespace) -> Runs:
    """All runs, those that are missing played now; each is kept as soon as it is over."""
    found = store.kept(folder, worlds, seeds)
    places = [(world, seed) for seed in seeds for world in worlds]
    left = [place for place in places if place not in found]
    if left:
        context, began = get_context("spawn"), monotonic()  # a fork would have half of a pool
        with ProcessPoolExecutor(
            min(given.jobs, len(left)), context, ready, (given.tree, given.agent)
        ) as pool:
            asked = {
                pool.submit(play, world, given.agent, seed): (world, seed) for world, seed in left
            }
            try:
                for done in as_completed(asked):
                    run = found[asked[done]] = result(done, asked[done])
                    store.keep(folder, run)
                    tell(run, len(found), len(places), monotonic() - began)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    return {place: found[place] for place in places}


def result(done: Future[Played], place: tuple[str, int]) -> Played:
    """A run, or its error with where it was."""
    try:
        return done.result()
    except Exception as problem:
        problem.add_note(f"in world {place[0]!r}, seed {place[1]}")
        raise


def tell(run: Played, done: int, of: int, seconds: float) -> None:
    """One line of progress."""
    said = f"[{done}/{of}, {seconds:.0f} s] {run.world} {run.seed}: {earned(run):.3f}"
    print(f"{said}, {run.seconds:.1f} s", file=sys.stderr, flush=True)
