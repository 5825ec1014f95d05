"""Run a declared study: tasks x agents x parameter grids x seeds.

    gim run study.toml --out results

The file is TOML, with lists of tasks and agents; a list of values for a parameter is a grid:

    episodes = 2000
    runs = 10
    tasks = ["riverswim", {name = "synthetic", rank = [2, 4]}]
    agents = ["psrl", {name = "gim", m = [10, 20, 40]}]

Each finished run is kept in the folder: the same command goes on where it was stopped, and a
changed file runs only what is new."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from gim_lab.cli.trials import engine_options, engine_words, keep_table, keeping, play, show
from gim_lab.report.study import keep_study
from gim_lab.trials.study import Study


def options(parser: argparse.ArgumentParser) -> None:
    """Take a study file, and where its results go."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY.toml", help="the study, as above")
    add("--out", type=Path, metavar="DIR", help="where runs are kept (default: the study's name)")
    engine_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check the file, play what is not there yet, and show a table per task."""
    study = Study.load(args.study)
    if args.out is None:
        args.out = Path(args.study.stem or "results")
    words = ["run", str(args.study), *engine_words(args)]
    with keeping(args, words):
        results = play(study.trials(), args, "running", words)
        if isinstance(results, int):
            return results
        for text in (study.title, study.description):
            if text:
                print(f"{text}\n")
        show([each.task for each in study.tasks], study.agents, results)
        keep_table(results, args.out)
        keep_study(args.study, args.out)
    print(f"a page of it: {shlex.join(['gim', 'report', str(args.out)])}")
    return 0
