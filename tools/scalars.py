"""Every number of belief, analogy and the default learner that somebody chose, and where it stands.

    python -m tools.scalars             # how many by file
    python -m tools.scalars --all       # each of them, with what is said of it

    python -m tools.scalars --check     # does doubling a limit leave small inferences as they are?

A number is *tunable* if another value would change what is believed or done: constants of modules
(whatever their value), defaults of parameters, and literals inside of formulas. It is of one kind:

- *choice*: all that is not declared to be something else;
- *limit*: how much is computed or kept at the most. A constant of a module whose comment begins
  with `limit:`. What is believed must not hang on it: `--check` doubles each, in plain Python, and
  says by how much predictions of small worlds move; more than TOLERANCE is a choice after all;
- *shown*: a constant whose comment begins with `shown:`, which only words and pictures use;
- *paper*: a constant whose comment begins with `paper:` and names an author and a year.

Several numbers in one list, tuple or spaced range that is integrated or maximised over are one
choice. Left out are 0, 1, 2 and their halves and opposites where they are literals or defaults,
which formulas consist of; numbers no larger than a millionth, which guard against rounding;
powers of two from 2^14 on and what is written as a shift, which say how much is done at once; names
that are numbered through from 0 (or down from -1), which are codes; and whole numbers that index,
compare or order axes, fill shapes, or name a stream of random numbers.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

KINDS = CHOICE, LIMIT, SHOWN, PAPER = "choice", "limit", "shown", "paper"
NAMED = re.compile(r"paper: .*[A-Z]\w+.* (1[6-9]|20)\d\d")  # an author and a year
WORLDS = ("inventory:capacity=8,largest=4,horizon=10", "gridworld:height=4,width=4,horizon=15")
TOLERANCE = 0.02  # of a prediction, in the mean over pairs of half the sum of differences
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
FORMULA = {0.0, 0.25, 0.5, 1.0, 2.0}
SHAPES = {"zeros", "ones", "empty", "full", "eye", "reshape", "tile", "transpose"} | {
    "default_rng",
    "_rng",
}
ROUNDING, LARGE = 1e-6, 1 << 14


class Scalar(NamedTuple):
    """A number that was chosen."""

    file: str
    line: int
    name: str  # of the constant or the parameter; "" for a literal
    value: float
    kind: str
    said: str  # the comment behind it


def scalars(path: Path) -> Iterator[Scalar]:
    """Those of a file."""
    text = path.read_text()
    lines = text.splitlines()
    where = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    tree = ast.parse(text)
    named: set[int] = set()
    for node in ast.walk(tree):
        for name, value in _named(node):
            constant = name.isupper() and node in tree.body
            for number in _numbers(value, constant):
                yield _scalar(where, lines, name, number, constant)
            named |= {id(each) for each in ast.walk(value)}
    skipped = {id(each) for node in ast.walk(tree) for each in _structural(node)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List)) and id(node) not in named | skipped:
            listed = [each for each in node.elts if isinstance(each, ast.Constant)]
            if len(listed) == len(node.elts):  # one grid
                skipped |= {id(each) for each in [each for each in listed if _chosen(each)][1:]}
        if isinstance(node, ast.Constant) and id(node) not in named | skipped and _chosen(node):
            yield _scalar(where, lines, "", node, False)


def _scalar(
    where: str, lines: list[str], name: str, number: ast.Constant, constant: bool
) -> Scalar:
    line, above = lines[number.lineno - 1], lines[number.lineno - 2].strip()
    said = line.split("#", 1)[1].strip() if "#" in line else ""
    said = above.removeprefix("#").strip() if not said and above.startswith("#") else said
    declared = [kind for kind in (LIMIT, SHOWN) if said.startswith(f"{kind}: ")]
    declared += [PAPER] * bool(NAMED.match(said))
    kind = declared[0] if declared and constant else CHOICE
    assert isinstance(number.value, (int, float))
    return Scalar(where, number.lineno, name, float(number.value), kind, said)


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and values of constants and of defaults."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id.isupper():
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for each, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(each, ast.Name) and each.id.isupper() and not _codes(node.value):
                    yield each.id, value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        if isinstance(node.target, ast.Name):
            yield node.target.id, node.value
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        yield from ((arg.arg, value) for arg, value in zip(given, node.args.defaults, strict=True))


def _codes(values: ast.Tuple) -> bool:
    """Whether numbers are codes: counted from 0 up, or from -1 down."""
    try:
        found = [ast.literal_eval(each) for each in values.elts]
    except ValueError:
        return False
    many = len(found)
    return many > 1 and found in (list(range(many)), list(range(-1, -many - 1, -1)))


def _numbers(value: ast.expr, constant: bool) -> Iterator[ast.Constant]:
    """The numbers of a value; of a grid that is listed, or spaced, the first stands for all."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.LShift):
        return
    alone = isinstance(value, (ast.Constant, ast.Tuple, ast.List))
    numbers = [n for n in ast.walk(value) if isinstance(n, ast.Constant)]
    found = [n for n in numbers if _chosen(n, alone and constant)]
    grid = isinstance(value, (ast.Call, ast.Tuple, ast.List, ast.BinOp)) and len(found) > 1
    yield from found[:1] if grid else found


