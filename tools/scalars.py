"""Every number of belief, analogy and the default learner that somebody chose, and where it stands.

    python -m tools.scalars             # how many by file
    python -m tools.scalars --all       # each of them, with what is said of it

A number is *tunable* if another value would change what is believed or done: constants of modules,
defaults of parameters, and literals inside of formulas. Left out are 0, 1, 2 and their halves and
opposites, which formulas consist of; numbers no larger than a millionth, which guard against
rounding; powers of two from 2^14 on and what is written as a shift, which say how much is done at
once; and whole numbers that index, count axes or fill shapes.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLACES = (
    "gim/belief",
    "gim/analogy",
    "gim/agents/analogist.py",
    "gim/agents/doubting.py",
    "gim/agents/unknowns.py",
    "gim/logs/case.py",
    "gim/model/deploy.py",
    "gim/model/halves.py",
)
FORMULA = {0.0, 0.5, 1.0, 2.0, 4.0}
ROUNDING, LARGE = 1e-6, 1 << 14


class Scalar(NamedTuple):
    """A number that was chosen."""

    file: str
    line: int
    name: str  # of the constant or the parameter; "" for a literal
    value: float
    said: str  # the comment behind it


def scalars(path: Path) -> Iterator[Scalar]:
    """Those of a file."""
    text = path.read_text()
    lines, where = text.splitlines(), str(path.relative_to(ROOT))
    named: set[int] = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name, value in _named(node):
            for number in _numbers(value):
                named.add(id(number))
                yield _scalar(where, lines, name, number)
    skipped = {id(each) for node in ast.walk(tree) for each in _structural(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in named | skipped and _chosen(node):
            yield _scalar(where, lines, "", node)


def _scalar(where: str, lines: list[str], name: str, number: ast.Constant) -> Scalar:
    line = lines[number.lineno - 1]
    said = line.split("#", 1)[1].strip() if "#" in line else ""
    assert isinstance(number.value, (int, float))
    return Scalar(where, number.lineno, name, float(number.value), said)


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and values of constants and of defaults."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id.isupper():
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for each, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(each, ast.Name) and each.id.isupper():
                    yield each.id, value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        if isinstance(node.target, ast.Name):
            yield node.target.id, node.value
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        yield from ((arg.arg, value) for arg, value in zip(given, node.args.defaults, strict=True))


def _numbers(value: ast.expr) -> Iterator[ast.Constant]:
    """The numbers of a value; of a grid that is listed, or spaced, the first stands for all."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.LShift, ast.Pow)):
        return
    found = [n for n in ast.walk(value) if isinstance(n, ast.Constant) and _chosen(n)]
    grid = isinstance(value, (ast.Call, ast.Tuple, ast.List)) and len(found) > 1
    yield from found[:1] if grid else found


def _structural(node: ast.AST) -> Iterator[ast.AST]:
    """Constants that index, slice, shift, or say a shape or an axis."""
    if isinstance(node, ast.Subscript):
        yield from ast.walk(node.slice)
    elif isinstance(node, ast.keyword) and node.arg in ("axis", "ddof", "minlength", "ndim"):
        yield from ast.walk(node.value)
    elif (isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift)) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lambda"
    ):
        yield from ast.walk(node)
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        for decorator in node.decorator_list:  # what plain Python takes, by arguments
            yield from ast.walk(decorator)


def _chosen(node: ast.Constant) -> bool:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    size = abs(float(value))
    return size not in FORMULA and size > ROUNDING and size < LARGE


def main(arguments: list[str] | None = None) -> int:
    """Print the count, or the list."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="each of them")
    given = parser.parse_args(arguments)
    total = 0
    for place in PLACES:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found = sorted(scalars(file), key=lambda each: each.line)
            total += len(found)
            if found and not given.all:
                print(f"{len(found):4d}  {file.relative_to(ROOT)}")
            for each in found if given.all else []:
                name = each.name or "(literal)"
                print(f"{each.file}:{each.line}  {name} {each.value:g}  {each.said}")
    print(f"{total:4d}  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
