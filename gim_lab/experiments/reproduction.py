"""From results to findings: every chosen artefact analysed, every claim judged, and by what means.

A folder of results holds `trials/` (the store) and `reproduction.json`, which says what was run at
which scale and how; with both, the findings are made again without running anything.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gim._base.files import check_source, replacing
from gim._base.params import brief
from gim_lab.claims.ledger import Entry, ledger
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.catalogue import chosen, groups, shortest
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.scale import SCALES, Scale
from gim_lab.trials.results import Results
from gim_lab.trials.store import Store
from gim_lab.trials.trial import Trial

MANIFEST = "reproduction.json"
MOST_BYTES = 2**20  # of that file
LONGEST_RUN = 1e10  # seconds: centuries
KINDS: dict[str, tuple[Any, str]] = {  # what the file holds
    "keys": (list, "a list of artefacts"),
    "scale": (str, "a text"),
    "command": (str, "a text"),
    "seconds": ((int, float), "a number"),
    "versions": (dict, "texts by package"),
}
TITLES = {  # of a report, by group; the first that has one of its experiments counts
    "demo": "Learning by analogy",
    "all": "Reproduction of the paper's experiments",
    "analogy": "Analogy, put to the test",
}
PACKAGES = ("gim", "numpy", "scipy", "numba", "gymnasium")


@dataclass(frozen=True)
class Manifest:
    """What was run, and how."""

    keys: list[str]
    scale: str
    command: str
    seconds: float  # of the last run, from start to end
    versions: dict[str, str] = field(default_factory=lambda: versions())

    def save(self, folder: Path) -> Manifest:
        """Write it; what the folder has at the same scale already is kept with it."""
        before = Manifest.load(folder) if there(folder) else None
        keys = self.keys
        if before is not None and before.scale == self.scale:
            keys = list(dict.fromkeys([*before.keys, *keys]))
        merged = Manifest(keys, self.scale, self.command, self.seconds, self.versions)
        with replacing(folder / MANIFEST) as file:
            file.write((json.dumps(asdict(merged), indent=2) + "\n").encode())
        return merged

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read it; what is not one of ours is refused."""
        path = check_source(folder / MANIFEST, "a folder of gim reproduce")
        try:
            if (size := path.stat().st_size) > MOST_BYTES:
                raise ValueError(f"it has {size:,} bytes, {MOST_BYTES:,} are the limit")
            given = json.loads(path.read_bytes())
            if not isinstance(given, dict) or set(given) != set(KINDS):
                raise ValueError(f"it must hold {', '.join(KINDS)}, and nothing else")
            for name, (kind, text) in KINDS.items():
                if not isinstance(given[name], kind) or isinstance(given[name], bool):
                    raise ValueError(f"{name} must be {text}")
            found = cls(**given)
            if not found.keys or not all(isinstance(key, str) for key in found.keys):
                raise ValueError("keys must be the names of artefacts, one or more")
            chosen(found.keys)
            if found.scale not in SCALES:
                raise ValueError(f"no scale is called {brief(found.scale)}")
            if not 0 <= found.seconds <= LONGEST_RUN:
                raise ValueError(f"seconds = {brief(found.seconds)} is no time that a run can take")
            if not all(isinstance(each, str) for each in found.versions.values()):
                raise ValueError("versions must be texts by package")
        except RecursionError:
            raise ValueError(
                f"{path} cannot be used: it is nested too deep; run gim reproduce again"
            ) from None
        except ValueError as problem:
            raise ValueError(f"{path} cannot be used: {problem}; run gim reproduce again") from None
        return found


def there(folder: Path) -> bool:
    """Whether a folder says what was run in it; a link that leads nowhere counts, to be told of."""
    path = folder / MANIFEST
    return path.exists() or path.is_symlink()


@dataclass(frozen=True)
class Made:
    """What made an artefact."""

    command: str
    trials: int
    runs: int
    seeds: str
    seconds: float  # of computing, over all trials


