"""Write a report into a folder: the page, the figures as files, and the ledger as text."""

from __future__ import annotations

import json
from pathlib import Path

from gim.experiments.report.page import page
from gim.experiments.report.static import save_figures
from gim.experiments.report.text import ledger_markdown
from gim.experiments.reproduction import Findings
from gim.files import replacing

PAGE, FIGURES, LEDGER = "report.html", "figures", "ledger"


def write_report(findings: Findings, folder: Path) -> Path:
    """Write all of it; the path of the page."""
    save_figures(findings.artefacts, folder / FIGURES)
    if findings.entries:
        _write(folder / f"{LEDGER}.md", ledger_markdown(findings.entries))
        entries = [entry.as_dict() for entry in findings.entries]
        _write(folder / f"{LEDGER}.json", json.dumps(entries, indent=1) + "\n")
    _write(folder / PAGE, page(findings))
    return folder / PAGE


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())
