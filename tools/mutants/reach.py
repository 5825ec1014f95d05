"""Which tests reach which function: traced once, and kept.

Every test runs without compilation, where all calls are seen. One that takes too long so, or works
compiled only, runs a second time, compiled; it reaches what was seen in either run.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tools.mutants.operators import Mutant
from tools.mutants.scratch import Scratch
from tools.mutants.tracer import SECONDS, TRACE

HOURS = 3600.0  # limit for all tests of a file
LONGER = 6.0  # times the limit of a plain test that a compiled one may take, with compiling


class Test(NamedTuple):
    """A test that passes, and what it reaches."""

    name: str
    seconds: float  # of processor time, traced
    compiled: bool  # is it run so
    reach: frozenset[str]  # such as ``gim/mdp/tabular.py TabularMDP.plan``


class Reach:
    """The map from functions to tests, kept in a folder, one file for each file of tests.

    An entry holds as long as neither the tests nor any module that they reach has changed. A test
    that takes more than `slow` processor seconds, traced, is run compiled, and not used if it is
    too slow even then.
    """

    def __init__(self, root: Path, folder: Path, slow: float = 5.0) -> None:
        self.root, self.folder, self.slow = root, folder, slow
        self.tests: list[Test] = []
        self.early: set[str] = set()  # what is reached when tests are imported
        folder.mkdir(parents=True, exist_ok=True)

    def stale(self, files: Iterable[Path]) -> list[Path]:
        """Take what is kept and still holds; return the files that must be traced."""
        return [file for file in files if not self._take(file)]

    def trace(self, file: Path, scratch: Scratch) -> None:
        """Run the tests of a file, each up to its limit, and keep what they reach."""
        name = file.relative_to(self.root).as_posix()
        plain = self._lines([name], scratch, compiled=False)
        seen = {line["test"]: line["reach"] for line in plain if not line["passed"]}
        lines = [line for line in plain if line["passed"]]
        for line in self._lines(list(seen), scratch, compiled=True) if seen else []:
            reach = sorted({*line["reach"], *seen[line["test"]]})
            lines.append(line | {"reach": reach, "compiled": True})
        reached = {place.split()[0] for line in lines for place in line["reach"]}
        kept = {"digest": self._digest(file, reached), "modules": sorted(reached), "tests": lines}
        self._kept(file).write_text(json.dumps(kept))
        self._take(file)

    def _lines(self, tests: list[str], scratch: Scratch, compiled: bool) -> list[dict[str, Any]]:
        """What the tracer notes of these tests."""
        out = scratch.root / "trace.jsonl"
        out.unlink(missing_ok=True)
        seconds = self.slow * (LONGER if compiled else 1.0)
        words = {TRACE: str(out), SECONDS: str(seconds)}
        scratch.pytest(tests, HOURS, words="", compiled=compiled, **words)
        return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []

    def of(self, mutant: Mutant) -> list[Test]:
        """The tests that may notice a mutant, plain ones before compiled, the quickest first.

        Of compiled functions nothing is seen: a test that runs so, and was stopped when it did not,
        may reach all of those in a module that it reaches. A fault outside of all functions may be
        noticed wherever its module is used, also by those that only import a constant from it.
        """
        if mutant.function:
            place = f"{mutant.module} {mutant.function}"
            found = [test for test in self.tests if place in test.reach]
            if self.compiles(mutant):
                unseen = [t for t in self.tests if t.compiled and t not in found]
                found += [t for t in unseen if any(p.split()[0] == mutant.module for p in t.reach)]
        else:
            modules = {mutant.module, *self._importers(mutant.module)}
            found = [t for t in self.tests if any(p.split()[0] in modules for p in t.reach)]
        return sorted(found, key=lambda test: (test.compiled, test.seconds, test.name))

    def _take(self, file: Path) -> bool:
        try:
            kept: dict[str, Any] = json.loads(self._kept(file).read_text())
        except (OSError, ValueError):
            return False
        if kept["digest"] != self._digest(file, kept["modules"]):
            return False
        self.tests += [
            Test(line["test"], line["seconds"], "compiled" in line, frozenset(line["reach"]))
            for line in kept["tests"]
            if line["passed"]
        ]
        self.early.update(place for line in kept["tests"] for place in line["early"])
        return True

    def _kept(self, file: Path) -> Path:
        return self.folder / f"{file.stem}.json"

    def _digest(self, file: Path, modules: Iterable[str]) -> str:
        """Of a file of tests, the helpers that it imports, and the modules that it reaches."""
        digest = hashlib.sha256(str(self.slow).encode())
        for path in [*_with_helpers(file), *(self.root / name for name in sorted(modules))]:
            digest.update(path.read_bytes() if path.exists() else b"")
        return digest.hexdigest()

    def compiles(self, mutant: Mutant) -> bool:
        """Whether the fault is in a function that `gim._compile.jit` compiles."""
        tree = ast.parse((self.root / mutant.module).read_bytes())
        froms = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        marks = {x.name for node in froms if node.module == "gim._compile.jit" for x in node.names}
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        made = [f.name for f in functions if marks & {_mark(each) for each in f.decorator_list}]
        return mutant.function.split(".")[0] in made

    def _importers(self, module: str) -> list[str]:
        """The modules that import names from this one."""
        name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        top = self.root / module.split("/")[0]
        found = []
        for path in top.rglob("*.py") if top.is_dir() else []:
            nodes = ast.walk(ast.parse(path.read_bytes()))
            if any(isinstance(node, ast.ImportFrom) and node.module == name for node in nodes):
                found.append(path.relative_to(self.root).as_posix())
        return found


def _with_helpers(file: Path) -> list[Path]:
    """A file of tests and what it imports of its own folder, directly or not."""
    found, left = {file}, [file, file.parent / "conftest.py"]
    while left:
        path = left.pop()
        if path.exists():
            found.add(path)
            names = {
                name for node in ast.walk(ast.parse(path.read_bytes())) for name in _named(node)
            }
            left += {file.parent / f"{name}.py" for name in names} - found - set(left)
    return sorted(found)


def _mark(decorator: ast.expr) -> str:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return named.id if isinstance(named, ast.Name) else ""


def _named(node: ast.AST) -> list[str]:
    """The last parts of all names that an import may take from the folder of tests."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[-1] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").split(".")[-1], *(alias.name for alias in node.names)]
    return []
