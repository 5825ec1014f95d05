"""The code that makes the numbers of a trial, and the versions of what computes them.

It is all of gim that computes and what runs trials here, room by room; the folder of what measures
in the place of an agent; and the source of whatever is not of ours and was not installed, such as
an agent of one's own with what it imports. With that in the digest of a trial, an edit runs again
the trials that it may change. Comments, blank lines and docstrings do not count.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import secrets
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from modulefinder import ModuleFinder
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import gymnasium

import gim
from gim._base.registry import parse
from gim.envs import tasks
from gim_lab.trials.spec import is_file
from gim_lab.trials.subject import kind_of, subject_of

OURS = ("gim", "gim_lab")
HERE = Path(__file__).parent
ROOMS = tuple(
    f"gim/{room}"
    for room in (
        *("_compile", "planning", "mdp", "model", "analogy", "belief", "paper"),
        *("envs", "runs", "agents", "logs"),
    )
)
COMPUTING = ("numpy", "scipy", "numba")  # packages that compute every trial
DIGITS = 16
FEW = 3  # files that are named in a reason


class Code(NamedTuple):
    """What makes the numbers of a trial."""

    digest: str
    modules: dict[str, str]  # digests: of rooms, such as gim/agents, and of files of one's own
    versions: dict[str, str]  # of Python and of the packages that compute


def code_of(agent: str, task: str) -> Code:
    """The code of the trials of an agent in a task, both as specs.

    Example:
        >>> code = code_of("q_learning", "riverswim")
        >>> "gim/agents" in code.modules, "gim_lab/trials" in code.modules
        (True, True)
    """
    return _code(parts_of_agent(agent), _parts_of_task(_name(task)))


def parts_of_agent(spec: str) -> tuple[Any, ...]:
    """The classes and functions that an agent is made of: its own, and those of its parameters."""
    return _parts_of_agent(spec, kind_of(_name(spec)))


@lru_cache(maxsize=65536)
def _name(spec: str) -> str:
    return "" if is_file(spec) else parse(spec).name


@lru_cache(maxsize=4096)
def _parts_of_agent(spec: str, kind: Any) -> tuple[Any, ...]:
    """`kind` is the class that has the name now: one typed into a console may change."""
    return tuple(dict.fromkeys(_parts(subject_of(spec))))


def _parts(thing: Any) -> Iterator[Any]:
    if is_dataclass(thing) and not isinstance(thing, type):
        yield from type(thing).__mro__
        for field in fields(thing):
            yield from _parts(getattr(thing, field.name))
    elif isinstance(thing, tuple | list):
        for each in thing:
            yield from _parts(each)
    elif callable(thing):  # a function will do for a completion
        yield thing if hasattr(thing, "__qualname__") else type(thing)


def _parts_of_task(name: str) -> tuple[Any, ...]:
    """What builds a world by this name; that of a saved MDP is its content, not code."""
    if name in tasks:
        return (tasks[name],)
    if name not in gymnasium.registry:
        return ()
    spec = gymnasium.registry[name]
    made = spec.entry_point or ""
    maker = made.partition(":")[0] if isinstance(made, str) else made
    ours = spec.kwargs.get("task") if str(maker).startswith("gim.") else None
    return ("gymnasium", maker or "gymnasium", *(_parts_of_task(ours) if ours else ()))


@lru_cache(maxsize=4096)
def _code(agent: tuple[Any, ...], world: tuple[Any, ...]) -> Code:
    modules, packages = dict(rooms()), set(COMPUTING)
    for part in (*agent, *world):
        module = part if isinstance(part, str) else part.__module__
        top = module.partition(".")[0]
        if top == "gim_lab":
            modules |= _folder(module)
        elif top not in sys.stdlib_module_names | set(OURS) or top == "__main__":
            path = _file(top)
            if path is None:
                modules[f"{module}:{getattr(part, '__qualname__', '')}"] = _token(part)
            elif _installed(path):
                packages.add(top)
            else:
                files, used = _own(module, path)
                modules, packages = modules | files, packages | used
    versions = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    versions |= {name: _version(name) for name in sorted(packages)}
    modules = dict(sorted(modules.items()))
    return Code(_sum([modules, versions]), modules, versions)


# -- digests


@cache
def rooms() -> dict[str, str]:
    """The digest of each room that computes, and of what runs trials."""
    above = Path(gim.__file__).parent.parent
    return {room: _of_folder(above / room) for room in ROOMS} | _folder(__name__)


@cache
def _folder(module: str) -> dict[str, str]:
    """The digest of the folder of the laboratory that a module is in."""
    parts = module.split(".")[:-1]
    return {"/".join(parts): _of_folder(HERE.parent.parent.joinpath(*parts))}


def _of_folder(folder: Path) -> str:
    files = sorted(folder.rglob("*.py"))
    return _sum([[path.relative_to(folder).as_posix(), _of_file(path)] for path in files])


def _of_file(path: Path) -> str:
    """What a file does, compiled without docstrings; of what is no Python all bytes count."""
    text = path.read_bytes()
    try:
        return _sum(_does(compile(text, "", "exec", dont_inherit=True, optimize=2)))
    except (SyntaxError, ValueError):
        return hashlib.sha256(text).hexdigest()[:DIGITS]


def _does(code: CodeType) -> list[Any]:
    """Instructions with what they use, but for where they stand."""
    takes = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    used = [_constant(each) for each in code.co_consts]
    return [code.co_code.hex(), code.co_exceptiontable.hex(), *takes, *names, used]


def _constant(value: Any) -> Any:
    if isinstance(value, frozenset):  # in another order in each process
        return sorted(map(repr, value))
    return _does(value) if isinstance(value, CodeType) else repr(value)


def _sum(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:DIGITS]


# -- what is not of ours


def _file(top: str) -> Path | None:
    """The file of a module or package, which is not imported for that; None: it has none."""
    if top == "__main__":
        name = getattr(sys.modules["__main__"], "__file__", None)
    else:
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            return None
        name = spec.origin if spec is not None and spec.has_location else None
    return None if name is None else Path(name)


def _installed(path: Path) -> bool:
    """Whether a package counts by its version."""
    places = (sysconfig.get_paths()[key] for key in ("purelib", "platlib", "stdlib"))
    return any(path.is_relative_to(place) for place in places)


@cache
def _own(module: str, path: Path) -> tuple[dict[str, str], set[str]]:
    """The files of a module and of all that it imports, but for packages, which are named."""
    folders = [folder for folder in (str(path.parent), *sys.path) if not _installed(Path(folder))]
    finder = ModuleFinder([folder or "." for folder in folders], excludes=OURS)
    if module == "__main__":
        finder.run_script(str(path))
    else:
        if path.name == "__init__.py":
            finder.path = [str(path.parent.parent), *finder.path]
        finder.import_hook(module)
    found = {name: getattr(each, "__file__", None) for name, each in finder.modules.items()}
    files = {_told(name, Path(at)): _of_file(Path(at)) for name, at in found.items() if at}
    tops = {name.partition(".")[0] for name in finder.badmodules}
    return files, {top for top in tops - sys.stdlib_module_names - set(OURS) if _file(top)}


def _told(name: str, path: Path) -> str:
    """A module as its file."""
    return name.replace(".", "/") + ("/__init__.py" if path.stem == "__init__" else ".py")


@cache
def _token(part: Any) -> str:
    """For what has no source file, such as a class typed into a console: never the same again."""
    return secrets.token_hex(DIGITS // 2)


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        owners = packages_distributions().get(package, ())
        return version(owners[0]) if owners else "unknown"


# -- why a trial is run again


def reason(now: Code, modules: Mapping[str, str], versions: Mapping[str, str]) -> str:
    """Why the code of a trial is not what it was when it was stored; empty where it is."""
    found = [
        f"{name} is {now.versions[name]}, was {versions[name]}"
        for name in sorted(now.versions.keys() & versions.keys())
        if now.versions[name] != versions[name]
    ]
    both = now.modules.keys() & modules.keys()
    if now.modules and not both:
        return "; ".join([*found, "it was made by gim 0.2.0.dev0 or earlier"])
    changed = sorted(name for name in both if now.modules[name] != modules[name])
    changed = changed or sorted(now.modules.keys() ^ modules.keys())
    if changed:
        names = changed[:FEW]
        if len(changed) > FEW:
            names.append(f"{len(changed) - FEW} more")
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        found.append(f"{listed} {'has' if len(changed) == 1 else 'have'} changed")
    elif now.versions.keys() != versions.keys():
        found.append("it uses other packages")
    return "; ".join(found)


def told(reasons: Iterable[str]) -> list[str]:
    """A line for each reason, with the number of trials that are run again for it."""
    counted = Counter(reasons).most_common()
    return [f"{n} trial{'s' * (n > 1)} run again: {text}" for text, n in counted]
