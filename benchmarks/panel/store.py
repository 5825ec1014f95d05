"""Runs in files: one for each while a panel is played, and all together to compare with later."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT
from benchmarks.panel.figures import Runs
from benchmarks.panel.play import Bounds, Played

TODAY = Path(__file__).parent / "today.json"
KEPT = ROOT / "results" / "panel"
DIGITS = 7  # of a number in a file
PLAYS = "cases.py", "panel/play.py", "panel/rules.py", "panel/worlds.py"


def home(tree: Path, agent: str) -> Path:
    """Where single runs are kept: by agent, and by all code that plays, whichever tree it is of.

    Comments and layout do not count, so that runs outlive a change of words.
    """
    here = ROOT / "benchmarks"
    files = [*(tree / "gim").rglob("*.py"), *(here / "written").glob("*.py")]
    files += [here / name for name in PLAYS]
    digest = hashlib.sha256(agent.encode())
    for path in sorted(files):
        digest.update(ast.dump(ast.parse(path.read_bytes())).encode())
    return KEPT / digest.hexdigest()[:12]


def file_of(folder: Path, world: str, seed: int) -> Path:
    """The file of a run."""
    return folder / f"{world}-{seed}.json"


def keep(folder: Path, run: Played) -> None:
    """Write a run whole or not at all."""
    file = file_of(folder, run.world, run.seed)
    folder.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(line_of(run) + "\n", "utf-8")
    new.replace(file)


def kept(
    folder: Path, worlds: Iterable[str], seeds: Iterable[int]
) -> dict[tuple[str, int], Played]:
    """Those runs that are there."""
    places = [(world, seed) for seed in seeds for world in worlds]
    return {
        place: run_of(json.loads(file.read_text("utf-8")))
        for place in places
        if (file := file_of(folder, *place)).exists()
    }


def line_of(run: Played) -> str:
    """A run as a line of JSON, its numbers rounded to DIGITS."""
    return json.dumps(rounded(run._asdict() | {"bounds": [*map(list, run.bounds)]}))


def rounded(value: Any) -> Any:
    """The same with numbers of DIGITS digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(x) for name, x in value.items()}
    return [*map(rounded, value)] if isinstance(value, list | tuple) else value


def run_of(told: dict[str, Any]) -> Played:
    """A run from what was read."""
    bounds = tuple(Bounds(*b) for b in told["bounds"])
    lists = {name: tuple(told[name]) for name in ("returns", "deployed")}
    return Played(**(told | lists | {"bounds": bounds}))


def stored(file: Path) -> dict[tuple[str, int], Played]:
    """All runs of a file, by world and seed."""
    runs = [run_of(told) for told in json.loads(file.read_text("utf-8"))["runs"]]
    return {(run.world, run.seed): run for run in runs}


def store(file: Path, runs: Runs, about: dict[str, str]) -> None:
    """Write runs into a file, beside those of other worlds and seeds that it has."""
    every = (stored(file) if file.exists() else {}) | dict(runs)
    lines = ",\n".join(line_of(every[place]) for place in sorted(every))
    new = file.with_suffix(".new")
    new.write_text(f'{{"about": {json.dumps(about)},\n"runs": [\n{lines}\n]}}\n', "utf-8")
    new.replace(file)
