"""Write a report into a folder: the page, the figures as files, and the ledger as text."""

from __future__ import annotations

import json
from pathlib import Path

from gim._base.files import replacing_all
from gim_lab.experiments.reproduction import Findings
from gim_lab.report.page import page
from gim_lab.report.static import save_figures
from gim_lab.report.text import ledger_markdown

PAGE, FIGURES, LEDGER = "report.html", "figures", "ledger"


def write_report(findings: Findings, folder: Path) -> Path:
    """Write all of it, or leave what is there; the path of the page."""
    with replacing_all(folder) as made:
        save_figures(findings.artefacts, made / FIGURES)
        if findings.entries:
            (made / f"{LEDGER}.md").write_bytes(ledger_markdown(findings.entries).encode())
            entries = [entry.as_dict() for entry in findings.entries]
            (made / f"{LEDGER}.json").write_bytes((json.dumps(entries, indent=1) + "\n").encode())
        (made / PAGE).write_bytes(page(findings).encode())
    return folder / PAGE
