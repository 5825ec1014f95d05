"""Where finished trials are kept: one file each, under the digest of the trial.

A trial is stored as soon as it is finished, atomically, so that a second start goes on where the
first one stopped, however that ended. A changed parameter is another digest, hence a new trial. A
file that is damaged, or that holds something else than its name says, is reported and never used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from gim import files
from gim.experiments.measures import MEASURES
from gim.experiments.results import Results
from gim.experiments.trial import FORMAT, MACHINE, Result, Trial

KIND = "trial"


class Store:
    """A folder of finished trials.

    Args:
        folder: where; it is made when the first trial is stored.

    Example:
        >>> import tempfile
        >>> from gim.experiments import execute
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results = execute([Trial("riverswim", "random", 10, 0)], folder, engine="serial")
        ...     Store(folder).results().same_bits(results)
        True
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.trials = self.folder / "trials"
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file: give a folder for the results")

    def path(self, trial: Trial) -> Path:
        """Where the result of a trial is, or will be."""
        return self.trials / f"{trial.digest}.npz"

    def get(self, trial: Trial) -> Result | None:
        """The stored result of a trial, or None; a file that cannot be trusted is reported."""
        path = self.path(trial)
        if not path.exists():
            return None
        result = _read(path)
        if isinstance(result, str):
            warnings.warn(f"{result}; {trial.id} is run again", stacklevel=2)
            return None
        return result

    def put(self, trial: Trial, result: Result) -> None:
        """Store a result, atomically."""
        self.trials.mkdir(parents=True, exist_ok=True)
        arrays, columns = result.pack()
        meta = {"format": FORMAT, "trial": asdict(trial), "digest": trial.digest}
        files.save(self.path(trial), KIND, arrays, meta | {"columns": columns})

    def results(self) -> Results:
        """All that is stored, as one table; files that cannot be trusted are reported."""
        return Results.of(self)

    def __iter__(self) -> Iterator[Result]:
        for path in sorted(self.trials.glob("*.npz")):
            result = _read(path)
            if isinstance(result, str):
                warnings.warn(f"{result}; it is left out", stacklevel=2)
            else:
                yield result


def _read(path: Path) -> Result | str:
    """The result in a file, or what is wrong with it."""
    try:
        saved = files.load(path, KIND)
        if saved.meta.get("digest") != path.stem:
            return f"{path} holds the trial {saved.meta.get('digest')}, not that of its name"
        columns = saved.meta["columns"]
        if lacking := {*MEASURES, *MACHINE} - columns.keys():
            return f"{path} lacks the column {min(lacking)}"
        return Result.unpack(saved.arrays, columns)
    except (ValueError, OSError, LookupError, AttributeError) as problem:
        return str(problem)
