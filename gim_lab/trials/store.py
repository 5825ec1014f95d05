"""Where finished trials are kept: one file each, under the digest of the trial.

A trial is stored as soon as it is finished, atomically, so that a second start goes on where the
first one stopped, however that ended. A changed parameter is another digest, hence a new trial, and
so is a change of the code that makes its numbers; the name of a file has both, ``asked-code.npz``.
What other code has made stays, and is said to be so wherever it is met. A file that is damaged, or
that holds something else than its name says, is reported and never used.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from gim._base import files
from gim._base.limits import INT
from gim._base.params import brief
from gim_lab.trials.code import reason, told
from gim_lab.trials.measures import MEASURES, points
from gim_lab.trials.result import MACHINE, Result
from gim_lab.trials.results import Results
from gim_lab.trials.running import Unfinished
from gim_lab.trials.trial import FORMAT, Trial

KIND = "trial"
WORDS = {"task", "agent", "rewards", "world", "id", "notes", "host"}  # text; all others: numbers
ASKED = {  # what a trial is made of, in a file
    "task": str,
    "agent": str,
    "episodes": int,
    "seed": int,
    "epsilon": int | float | None,
    "rewards": str,
}
OLD = re.compile(r"[0-9a-f]{32}")  # a name without the code, as 0.1.0 gave it


class Stored(NamedTuple):
    """What a file holds."""

    result: Result
    trial: dict[str, Any]
    modules: Mapping[str, str]
    versions: Mapping[str, str]


class Store:
    """A folder of finished trials.

    Args:
        folder: where; it is made when the first trial is stored.

    Example:
        >>> import tempfile
        >>> from gim_lab import execute
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results = execute([Trial("riverswim", "random", 10, 0)], folder, engine="serial")
        ...     Store(folder).results().same_bits(results)
        True
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.trials = self.folder / "trials"
        self.unfinished = self.folder / "unfinished"
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: give a folder for the results")

    def path(self, trial: Trial) -> Path:
        """Where the result of a trial is, or will be."""
        return self.trials / f"{trial.digest}.npz"

    def get(self, trial: Trial) -> Result | None:
        """The stored result of a trial, or None; a file that cannot be trusted is reported."""
        path = self.path(trial)
        if not path.exists() and not path.is_symlink():
            return None
        found = _read(path)
        if isinstance(found, str):
            warnings.warn(f"{found}; {trial.id} is run again", stacklevel=2)
            return None
        return found.result

    def of_any_code(self, trial: Trial) -> Result | None:
        """The stored result of a trial, of other code where there is nothing of today's."""
        result = self.get(trial)
        if result is None:
            last = self._last(sorted(self.trials.glob(f"{trial.key}-*.npz")))
            result = None if last is None else last.result.of(trial)
        return result

    def put(self, trial: Trial, result: Result) -> None:
        """Store a result, atomically."""
        self.trials.mkdir(parents=True, exist_ok=True)
        arrays, columns = result.pack()
        digest, (_, modules, versions) = trial.digest, trial.code
        meta = {"format": FORMAT, "trial": asdict(trial), "digest": digest}
        meta |= {"code": {"modules": modules, "versions": versions}, "columns": columns}
        path = self.trials / f"{digest}.npz"
        if path.is_symlink() and not path.exists():  # it leads nowhere: nothing is lost
            path.unlink()
        files.save(path, KIND, arrays, meta)
        if self.unfinished.is_dir():
            key = digest.partition("-")[0]
            for left in self.unfinished.glob(f"{key}-*.npz"):  # of this code or another
                left.unlink(missing_ok=True)

    def keeping(self, minutes: float) -> Callable[[Trial], Unfinished]:
        """Where each trial is kept every so many minutes while it is played."""
        return lambda trial: Unfinished(
            str(self.unfinished.absolute() / f"{trial.digest}.npz"), minutes
        )

    def why(self, trials: Sequence[Trial]) -> list[str]:
        """Why trials that were stored once must be run again: a line for each reason.

        Example: ``12 trials run again: gim/agents/rmax.py has changed``
        """
        kept, reasons, known = self._by_key(), [], {}
        for trial in trials:
            before = [path for path in kept.get(trial.key, ()) if path.stem != trial.digest]
            if before:
                path = min(before, key=_age)
                change = path.stem.partition("-")[2], trial.code.digest
                if change not in known:
                    known[change] = _reason(trial, _read(path))
                reasons.append(known[change])
        lines = told(reasons)
        return [*lines, *self._of_old()] if trials else []

    def results(self) -> Results:
        """All that is stored, as one table; of a trial that several codes have made, the last.

        Files that cannot be trusted are reported, and results of other code than that of today.
        """
        return Results.of(self)

    def __iter__(self) -> Iterator[Result]:
        """Each trial once."""
        outdated: Counter[str] = Counter()
        kept = self._by_key()
        for paths in kept.values():
            found = self._last(paths)
            if found is not None:
                if text := _outdated(found):
                    outdated[text] += 1
                yield found.result
        for line in (*_notes(outdated, len(kept)), *self._of_old()):
            warnings.warn(line, stacklevel=2)

    def find(self, trials: Iterable[Trial]) -> tuple[list[Result | None], list[str]]:
        """What is stored of these, of other code where there is nothing of today's; and notes."""
        kept, found, outdated = self._by_key(), [], Counter[str]()
        for trial in trials:
            result = self.get(trial)
            if result is None and (last := self._last(kept.get(trial.key, []))) is not None:
                outdated[_reason(trial, last)] += 1
                result = last.result.of(trial)
            found.append(result)
        notes = _notes(outdated, len(found))
        return found, [*notes, *self._of_old()] if None in found else notes

    def _last(self, paths: list[Path]) -> Stored | None:
        """Of the results of one trial the one of today's code, or else the one made last."""
        read = {path: _read(path) for path in sorted(paths, key=_age)}
        for found in read.values():
            if isinstance(found, str):
                warnings.warn(f"{found}; it is left out", stacklevel=3)
        good = [found for found in read.values() if isinstance(found, Stored)]
        today = [found for found in good if not _outdated(found)]
        return next(iter([*today, *good]), None)

    def _by_key(self) -> dict[str, list[Path]]:
        """Files by what was asked, whatever code has answered."""
        kept: dict[str, list[Path]] = {}
        for path in sorted(self.trials.glob("*-*.npz")):
            kept.setdefault(path.stem.partition("-")[0], []).append(path)
        return kept

    def _of_old(self) -> list[str]:
        n = sum(bool(OLD.fullmatch(path.stem)) for path in self.trials.glob("*.npz"))
        told = f"{self.trials} holds {n} results of gim 0.1.0, which did not record its code: they"
        return [f"{told} are not used"] if n else []