def _structural(node: ast.AST) -> Iterator[ast.AST]:
    """Constants that index, slice, shift, or say a shape or an axis."""
    if isinstance(node, ast.Subscript):
        yield from ast.walk(node.slice)
    elif isinstance(node, ast.keyword) and node.arg in ("axis", "ddof", "minlength", "ndim"):
        yield from ast.walk(node.value)
    elif isinstance(node, ast.Call) and _name_of(node.func) in SHAPES:
        yield from (x for each in node.args for x in ast.walk(each))
    elif (isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift)) or (
        isinstance(node, ast.Compare) and "ndim" in ast.unparse(node)
    ):
        yield from ast.walk(node)
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        for decorator in node.decorator_list:  # what plain Python takes, by arguments
            yield from ast.walk(decorator)


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _chosen(node: ast.Constant, alone: bool = False) -> bool:
    """Whether a number is one that somebody chose; `alone`: it is all that a constant is."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    size = abs(float(value))
    return (alone or size not in FORMULA) and ROUNDING < size < LARGE


def everything() -> list[Scalar]:
    """Of all places, in order."""
    files = [
        file
        for place in PLACES
        for file in (sorted((ROOT / place).rglob("*.py")) or [ROOT / place])
    ]
    return [x for file in files for x in sorted(scalars(file), key=lambda each: each.line)]


def moved_by(limit: Scalar) -> float:
    """By how much predictions of small worlds move if a limit is doubled; run in plain Python."""
    home = import_module(limit.file.removesuffix(".py").replace("/", "."))
    value, before = getattr(home, limit.name), _predicted()
    users = [
        m for n, m in sys.modules.items() if n.startswith("gim.") and _is(m, limit.name, value)
    ]
    for user in users:
        setattr(user, limit.name, 2 * value)
    try:
        after = _predicted()
    finally:
        for user in users:
            setattr(user, limit.name, value)
    return max(
        float(np.abs(x - y).sum(axis=1).mean()) / 2 for x, y in zip(before, after, strict=True)
    )


def _is(module: Any, name: str, value: Any) -> bool:
    return getattr(module, name, None) is value


def _predicted() -> list[Any]:
    """Rows of small worlds as they are believed, after some steps of each."""
    gim, found = import_module("gim"), []
    for world in WORLDS:
        run = gim.run("random", world, episodes=20, seed=0)
        model = gim.believe(run, seed=0).mean
        found.append(model.rows().toarray())
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the count, or the list, or what limits do; 1 if one of them is none."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="each of them")
    parser.add_argument("--check", action="store_true", help="double each limit")
    given = parser.parse_args(arguments)
    found, bad = everything(), 0
    if given.check:
        for each in (x for x in found if x.kind == LIMIT):
            off = moved_by(each)
            bad += off > TOLERANCE
            print(f"{off:.4f}  {each.file}:{each.line}  {each.name} {each.value:g}", flush=True)
        return int(bad > 0)
    if given.all:
        for each in found:
            name = each.name or "(literal)"
            print(f"{each.kind}  {each.file}:{each.line}  {name} {each.value:g}  {each.said}")
    else:
        for file in dict.fromkeys(each.file for each in found):
            many = Counter(each.kind for each in found if each.file == file)
            print("  ".join(f"{many[kind]:4d}" for kind in KINDS), "", file)
    many = Counter(each.kind for each in found)
    print("  ".join(f"{many[kind]:4d} {kind}" for kind in KINDS), " in all")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1" if "--check" in sys.argv else "0")
    sys.exit(main())