@dataclass(frozen=True)
class Findings:
    """All that a report shows."""

    title: str
    scale: str
    command: str
    seconds: float
    versions: dict[str, str]
    artefacts: list[Artefact]
    made: dict[str, Made]  # by key of the artefact
    entries: list[Entry]  # the ledger
    remarks: list[str] = field(default_factory=list)  # what a reader must know of the results


def findings(manifest: Manifest, results: Results, runs: int | None = None) -> Findings:
    """Analyse and judge; pure but for the tasks that are built to look at them.

    With `runs`, the first so many runs of each cell alone.
    """
    scale = scale_of(manifest, runs)
    experiments = chosen(manifest.keys)
    found = ResultsByCell(results, scale)
    return Findings(
        title=_title(manifest.keys),
        scale=manifest.scale,
        command=manifest.command,
        seconds=manifest.seconds,
        versions=manifest.versions,
        artefacts=[each.analyse(found) for each in experiments],
        made={each.key: _made(each, found, scale) for each in experiments},
        entries=ledger(found, manifest.keys),
    )


def trials_of(experiments: Iterable[Experiment], scale: Scale) -> list[Trial]:
    """The trials of several experiments, each once, run by run; those on one task stand together.

    The first runs of all cells come first: what was stopped has as many of everything. A worker
    keeps the MDPs that it has built last: the large ones take longer to draw than to play.
    """
    run: dict[Trial, int] = {}
    for cell in (cell for each in experiments for cell in each.cells(scale)):
        for k, trial in enumerate(cell.trials):
            run[trial] = min(k, run.get(trial, k))
    return sorted(run, key=lambda trial: (run[trial], trial.task))


def scale_of(manifest: Manifest, runs: int | None = None) -> Scale:
    """The scale at which something was run, or its first runs alone."""
    scale = SCALES[manifest.scale]
    return scale if runs is None else replace(scale, runs=min(runs, scale.runs))


def stored(folder: Path, runs: int | None = None, partial: bool = False) -> Findings:
    """The findings of a folder in which everything was run, if need be with other code.

    Args:
        folder: of `gim reproduce`.
        runs: the first so many alone, where no more have ended yet.
        partial: whether trials may be missing, which are gaps then.
    """
    manifest = Manifest.load(folder)
    store = Store(folder)
    trials = trials_of(chosen(manifest.keys), scale_of(manifest, runs))
    found, remarks = store.find(trials)
    for remark in remarks:
        warnings.warn(remark, stacklevel=2)
    missing = sum(result is None for result in found)
    if missing and not partial:
        names = " ".join(shortest(manifest.keys))
        again = f"gim reproduce {names} --scale {manifest.scale} --out {folder}"
        raise ValueError(f"{folder} lacks {missing} of {len(trials)} trials: run {again}")
    if missing:
        remarks = [*remarks, f"{missing} of {len(trials)} trials have not ended and are left out"]
    kept = Results.of(result for result in found if result is not None)
    return replace(findings(manifest, kept, runs), remarks=remarks)


def versions() -> dict[str, str]:
    """Of Python and of the packages that may change a bit."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _made(experiment: Experiment, results: ResultsByCell, scale: Scale) -> Made:
    cells = experiment.cells(scale)
    trials = experiment.trials(scale)
    seconds = results.table.column("seconds_total") if trials else ()
    rows = [results.row(trial) for trial in trials]
    return Made(
        command=f"gim reproduce {experiment.key} --scale {scale.name}",
        trials=len(trials),
        runs=max((len(cell.trials) for cell in cells), default=0),
        seeds=_span([trial.seed for trial in trials]),
        seconds=float(sum(seconds[row] for row in rows if row is not None)),
    )


def _title(keys: Iterable[str]) -> str:
    many = groups()
    return next((TITLES[group] for group in TITLES if {*keys} & {*many[group]}), "Experiments")


def _span(seeds: Sequence[int]) -> str:
    return f"{min(seeds)} to {max(seeds)}" if seeds else "none"
