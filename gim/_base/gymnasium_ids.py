"""Gymnasium knows the tasks after `import gim`: their ids, without importing the tasks.

Either of the two packages may be imported first. The ids are read from the sources of `gim/envs`,
where each task states its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

TASK = re.compile(r'^@task\(\s*"([^"]+)"(.*?)^def (\w+)', re.M | re.S)
NAMED = re.compile(r'\bname="([^"]+)"')
ENVIRONMENT = "gim.envs.tabular:TaskEnv"


def announce() -> None:
    """Register the ids, now or when Gymnasium is imported."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _Later) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Later())


def register() -> None:
    """Register the ids of all tasks of ours that Gymnasium does not know yet."""
    import gymnasium

    for task_id, name in ids():
        if task_id not in gymnasium.registry:
            gymnasium.register(task_id, ENVIRONMENT, kwargs={"task": name})


def ids() -> Iterator[tuple[str, str]]:
    """The id of each task, and the name of the task."""
    for path in sorted((Path(__file__).parent.parent / "envs").glob("*.py")):
        for task_id, more, function in TASK.findall(path.read_text("utf-8")):
            named = NAMED.search(more)
            yield task_id, named[1] if named else function


class _Later(MetaPathFinder):
    """Registers the ids once Gymnasium has been imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def then(module: ModuleType) -> None:
                execute(module)
                register()

            loader.exec_module = then
        return spec
