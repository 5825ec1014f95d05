"""Write what the docs quote of a reproduction anew, from its results.

    gim reproduce all --scale paper --out results/paper
    python docs/refresh.py results/paper

Rewrites the tables and the ledger of docs/reproduction.md, and the short ledger of the README.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gim.experiments.report.text import ledger_markdown
from gim.experiments.reproduction import stored

ROOT = Path(__file__).resolve().parent.parent
FIRST = "## Figure 1, in numbers"


def main() -> None:
    """Refresh both files."""
    found = stored(Path(sys.argv[1]))
    figure1 = next(artefact for artefact in found.artefacts if artefact.key == "fig1")
    lines = [FIRST, "", "Mean return over the optimum, 20 runs, ± half of the 95 % interval.", ""]
    for part in figure1.tables:
        lines += [f"{part.title.split(': ')[1].capitalize()}:", "", row(part.columns)]
        lines += [row(["---"] * len(part.columns)), *map(row, part.rows), ""]
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    lines += ["## The ledger", ""]
    lines += [f"Made by `gim reproduce all --scale paper` ({versions}).", ""]
    page = ROOT / "docs" / "reproduction.md"
    text = page.read_text().split(FIRST)[0]
    page.write_text(text + "\n".join(lines) + "\n" + ledger_markdown(found.entries).strip() + "\n")
    readme = ROOT / "README.md"
    short = ledger_markdown(found.entries, in_full=False).strip()
    marked = f"<!-- ledger -->\n{short}\n<!-- /ledger -->"
    pattern = re.compile("<!-- ledger -->.*<!-- /ledger -->", re.S)
    readme.write_text(pattern.sub(lambda _: marked, readme.read_text()))


def row(cells: object) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |"  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
