"""What Python source says of itself: which modules a module imports, and a digest of its code.

Nothing is executed or imported; sources are parsed, once in a process. An import counts wherever it
stands, also inside a function. ``from package import name`` counts as an import of the module that
defines the name, not of all that the package's ``__init__`` has: an agent is not made of the other
agents just because `gim` exports them all. What stands under ``if TYPE_CHECKING`` is for the type
checker alone and counts as nothing.

The digest is that of the syntax tree without docstrings and annotations (comments and layout are
not in it anyway): it changes if and only if the code does.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

OURS = frozenset({"gim", "gim_lab"})
LIBRARY = "gim"  # whose code counts room by room: see `gim_lab.trials.code`
INIT = "__init__.py"
DIGITS = 16  # of a digest
SKIPPED = frozenset({"annotation", "returns", "type_comment", "type_ignores", "ctx", "kind"})
NEWER = "type_params"  # a field that older versions of Python do not have
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Wanted(NamedTuple):
    """One import statement, for one name."""

    module: str  # in full
    name: str | None  # taken from it; None: the module itself, "*": all that it has
    bound: str  # what it is called here
    typing: bool  # whether it stands under TYPE_CHECKING


class Source(NamedTuple):
    """What is known of a module."""

    name: str
    path: Path
    wanted: tuple[Wanted, ...]  # what it imports
    digest: str


class Reach(NamedTuple):
    """All that some modules are made of."""

    modules: dict[str, str]  # digests by name: of the laboratory, of the roots' packages, of files
    packages: frozenset[str]  # installed ones that modules outside of ours import


def reach(roots: Iterable[str]) -> Reach:
    """Follow the imports of modules to the end, but not into gim.

    Args:
        roots: names of modules; the packages that they belong to are followed as well.

    Example:
        >>> found = reach(["gim_lab.trials.running"])
        >>> "gim_lab.trials.measures" in found.modules, "gim_lab.trials.store" in found.modules
        (True, False)
    """
    return _reach(tuple(sorted(set(roots))))


@cache
def _reach(roots: tuple[str, ...]) -> Reach:
    tops = OURS | {_top(root) for root in roots}
    found: dict[str, str] = {}
    packages: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found or _top(name) == LIBRARY:
            continue
        source = read(name)
        if source is None:
            packages.add(_top(name))
            continue
        found[name] = source.digest
        for target in imported(name, tops):
            waiting.append(target)
        if _top(name) not in OURS:
            packages |= {_top(want.module) for want in source.wanted if _installed(want, tops)}
    return Reach(dict(sorted(found.items())), frozenset(packages))


@cache
def imported(name: str, tops: frozenset[str] = OURS, typing: bool = False) -> tuple[str, ...]:
    """The modules that a module imports, sorted.

    Args:
        name: of the module.
        tops: packages that are followed; code that belongs to no installed package always is.
        typing: those under TYPE_CHECKING instead.
    """
    source = read(name)
    found: set[str] = set()
    for want in () if source is None else source.wanted:
        if want.typing == typing and _followed(_top(want.module), tops):
            found.update(_defining(want.module, want.name))
    return tuple(sorted(found - {name}))


@cache
def read(name: str) -> Source | None:
    """The source of a module, parsed; None where it has none. What is no Python has no imports."""
    path = locate(name)
    if path is None or path.suffix != ".py":
        return None
    text = path.read_bytes()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return Source(name, path, (), hashlib.sha256(text).hexdigest()[:DIGITS])
    package = name if path.name == INIT else name.rpartition(".")[0]
    return Source(name, path, tuple(_wanted(tree, package)), _digest(tree))


@cache
def locate(name: str) -> Path | None:
    """The file of a module, found without importing it; None for what is no Python file."""
    if name == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        return None if file is None else Path(file)
    folders, path = _folders(_top(name))
    for part in name.split(".")[1:]:
        path = next((each for each in _candidates(folders, part) if each.is_file()), None)
        folders = [folder / part for folder in folders]
    return path


def modules_in(package: str) -> list[str]:
    """All modules of a package, sorted; itself alone if it is a single file."""
    path = locate(package)
    if path is None or path.name != INIT:
        return [] if path is None else [package]
    found = []
    for each in path.parent.rglob("*.py"):
        parts = (package, *each.relative_to(path.parent).with_suffix("").parts)
        found.append(".".join(parts).removesuffix(".__init__"))
    return sorted(found)


# -- where things are


def _top(name: str) -> str:
    return name.partition(".")[0]


@cache
def _folders(top: str) -> tuple[list[Path], Path | None]:
    """Where the parts of a top-level package are looked for, and its own file."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return [], None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    file = spec.origin if spec.has_location else None
    return folders, None if file is None else Path(file)


