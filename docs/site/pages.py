"""Pages that are programs: run, and written as Markdown or as a notebook.

A page is a Python file in percent format: its docstring is the title and what the page is about,
``# %% [markdown]`` begins prose, ``# %%`` code. What a cell prints, and the value of its last line,
stand below it; a matplotlib figure is shown as a picture.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WIDTH = 90  # of what is printed, in letters; tables stay as they are


@dataclass
class Cell:
    """Prose or code, and what came of it."""

    kind: str  # "markdown" or "code"
    text: str
    output: str = ""
    pictures: list[Any] = field(default_factory=list)  # matplotlib figures


def read(path: Path) -> list[Cell]:
    """The cells of a page; the first is its docstring."""
    source = path.read_text("utf-8")
    doc = ast.get_docstring(ast.parse(source)) or path.stem
    title, _, about = doc.partition("\n")
    cells = [Cell("markdown", f"# {title.rstrip('.')}\n{about}")]
    parts = re.split(r"^# %%(.*)\n", source, flags=re.M)[1:]
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if "[markdown]" in mark:
            lines = (line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines())
            cells.append(Cell("markdown", "\n".join(lines)))
        elif text.strip():
            cells.append(Cell("code", text.strip()))
    return cells


def run(cells: list[Cell], name: str = "__page__") -> list[Cell]:
    """Run the code of a page, cell by cell; an error ends it, and says in which cell.

    What it writes, it writes into a folder of its own, which is gone afterwards.
    """
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        return _run(cells, name)


def _run(cells: list[Cell], name: str) -> list[Cell]:
    space: dict[str, Any] = {"__name__": name}
    for number, cell in enumerate(cells):
        if cell.kind != "code":
            continue
        printed = io.StringIO()
        tree = ast.parse(cell.text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        try:
            # Notes and warnings too: whoever runs the page will see them.
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                exec(compile(tree, f"{name}[{number}]", "exec"), space)
                value = None if last is None else _value(last, space, f"{name}[{number}]")
        except Exception as problem:
            raise RuntimeError(f"{name}, cell {number}: {problem!r}") from problem
        cell.output = printed.getvalue()
        if hasattr(value, "savefig"):
            cell.pictures.append(value)
        elif value is not None:
            cell.output += f"{value!r}\n"
    return cells


def _value(last: ast.stmt, space: dict[str, Any], where: str) -> Any:
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), where, "eval"), space)


def markdown(cells: list[Cell], name: str, pictures: Path) -> str:
    """A page for the site; its pictures are written into a folder beside it."""
    parts, number = [], 0
    for cell in cells:
        if cell.kind == "markdown":
            parts.append(cell.text)
            continue
        parts.append(f"```python\n{cell.text}\n```")
        if cell.output.strip():
            lines = cell.output.rstrip().splitlines()
            shown = "\n".join(
                textwrap.fill(line, WIDTH) if "  " not in line else line for line in lines
            )
            parts.append(f"```text\n{shown}\n```")
        for picture in cell.pictures:
            number += 1
            pictures.mkdir(parents=True, exist_ok=True)
            picture.savefig(pictures / f"{name}-{number}.png", dpi=110)
            parts.append(f"![{name}]({pictures.name}/{name}-{number}.png)")
    files = f"{{download}}`{name}.py`, {{download}}`{name}.ipynb`"
    parts.append(f"This page is a program: {files}.")
    return "\n\n".join(parts) + "\n"


def notebook(cells: list[Cell]) -> str:
    """The same as a Jupyter notebook, without what came of it."""
    made = []
    for i, cell in enumerate(cells):
        lines = textwrap.dedent(cell.text).splitlines(keepends=True)
        entry: dict[str, Any] = {"cell_type": cell.kind, "id": f"cell-{i}", "metadata": {}}
        entry["source"] = lines
        if cell.kind == "code":
            entry |= {"execution_count": None, "outputs": []}
        made.append(entry)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"
