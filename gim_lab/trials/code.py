"""The code that makes the numbers of a trial, and the versions of what computes them.

It is all of gim that computes, room by room; of the laboratory what `gim_lab.trials.running`
imports, and what measures in the place of an agent; and the source of whatever is not of ours, such
as an agent of one's own with what it imports. With that in the digest of a trial, an edit runs
again the trials that it may change. Comments, docstrings and annotations do not count.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any, NamedTuple

import gymnasium

from gim._base.registry import parse
from gim.envs import tasks
from gim_lab.trials.source import LIBRARY, locate, modules_in, reach, read
from gim_lab.trials.spec import is_file
from gim_lab.trials.subject import kind_of, subject_of

ROOMS = (
    "_compile",
    "planning",
    "mdp",
    "model",
    "analogy",
    "belief",
    "paper",
    "envs",
    "runs",
    "agents",
    "logs",
)
RUNNING = "gim_lab.trials.running"  # every trial is run by it
COMPUTING = ("numpy", "scipy", "numba")  # packages that compute every trial
KNOWN = (*COMPUTING, "gymnasium")  # packages that count by their version, whoever imports them
DIGITS = 16
FEW = 3  # files that are named in a reason


class Code(NamedTuple):
    """What makes the numbers of a trial."""

    digest: str
    modules: dict[str, str]  # digests of syntax trees: of rooms, gim/agents, and of other modules
    versions: dict[str, str]  # of Python and of the packages that compute


def code_of(agent: str, task: str) -> Code:
    """The code of the trials of an agent in a task, both as specs.

    Example:
        >>> code = code_of("q_learning", "riverswim")
        >>> "gim/agents" in code.modules, "gim_lab.trials.measures" in code.modules
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
    made = subject_of(spec)
    return tuple(dict.fromkeys(_parts(made)))


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
    roots, unwritten, packages = {RUNNING}, {}, set(COMPUTING)
    for part in (*agent, *world):
        module = part if isinstance(part, str) else part.__module__
        top = module.partition(".")[0]
        if top in KNOWN:
            packages.add(top)
        elif top in sys.stdlib_module_names or top == LIBRARY:
            continue
        elif locate(module) is not None:
            roots.add(module)
        else:
            unwritten[f"{module}:{getattr(part, '__qualname__', '')}"] = _token(part)
    found = reach(roots)
    modules = rooms() | found.modules | unwritten
    packages |= found.packages
    versions = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    versions |= {name: _version(name) for name in sorted(packages)}
    facts = json.dumps([modules, versions], sort_keys=True).encode()
    return Code(hashlib.sha256(facts).hexdigest()[:DIGITS], modules, versions)


@cache
def rooms() -> dict[str, str]:
    """The digest of each room that computes."""
    return {f"{LIBRARY}/{room}": _of_room(f"{LIBRARY}.{room}") for room in ROOMS}


def _of_room(package: str) -> str:
    sources = [read(name) for name in modules_in(package)]
    told = [[source.name, source.digest] for source in sources if source is not None]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:DIGITS]


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
    if any("/" in name for name in now.modules) and not any("/" in name for name in modules):
        return "; ".join([*found, "it was made by gim 0.2.0.dev0 or earlier"])
    changed = sorted(name for name in both if now.modules[name] != modules[name])
    changed = changed or sorted(now.modules.keys() ^ modules.keys())
    if changed:
        names = [_file(name) for name in changed[:FEW]]
        if len(changed) > FEW:
            names.append(f"{len(changed) - FEW} more")
        found.append(f"{_listed(names)} {'has' if len(changed) == 1 else 'have'} changed")
    elif now.versions.keys() != versions.keys():
        found.append("it uses other packages")
    return "; ".join(found)


def told(reasons: Iterable[str]) -> list[str]:
    """A line for each reason, with the number of trials that are run again for it."""
    counted = Counter(reasons).most_common()
    return [f"{n} trial{'s' * (n > 1)} run again: {text}" for text, n in counted]


def _file(module: str) -> str:
    if "/" in module:
        return module
    path = locate(module)
    name = module.replace(".", "/")
    return f"{name}/__init__.py" if path is not None and path.stem == "__init__" else f"{name}.py"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
