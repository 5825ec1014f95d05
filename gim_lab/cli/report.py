"""Write the report page of a folder of results again, without running anything.

    gim report results

A folder of `gim reproduce` gets the ledger of claims and every artefact beside the paper's
statement; one of `gim compare` or `gim run` gets curves and a table for each world."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from gim.cli.command import needs
from gim.cli.screen import judged, width
from gim_lab.experiments.reproduction import stored, there
from gim_lab.report.study import study_findings
from gim_lab.report.text import ledger_lines
from gim_lab.report.write import FIGURES, write_report
from gim_lab.trials.store import Store


def options(parser: argparse.ArgumentParser) -> None:
    """Take a folder."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that --out has filled")


def run(args: argparse.Namespace) -> int:
    """Read, analyse, write."""
    needs("lab", "matplotlib", "plotly", "jinja2")
    folder = args.folder
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder: give one that --out has filled")
    if there(folder):
        found = stored(folder)
    else:
        results = Store(folder).results()
        if not len(results):
            raise ValueError(f"{folder} holds no trials: give a folder that --out has filled")
        found = study_findings(results, shlex.join(["gim", "report", str(folder)]), folder)
    path = write_report(found, folder)
    if found.entries:
        print(judged(ledger_lines(found.entries, width())) + "\n")
    print(f"report: {path} (figures as PNG and PDF: {folder / FIGURES})")
    return 0
