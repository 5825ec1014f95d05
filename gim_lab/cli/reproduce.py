"""Make the paper's tables and figures again, judge its claims, and write a report page.

    gim reproduce demo --scale paper
    gim reproduce fig1 --scale quick --out results
    gim reproduce all --scale paper --out results
    gim reproduce analogy --scale quick
    gim reproduce variables --scale quick
    gim reproduce logs --scale quick

`demo` shows what all this is for. Artefacts are fig1 to fig14 and table1 to table3,
`paper` for all of these, and `all` with the studies of claims that no figure shows (samples,
readings, rho_beta, walks, ...). `analogy` is the study of what goes beyond the paper, `variables`
that of worlds made of variables; their parts have names of their own. `logs` is the study of
policies learned from logs, `many` that of many tasks of one family, `scoreboard` plays every
learner in eight worlds (paper: 90 minutes). Scales are smoke (seconds), quick (a minute; a few for
a study), paper (an hour for a study) and full (the study's 100,000 episodes; else the same as
paper). Finished trials are kept: the same command goes on where it stopped."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

from gim._base.registry import did_you_mean
from gim._base.terminal import duration
from gim.cli.command import needs
from gim.cli.screen import judged, table, width
from gim_lab.cli.trials import (
    check_folder,
    engine_arguments,
    engine_options,
    engine_words,
    keeping,
    play,
)
from gim_lab.experiments.catalogue import catalogue, chosen, groups
from gim_lab.experiments.reproduction import Findings, Manifest, findings, stored, trials_of
from gim_lab.experiments.scale import SCALES
from gim_lab.report.text import REHEARSAL, ledger_lines, short_title
from gim_lab.report.write import FIGURES, write_report

FEW = 5  # artefacts whose tables are shown in the terminal


def options(parser: argparse.ArgumentParser) -> None:
    """Take artefacts, a scale, and where the results go."""
    add = parser.add_argument
    what = (
        "fig1, table3, ..., logs, many, scoreboard; several: paper, all, demo, analogy, variables"
    )
    add("artefacts", nargs="*", metavar="ARTEFACT", help=what)
    add("--scale", default="quick", metavar="SCALE", help=f"{', '.join(SCALES)} (default: quick)")
    add("--out", type=Path, metavar="DIR", help="where all goes (default: reproduction-SCALE)")
    engine_options(parser)


def names() -> list[str]:
    """What may follow it, for the completion of shells."""
    return [*groups(), *catalogue()]


def run(args: argparse.Namespace) -> int:
    """Run what is missing, analyse all, write the report, and show the verdicts."""
    if not args.artefacts:
        rows = [[each.key, each.title] for each in catalogue().values()]
        print(table(rows, ["artefact", ""], align="<<"))
        many = ", ".join(groups())
        raise ValueError(f"name one or more, or many at once ({many}): gim reproduce fig1")
    began = time.perf_counter()
    if args.scale not in SCALES:
        raise ValueError(f"unknown scale {args.scale!r}{did_you_mean(args.scale, SCALES)}")
    wanted, scale = chosen(args.artefacts), SCALES[args.scale]
    engine_arguments(args)
    needs("lab", "matplotlib", "plotly", "jinja2")
    args.out = args.out or Path(f"reproduction-{scale.name}")
    check_folder(args.out)
    words = ["reproduce", *args.artefacts, "--scale", args.scale, *engine_words(args)]
    args.out.mkdir(parents=True, exist_ok=True)
    keys, command = [each.key for each in wanted], shlex.join(["gim", *words])
    Manifest(keys, scale.name, command, 0.0).save(args.out)  # for those who look in before the end
    with keeping(args, words):
        results = play(trials_of(wanted, scale), args, "reproducing", words)
        if isinstance(results, int):
            return results
        manifest = Manifest(keys, scale.name, command, time.perf_counter() - began).save(args.out)
        # What the folder had before is reported with it, as far as it has ended.
        whole = manifest.keys == keys
        found = findings(manifest, results) if whole else stored(args.out, partial=True)
        path = write_report(found, args.out)
        show(found, path, time.perf_counter() - began)
    return 0


def show(found: Findings, path: Path, seconds: float) -> None:
    """The tables, if they are few, the verdicts, and where the rest is."""
    for artefact in found.artefacts if len(found.artefacts) <= FEW else ():
        for each in artefact.tables:
            print(f"{short_title(artefact)}. {each.title}\n")
            print(table(each.rows, each.columns) + "\n")
    if found.entries:
        print(judged(ledger_lines(found.entries, width())) + "\n")
        if not SCALES[found.scale].whole:
            print(f"{REHEARSAL}\n")
    print(f"report: {path} (figures as PNG and PDF: {path.parent / FIGURES})")
    print(f"time: {duration(seconds)}")
