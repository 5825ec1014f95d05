"""Plugins: modules of other packages, which register things of theirs when they are imported.

A package names its module in an entry-point group; in its pyproject.toml::

    [project.entry-points."gim.plugins"]
    my_gim = "my_gim"

What is installed is found by that, and so is whatever has its ``*.dist-info`` folder on the path.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import EntryPoint, entry_points


class Plugins:
    """The modules that a group of entry points names."""

    def __init__(self, group: str, guard: Callable[[], AbstractContextManager[None]]) -> None:
        self.group = group
        self.guard = guard  # entered around each import; undoes what a failing one has done
        self._lock = threading.RLock()
        self._begun = self._done = False

    def load(self) -> None:
        """Import them all, once; one that fails is left out with a warning, never an error."""
        if self._done:
            return
        with self._lock:  # other threads wait; a plugin that looks up a name itself must not
            if self._begun:
                return
            self._begun = True
            entries = sorted(entry_points(group=self.group), key=lambda entry: entry.name)
            problems = [self._import(entry) for entry in entries]
            self._done = True
        for problem in filter(None, problems):
            warnings.warn(problem, stacklevel=4)

    def _import(self, entry: EntryPoint) -> str | None:
        try:
            with self.guard():
                entry.load()
        except (Exception, SystemExit) as problem:  # foreign code, which may raise anything
            kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
            reason = kind + " ".join(str(problem).split())
            return f"the plugin {entry.name!r} ({entry.value}) is left out: {reason}"
        return None
