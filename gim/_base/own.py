"""Things of one's own: modules and files that a person names, which register them when imported.

- ``my_module:Name:key=value``, ``my_agents.py:Name``: in the place of a name, wherever a person
  writes one; it is the spec string behind a module or a file, which is imported
- ``--import my_agents.py`` and ``--import my_module``: for the names in the rest of a command

Nothing is imported because a file that was saved says so.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from gim._base.registry import Registry

NAMED = re.compile(r"([A-Za-z_][\w.]*|.+\.py):([\w./-]+(?::.*)?)", re.S)
asked: dict[str, str] = {}  # what was imported here, and in which folder: workers do so as well


def import_own(what: str) -> ModuleType:
    """Import a module by its name, or a file by its path (one that ends in .py).

    Modules are looked for in the current folder as well; what stands beside a file may be imported
    by it.
    """
    try:
        module = _from_file(Path(what)) if what.endswith(".py") else _from_here(what)
    except Exception as problem:  # foreign code, which may raise anything
        kind = "" if isinstance(problem, ValueError | ImportError) else type(problem).__name__
        reason = " ".join(f"{kind}: {problem}".removeprefix(": ").split())
        raise ValueError(f"cannot import {what}: {reason}") from None
    asked.setdefault(what, str(Path.cwd()))
    return module


def split(text: str, registry: Registry) -> tuple[str, str] | None:
    """What is to be imported, and the spec string behind it; None for one that names no module."""
    found = NAMED.fullmatch(text)
    if found is None or found[1] in registry or there(text):
        return None
    return found[1], found[2]


def there(path: str) -> bool:
    """Whether a file is there; no name is too long to ask."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def own(text: str, registry: Registry) -> str:
    """The spec string of a thing of this registry, once the module in front of it is imported.

    It may be called by the name under which it is registered, or as in the module.

    Example:
        >>> from gim.agents import agents
        >>> own("gim.agents.rmax:RMax:m=20", agents)
        'rmax:m=20'
    """
    parts = split(text, registry)
    if parts is None:
        return text
    module, rest = import_own(parts[0]), parts[1]
    name, colon, args = rest.partition(":")
    if name in registry:
        return rest
    known = registry.known_as(getattr(module, name, None))
    if known is None:
        raise ValueError(f"{parts[0]} has no {registry.kind} {name!r}")
    return f"{known}{colon}{args}"


def _from_here(name: str) -> ModuleType:
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # where the `gim` command would not look
    return importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    path = path.absolute()
    if not path.is_file():
        raise ValueError("there is no such file")
    there = sys.modules.get(path.stem)
    if there is not None:
        if Path(getattr(there, "__file__", None) or "").absolute() == path:
            return there
        raise ValueError(f"another module is called {path.stem}: give the file another name")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module