def _notes(outdated: Counter[str], total: int) -> list[str]:
    """How many of all results are of other code, by reason."""
    found = outdated.most_common()
    return [f"{n} of {total} results are of other code: {text}" for text, n in found]


def _age(path: Path) -> int:
    """The youngest first; what cannot be looked at, such as a link that leads nowhere, last."""
    try:
        return -path.stat().st_mtime_ns
    except OSError:
        return 0


def _outdated(found: Stored) -> str:
    """Why a result is not of today's code; empty if it is."""
    try:
        trial = Trial(**found.trial)
        return _reason(trial, found)
    except (ValueError, TypeError, OSError) as problem:
        return f"its trial cannot be made any more ({problem})"


def _reason(trial: Trial, found: Stored | str) -> str:
    if isinstance(found, str):
        return found
    return reason(trial.code, found.modules, found.versions)


def _read(path: Path) -> Stored | str:
    """What a file holds, or what is wrong with it."""
    try:
        saved = files.load(path, KIND)
        meta = saved.meta
        if meta.get("digest") != path.stem:
            return f"{path} holds the trial {meta.get('digest')}, not that of its name"
        if wrong := _malformed(meta):
            return f"{path} {wrong}"
        result = Result.unpack(saved.arrays, meta["columns"])
        if wrong := _wrong(result, meta["trial"]):
            return f"{path} {wrong}"
        return Stored(result, meta["trial"], meta["code"]["modules"], meta["code"]["versions"])
    except (ValueError, OSError, LookupError, ArithmeticError, TypeError) as problem:
        return str(problem)


def _malformed(meta: Mapping[str, Any]) -> str:
    """Which part of the meta is of another form than `Store.put` writes; empty if none is."""
    trial, code, columns = (meta.get(name) for name in ("trial", "code", "columns"))
    if not isinstance(columns, dict):
        return "holds no columns"
    if not isinstance(trial, dict) or set(trial) != set(ASKED):
        return f"does not say what was asked: {', '.join(ASKED)}"
    for name, kind in ASKED.items():
        if not isinstance(trial[name], kind) or isinstance(trial[name], bool):
            return f"has {brief(trial[name])} for the {name} of its trial"
    for part in ("modules", "versions"):
        given = code.get(part) if isinstance(code, dict) else None
        if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
            return f"does not say what code has made it ({part})"
    return ""


def _wrong(result: Result, trial: Mapping[str, Any]) -> str:
    """What no trial like this gives; empty if there is nothing of the kind."""
    columns, curves = result.columns, result.curves
    if lacking := {*MEASURES, *MACHINE} - columns.keys():
        return f"lacks the column {min(lacking)}"
    for name, value in columns.items():
        large = isinstance(value, int) and abs(value) > INT
        if large or not isinstance(value, str if name in WORDS else int | float):
            return f"has {brief(value)} in the column {name}"
        if name in trial and trial[name] is not None and value != trial[name]:
            return (
                f"has {brief(value)} in the column {name}, where its trial has {brief(trial[name])}"
            )
    at = points(columns["episodes"])
    for name in {"episode", "cumulative", "return"} | curves.keys():
        curve = curves.get(name)
        if curve is None or curve.shape != at.shape or curve.dtype.kind not in "if":
            return f"has no curve {name!r} of {at.size} points"
    return "" if (curves["episode"] == at).all() else "has a curve of other episodes"