def _candidates(folders: Iterable[Path], part: str) -> Iterator[Path]:
    for folder in folders:
        yield folder / part / INIT
        yield folder / f"{part}.py"


@cache
def _followed(top: str, tops: frozenset[str]) -> bool:
    """Whether the source of a package counts: it is asked for, or nothing that was installed."""
    if top in tops:
        return True
    if top in sys.stdlib_module_names or top == "__main__":
        return False
    folders, path = _folders(top)
    where = path or next(iter(folders), None)
    if where is None:
        return False
    installed = {Path(sysconfig.get_paths()[key]) for key in ("purelib", "platlib", "stdlib")}
    return not any(where.is_relative_to(folder) for folder in installed)


def _installed(want: Wanted, tops: frozenset[str]) -> bool:
    top = _top(want.module)
    known = top in sys.stdlib_module_names or top == "__main__"
    return not (want.typing or known or _followed(top, tops))


# -- what a statement imports


def _wanted(tree: ast.Module, package: str) -> Iterator[Wanted]:
    for node, typing in _imports(tree, typing=False):
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                module = _absolute(node, package)
                yield Wanted(module, alias.name, alias.asname or alias.name, typing)
            elif _top(alias.name) in OURS:
                yield from _used(tree, alias, typing)
            else:
                yield Wanted(alias.name, None, alias.asname or _top(alias.name), typing)


def _imports(node: ast.AST, typing: bool) -> Iterator[tuple[Any, bool]]:
    """All import statements, and whether they stand under TYPE_CHECKING."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, typing
    elif isinstance(node, ast.If) and _is_typing(node):
        for statements, only in ((node.body, True), (node.orelse, typing)):
            for statement in statements:
                yield from _imports(statement, only)
    elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case):
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, typing)


def _is_typing(node: ast.If) -> bool:
    test = node.test
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, *filter(None, [node.module])])


def _used(tree: ast.Module, alias: ast.alias, typing: bool) -> Iterator[Wanted]:
    """What is used of a package of ours that is imported as a whole, as in ``gim.Agent``."""
    bound = alias.asname or _top(alias.name)
    module = alias.name if alias.asname else bound
    names: set[str | None] = set()
    within = set()  # uses that are those of an attribute
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == bound:
            names.add(node.attr)
            within.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == bound and node not in within:
            names.add(None)
    if alias.name != module:
        yield Wanted(alias.name, None, bound, typing)
    for name in names or {None}:
        yield Wanted(module, name, bound, typing)


def _defining(module: str, name: str | None) -> list[str]:
    """The module in which a name of a module is defined: of a package, where it has it from."""
    path = locate(module)
    if name not in (None, "*") and (path is None or path.name == INIT):
        if locate(f"{module}.{name}") is not None:
            return [f"{module}.{name}"]
        source = read(module)
        for want in () if source is None else source.wanted:
            if want.bound == name:
                return _defining(want.module, want.name)
    return [] if path is None else [module]


# -- what code is, apart from how it is written


def _digest(tree: ast.Module) -> str:
    words: list[str] = []
    _spell(tree, words)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:DIGITS]


def _spell(node: Any, words: list[str]) -> None:
    """The tree as words, without what does not matter when it runs."""
    if isinstance(node, list):
        kept = [each for part in node for each in _kept(part)]
        words.append(f"[{len(kept)}")
        for each in kept:
            _spell(each, words)
    elif isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for field in node._fields:
            value = getattr(node, field, None)
            if field not in SKIPPED and not (field == NEWER and not value):
                if field == "body" and isinstance(node, DOCUMENTED):
                    value = _undocumented(value)
                _spell(value, words)
    else:
        words.append(repr(node))


def _kept(node: Any) -> list[Any]:
    """A statement, or what runs of it where the type checker has a branch of its own."""
    return node.orelse if isinstance(node, ast.If) and _is_typing(node) else [node]


def _undocumented(body: Any) -> Any:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body
