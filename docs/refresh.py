"""Write what the docs quote of results anew, from a folder that has them.

    gim reproduce all --scale paper --out results/paper
    gim reproduce analogy --scale paper --out results/analogy
    python docs/refresh.py results/paper
    python docs/refresh.py results/analogy

The first kind of folder rewrites the tables and the ledger of docs/reproduction.md and the short
ledger of the README, the second the results of docs/study.md; a folder may hold both.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gim.experiments.artefact import Artefact, Table
from gim.experiments.catalogue import groups
from gim.experiments.report.text import ledger_markdown, short_title
from gim.experiments.reproduction import Findings, stored

ROOT = Path(__file__).resolve().parent.parent
FIRST = "## Figure 1, in numbers"


def main() -> None:
    """Refresh what the folder has results for."""
    found = stored(Path(sys.argv[1]))
    keys = {artefact.key for artefact in found.artefacts}
    if "fig1" in keys:
        refresh_reproduction(found)
    if keys & {*groups()["analogy"]}:
        between(ROOT / "docs" / "study.md", "results", study(found))
    if not keys & {"fig1", *groups()["analogy"]}:
        sys.exit(f"{sys.argv[1]} has neither Figure 1 nor the study of analogy: nothing to refresh")


def refresh_reproduction(found: Findings) -> None:
    """Figure 1's tables and the ledger, in docs/reproduction.md and the README."""
    figure1 = next(artefact for artefact in found.artefacts if artefact.key == "fig1")
    lines = [FIRST, "", "Mean return over the optimum, 20 runs, ± half of the 95 % interval.", ""]
    for part in figure1.tables:
        lines += [f"{part.title.split(': ')[1].capitalize()}:", "", *markdown(part), ""]
    lines += ["## The ledger", ""]
    lines += [f"Made by `gim reproduce all --scale paper` ({made_with(found)}).", ""]
    page = ROOT / "docs" / "reproduction.md"
    text = page.read_text().split(FIRST)[0]
    page.write_text(text + "\n".join(lines) + "\n" + ledger_markdown(found.entries).strip() + "\n")
    between(ROOT / "README.md", "ledger", ledger_markdown(found.entries, in_full=False).strip())


def study(found: Findings) -> str:
    """The tables of the study of analogy, part by part, those of one title and form as one."""
    ours = [artefact for artefact in found.artefacts if artefact.key in groups()["analogy"]]
    lines = [f"Made at `--scale {found.scale}` ({made_with(found)})."]
    for table, sources in merged(ours):
        lines += ["", f"### {table.title}", "", *markdown(table)]
        lines += ["", f"{table.note} From: {', '.join(sources)}.".strip()]
    return "\n".join(lines)


def merged(artefacts: list[Artefact]) -> list[tuple[Table, list[str]]]:
    """Tables of equal title and note from several artefacts, with what they come from."""
    found: dict[tuple[str, str], list[tuple[Table, str]]] = {}
    for artefact in artefacts:
        for table in artefact.tables:
            key = table.title, table.note
            found.setdefault(key, []).append((table, short_title(artefact)))
    made = []
    for (title, note), parts in found.items():
        columns = list(dict.fromkeys(name for table, _ in parts for name in table.columns))
        columns.sort(key=number)  # horizons, which differ by part; other columns keep their order
        rows = [
            [dict(zip(table.columns, row, strict=True)).get(name, "-") for name in columns]
            for table, _ in parts
            for row in table.rows
        ]
        made.append((Table(title, columns, rows, note), [source for _, source in parts]))
    return made


def number(column: str) -> int:
    """What a heading such as 10,000 counts; other headings come first, as they are."""
    plain = column.replace(",", "")
    return int(plain) if plain.isdigit() else -1


def markdown(table: Table) -> list[str]:
    """A table's lines."""
    return [row(table.columns), row(["---"] * len(table.columns)), *map(row, table.rows)]


def row(cells: object) -> str:
    """One row of a Markdown table."""
    text = (str(cell).replace("|", "\\|") for cell in cells)  # type: ignore[attr-defined]
    return "| " + " | ".join(text) + " |"


def between(path: Path, mark: str, text: str) -> None:
    """Put text between <!-- mark --> and <!-- /mark --> of a file."""
    pattern = re.compile(f"<!-- {mark} -->.*<!-- /{mark} -->", re.S)
    marked = f"<!-- {mark} -->\n{text}\n<!-- /{mark} -->"
    path.write_text(pattern.sub(lambda _: marked, path.read_text()))


def made_with(found: Findings) -> str:
    """The versions of what may change a bit."""
    return ", ".join(f"{name} {version}" for name, version in found.versions.items())


if __name__ == "__main__":
    main()
