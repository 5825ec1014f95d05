"""Names of a package that are imported when they are first asked for (PEP 562).

The package says what it exports in one place, where type checkers read it as well::

    if TYPE_CHECKING:
        from gim.agents.e3 import E3
        from gim.paper import theory
    else:
        __getattr__, __dir__ = lazy(__name__)
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from typing import Any


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that exports what it imports for type checkers."""
    homes: dict[str, tuple[str, str]] = {}

    def look(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not homes:
            homes.update(exported(package))
        if name not in homes:
            from gim._base.registry import did_you_mean

            hint = did_you_mean(name, homes)
            hint = hint if "mean" in hint else ""  # else it is a list of them all
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module, attribute = homes[name]
        home = sys.modules[package] if module == package else importlib.import_module(module)
        if attribute not in vars(home):  # a module of that package
            importlib.import_module(f"{module}.{attribute}")
        found = getattr(home, attribute)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        module = vars(sys.modules[package])
        own = [name for name in module if name.startswith("__") and name != "__getattr__"]
        return sorted({*own, *module["__all__"]})

    return look, names


def exported(package: str) -> dict[str, tuple[str, str]]:
    """By name, the module that has it and what it is called there."""
    loader: Any = sys.modules[package].__loader__
    tree = ast.parse(loader.get_source(package))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
