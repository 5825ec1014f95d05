"""Write what the docs quote of results anew, from a folder that has them.

    gim reproduce all --scale paper --out results/paper
    gim reproduce analogy --scale paper --out results/analogy
    gim reproduce scoreboard --scale paper --out results/scoreboard
    python docs/refresh.py results/paper
    python docs/refresh.py results/analogy
    python docs/refresh.py results/scoreboard

The first kind of folder rewrites the tables and the ledger of docs/reproduction.md, the costs of
docs/theory.md; the second the results of docs/study.md; the third docs/scoreboard.md. A folder may
hold all of them. With a number after the folder the first so many runs alone are taken, and the
pages say so: for a folder in which no more have ended yet. With the word `ended`, all that have.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from gim.paper.theory import computation, computation_repaired
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.catalogue import groups
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.paper.settings import GREEDY
from gim_lab.experiments.reproduction import Findings, Manifest, scale_of, stored
from gim_lab.experiments.settings import FAIR
from gim_lab.report.text import ledger_markdown, short_title
from gim_lab.trials.results import Results
from gim_lab.trials.store import Store

ROOT = Path(__file__).resolve().parent.parent
FIRST = "## Figure 1, in numbers"


def main() -> None:
    """Refresh what the folder has results for."""
    folder, some = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    runs = int(some) if some.isdigit() else None
    found = stored(folder, runs, partial=some == "ended")
    keys = {artefact.key for artefact in found.artefacts}
    if "fig1" in keys:
        refresh_reproduction(found, runs)
    if "table3" in keys:
        between(ROOT / "docs" / "theory.md", "theorem1", theorem_1(folder, runs))
    if keys & {*groups()["analogy"]}:
        between(ROOT / "docs" / "study.md", "results", study(found))
    if "scoreboard" in keys:
        between(ROOT / "docs" / "scoreboard.md", "results", scoreboard(found))
    if not keys & {"fig1", "table3", "scoreboard", *groups()["analogy"]}:
        sys.exit(f"{folder} has nothing that the docs quote: nothing to refresh")


def refresh_reproduction(found: Findings, runs: int | None) -> None:
    """Figure 1's tables and the ledger, in docs/reproduction.md."""
    figure1 = next(artefact for artefact in found.artefacts if artefact.key == "fig1")
    many = found.made["fig1"].runs
    lines = [FIRST, ""]
    lines += [f"Mean return over the optimum, {many} runs, ± half of the 95 % interval.", ""]
    for part in figure1.tables:
        lines += [f"{part.title.split(': ')[1].capitalize()}:", "", *markdown(part), ""]
    lines += ["## The ledger", ""]
    lines += [f"Made by `gim reproduce all --scale paper` ({made_with(found)}).{_few(runs)}", ""]
    page = ROOT / "docs" / "reproduction.md"
    text = page.read_text().split(FIRST)[0]
    page.write_text(text + "\n".join(lines) + "\n" + ledger_markdown(found.entries).strip() + "\n")


def theorem_1(folder: Path, runs: int | None) -> str:
    """The terms of Theorem 1 beside the costs that were measured, size by size."""
    manifest = Manifest.load(folder)
    scale = scale_of(manifest, runs)
    cells = [c for c in cells_of("table3", scale) if (c.setting, c.agent) == (FAIR, GREEDY)]
    kept, _ = Store(folder).find([trial for cell in cells for trial in cell.trials])
    results = ResultsByCell(Results.of(each for each in kept if each is not None), scale)
    heads = ["", "printed: plan, complete", "repaired: plan, complete"]
    lines = [row([*heads, "measured: plan, complete", "a step"]), row(["---"] * 5)]
    for cell in cells:
        S, A, H = (int(results.values(cell, name)[0]) for name in "SAH")
        steps = int(results.values(cell, "steps")[0])
        printed, repaired = (
            f"{terms.planning:,.0f}, {terms.completing:,.0f}"
            for terms in (f(S, A, steps, H) for f in (computation, computation_repaired))
        )
        seconds = {
            name: results.values(cell, f"seconds_{name}").mean()
            for name in ("planning", "completing", "interacting")
        }
        took = f"{1e3 * seconds['planning']:.2f} ms, {1e3 * seconds['completing']:.1f} ms"
        step = f"{1e9 * seconds['interacting'] / steps:.0f} ns"
        lines.append(row([cell.panel, printed, repaired, took, step]))
    return "\n".join(lines)


def scoreboard(found: Findings) -> str:
    """Both tables of the scoreboard; their notes say how many runs they are of."""
    board = next(artefact for artefact in found.artefacts if artefact.key == "scoreboard")
    command = f"gim reproduce scoreboard --scale {found.scale}"
    lines = [f"Made by `{command}` ({made_with(found)})."]
    for table in board.tables:
        lines += ["", f"## {table.title}", "", table.note, "", *markdown(table)]
    return "\n".join(lines)


def _few(runs: int | None) -> str:
    if runs is None:
        return ""
    return f" **Of its runs the first {runs} alone are here**: the others have not ended yet."


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
    """The commit and its date, and the versions of what may change a bit."""
    words = ["git", "log", "-1", "--abbrev=7", "--format=%h, %cs"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return f"{commit.strip()}; {versions}"


if __name__ == "__main__":
    main()
