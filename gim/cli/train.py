"""Let an agent learn in a world, and show what came of it.

    gim train riverswim
    gim train riverswim:length=10 --agent q_learning:alpha=0.2
    gim train FrozenLake-v1:map_name=8x8 --episodes 20000 --save lake.npz

Ctrl-C pauses: with --save the run goes on later, with the same bits, by --resume."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gim import files
from gim.agent import agents
from gim.cli.command import INTERRUPTED, whole
from gim.cli.summary import summary, summary_of_many
from gim.loading import load
from gim.mdp import TabularMDP
from gim.run import prepare
from gim.runs import Interrupted, Report, Run
from gim.terminal import Progress, count
from gim.worlds import world_of

DEFAULTS = {"episodes": 5000, "seed": 0}


def options(parser: argparse.ArgumentParser) -> None:
    """Take a world, an agent, and how long and how often."""
    add = parser.add_argument
    add("world", nargs="?", metavar="WORLD", help="riverswim:length=10, my.npz or a Gymnasium id")
    add("--agent", metavar="AGENT", help="q_learning:alpha=0.2 (default: analogist)")
    add("--episodes", type=whole, metavar="N", help="how many to play (default: 5000)")
    add("--seed", type=whole, metavar="N", help="fixes every bit of the run (default: 0)")
    add("--seeds", type=whole, metavar="N", help="N runs, from --seed onwards")
    add("--horizon", type=whole, metavar="H", help="steps of an episode, if not the world's own")
    add("--save", type=Path, metavar="FILE", help="keep the run, finished or paused")
    add("--resume", type=Path, metavar="FILE", help="go on with a paused run, and keep it there")


def run(args: argparse.Namespace) -> int:
    """Check all that can be checked, then play."""
    given = [
        name
        for name in ("world", "agent", *DEFAULTS, "seeds", "horizon")
        if getattr(args, name) is not None
    ]
    if args.resume is not None:
        if given:
            flag = "WORLD" if given[0] == "world" else f"--{given[0]}"
            raise ValueError(f"--resume goes on with the run as it was: leave {flag} out")
        files.check_target(args.save or args.resume)
        return _one(load(args.resume, "run"), args.save or args.resume)
    if args.world is None:
        raise ValueError("a world is missing, such as in: gim train riverswim")
    for name, value in DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.save is not None:
        if args.seeds is not None:
            raise ValueError("--save keeps one run: leave --seeds out")
        files.check_target(args.save)
    world = world_of(args.world, args.horizon, imports=True)
    agent = agents.make(_default(world) if args.agent is None else args.agent)
    if args.seeds is None:
        return _one(prepare(agent, world, args.episodes, args.seed, args.horizon), args.save)
    if args.seeds < 1:
        raise ValueError(f"--seeds {args.seeds}: give 1 or more")
    seeds = range(args.seed, args.seed + args.seeds)
    return _many([partial(prepare, agent, world, args.episodes, s, args.horizon) for s in seeds])


def _default(world: Any) -> str:
    """The learner to start with; it must know how large rewards can be."""
    return "analogist" if isinstance(world, TabularMDP) else "q_learning"


def _one(run: Run, path: Path | None) -> int:
    status = 0
    try:
        with Progress(run.episodes, "training") as bar:
            _go(run, bar)
    except Interrupted:
        status = INTERRUPTED
    try:
        if path is not None:
            run.save(path)
    finally:  # a full disk must not cost the result, nor a closed pipe the file
        print(summary(run))
    for note in dict.fromkeys(run.notes):
        print(f"gim: note: {note}", file=sys.stderr)
    if status:
        print(
            f"gim: paused after {run.returns.size:,} episodes; {_how_to_go_on(path)}",
            file=sys.stderr,
        )
    elif path is not None:
        print(f"\nsaved to {path}")
    return status


def _many(makers: list[Callable[[], Run]]) -> int:
    runs: list[Run] = []
    status = 0
    with Progress(0, "training") as bar:
        for i, make in enumerate(makers):
            run = make()
            bar.total = len(makers) * run.episodes
            try:
                runs.append(_go(run, bar, i * run.episodes))
            except Interrupted:
                status = INTERRUPTED
                break
    if runs:
        print(summary_of_many(runs))
    for note in dict.fromkeys(note for run in runs for note in run.notes):
        print(f"gim: note: {note}", file=sys.stderr)
    if status:
        print(f"gim: interrupted after {len(runs)} of {len(makers)} runs", file=sys.stderr)
    return status


def _go(run: Run, bar: Progress, before: int = 0) -> Run:
    def show(report: Report) -> None:
        bar.update(before + report.episode, f"return {count(report.mean)}")

    bar.update(before + run.returns.size, "compiling")
    return run.go(show)


def _how_to_go_on(path: Path | None) -> str:
    if path is None:
        return "nothing is kept; with --save FILE it could go on later"
    return f"to go on: gim train --resume {shlex.quote(str(path))}"
