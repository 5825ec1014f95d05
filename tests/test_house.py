"""The house: imports point one way, files stay small, nothing speaks of where it was made."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "gim").rglob("*.py"))

# From the foundation up; a module may import from its own level and from those before it.
LEVELS = [
    ["jit", "arguments", "names", "params", "plugins", "registry", "files", "terminal", "columns"],
    ["planning", "policy"],
    ["sampling", "validation", "variables"],
    ["mdp"],
    ["model"],
    ["convert", "gymnasium_table", "planners", "spaces"],
    ["envs", "exploration", "theory"],
    ["interrupts", "agent", "memory"],
    ["inference"],
    ["loop", "deploy"],
    ["runs"],
    ["loading", "worlds", "gymnasium_task"],
    ["run"],
    ["agents"],
    ["testing", "plot"],
    ["experiments"],
    ["cli"],
]
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}


def room(path):
    return path.relative_to(ROOT / "gim").parts[0].removesuffix(".py")


def imports(path):
    """Rooms that a file imports when it is loaded (not inside functions)."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gim"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    here = room(path)
    if here in ("__init__", "__main__"):
        return
    for target in imports(path):
        assert LEVEL[target] <= LEVEL[here], f"{here} imports {target}, which stands above it"


def test_only_jit_imports_numba():
    users = [
        path for path in FILES if re.search(r"^\s*(import|from) numba", path.read_text(), re.M)
    ]
    assert [path.name for path in users] == ["jit.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= 330


def test_no_global_random_state():
    for path in FILES:
        assert not re.search(r"np\.random\.(seed|rand|randn|choice|random)\(", path.read_text()), (
            path
        )
