"""What is kept of a run while it is played: enough to go on from, whatever ends the process.

In memory there is a moment at which the run was whole, taken anew as often as that costs a
hundredth of the time; in the file there is one as often as is asked for. From either the run ends
bit for bit as if it had not been stopped.
"""

from __future__ import annotations

import copy
import math
import threading
import time
import warnings
from pathlib import Path

from gim._base import files
from gim.runs.runs import Run

SHARE = 100  # how much longer is played than what a copy in memory takes
SOON = 1.0  # seconds between two such copies, at least
NEVER_CHANGED = ("world.", "rewards.", "prior")  # arrays of a packed run that playing leaves alone


class Checkpoints:
    """The last moments at which a run was whole; `look` is called at such moments.

    Args:
        run: which is played.
        path: its file.
        minutes: between two times that it is written there, and at the beginning; None: never.
        copies: whether it is kept in memory, too, and written at the beginning: a trial of a study
            is not, which may be short.
    """

    def __init__(
        self, run: Run, path: Path, minutes: float | None = None, copies: bool = True
    ) -> None:
        self.run, self.path = run, path
        self._every = math.inf if minutes is None else 60.0 * minutes
        self._writing = threading.Lock()  # one writer at a time: the run's thread, or that of `end`
        self._kept: files.Packed | None = None
        self._soon = SOON if copies else math.inf
        self._copy_due = self._file_due = math.inf
        if not copies:
            self._file_due = time.monotonic() + self._every
        elif minutes is None:
            self._copy()
        else:
            self.save()

    def look(self) -> None:
        """Keep the run as it is, if it is time to."""
        now = time.monotonic()
        if now >= self._file_due:
            try:
                self.save()
            except OSError as problem:  # a full disk must not cost the run, which goes on
                self._file_due = now + self._every
                warnings.warn(f"no checkpoint was written: {problem}", stacklevel=2)
        elif now >= self._copy_due:
            self._copy()

    def save(self, path: Path | None = None) -> None:
        """Write the run as it is, to its file or another."""
        with self._writing:
            self.run.save(path or self.path)
            self._kept = None
        self._file_due = time.monotonic() + self._every
        self._copy_due = time.monotonic() + self._soon

    def end(self) -> None:
        """Write what was kept last, if that is not in the file: from another thread."""
        with self._writing:
            if self._kept is not None:
                files.save(self.path, "run", *self._kept)

    def _copy(self) -> None:
        began = time.monotonic()
        try:
            arrays, meta = self.run.pack()
            fixed = {
                name: array for name, array in arrays.items() if name.startswith(NEVER_CHANGED)
            }
            copies = {name: array.copy() for name, array in arrays.items() if name not in fixed}
            mind = copy.deepcopy(meta["mind"])
        except MemoryError:  # then there is what the file has
            self._copy_due = math.inf
            return
        self._kept = files.Packed(fixed | copies, meta | {"mind": mind})
        now = time.monotonic()
        self._copy_due = now + max(self._soon, SHARE * (now - began))
