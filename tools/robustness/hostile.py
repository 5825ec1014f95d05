"""Entries of the fuzzer: folders and files that nobody has written, labels that would steer."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gim._base import escapes, files, html
from gim._base.terminal import table
from gim.logs import from_log
from gim.logs.loading import load
from gim.mdp.policy import Policy
from gim_lab.experiments.reproduction import MANIFEST, Manifest
from gim_lab.trials.execute import execute
from gim_lab.trials.result import Result
from gim_lab.trials.results import Results
from gim_lab.trials.store import Store
from gim_lab.trials.study import Study
from gim_lab.trials.trial import Trial
from tools.robustness import run_files
from tools.robustness.inputs import Rng, refusing

JUNK: tuple[Any, ...] = (*run_files.JUNK, float("inf"), [3], ["\x1b[31m"], {"a": []}, "x" * 10**5)
GOOD = {"keys": ["fig1"], "scale": "smoke", "command": "gim", "seconds": 1.0, "versions": {}}
LETTERS = "=+-@'\"[]a1 ,;<&\t\r\n\x00\x07\x1b\x7f\x9b\u202e\ufeff＝é😀"


def manifests(rng: Rng) -> None:
    """`reproduction.json` with other fields, or other bytes."""
    given: dict[str, Any] = dict(GOOD)
    for name in rng.choice(list(GOOD), size=int(rng.integers(3)), replace=False).tolist():
        given[name] = JUNK[int(rng.integers(len(JUNK)))]
    data = bytearray(json.dumps(given).encode())
    for _ in range(int(rng.integers(3))):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / MANIFEST).write_bytes(data)
        with refusing():
            Manifest.load(Path(folder))


@cache
def _stored() -> tuple[Trial, files.Saved]:
    trial = Trial("riverswim", "random", 4, 0)
    with tempfile.TemporaryDirectory() as folder:
        execute([trial], folder, engine="serial")
        return trial, files.load(Store(folder).path(trial))


def stored_trials(rng: Rng) -> None:
    """Files of trials with junk in one field: taken, or left out with a warning, never an error."""
    trial, good = _stored()
    ways = list(run_files.fields(good.meta))
    place = ways[int(rng.integers(len(ways)))]
    with tempfile.TemporaryDirectory() as folder:
        path = Store(folder).path(trial)
        path.parent.mkdir()
        with refusing():
            meta = run_files.put(good.meta, place, JUNK[int(rng.integers(len(JUNK)))])
            files.save(path, "trial", good.arrays, meta)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            left = not len(Store(folder).results())
            Store(folder).find([trial])
        for each in told:
            if len(str(each.message).splitlines()) != 1:
                raise AssertionError(f"not one line: {each.message}")
        if left and not told:
            raise AssertionError("left out in silence")


READERS: tuple[tuple[str, Callable[[Path], Any]], ...] = (
    (MANIFEST, lambda path: Manifest.load(path.parent)),
    ("study.toml", Study.load),
    ("log.csv", from_log),
    ("log.parquet", from_log),
    ("world.npz", lambda path: Trial(str(path), "random", 2, 0).key),
    ("policy.csv", load),
    ("run.npz", load),
)


def no_files(rng: Rng) -> None:
    """A pipe, a device, a folder or a link to nowhere in place of a file."""
    name, read = READERS[int(rng.integers(len(READERS)))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        kind = int(rng.integers(5))
        if kind == 0:
            os.mkfifo(path)
        elif kind == 1:
            path.mkdir()
        else:
            path.symlink_to((path.name, "/dev/zero", "nowhere")[kind - 2])
        with refusing(OSError):
            read(path)
        raise AssertionError(f"{name} was read")


def labels(rng: Rng) -> None:
    """Labels of any letters: shown and written without harm, and the same when read back."""
    some = list(dict.fromkeys(_text(rng) for _ in range(6)))
    policy = Policy(np.arange(len(some)), some, some)
    columns = {"task": some[0], "seed": -1, "notes": some[-1]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        policy.to_csv(path)
        if (back := load(path, "policy")).states != policy.states or back.actions != policy.actions:
            raise AssertionError(f"{some!r} came back as {back.states.labels!r}")
        texts = [path.read_bytes().decode()]
        Results.of([Result(columns, {})]).to_csv(path)
        texts.append(path.read_bytes().decode())
    for text in texts:
        for row in csv.reader(io.StringIO(text, newline="")):
            for cell in row:
                if cell.startswith(escapes.FORMULA) and cell != "-1":
                    raise AssertionError(f"a formula in a CSV: {cell!r}")
    texts = [text.replace("\r\n", "\n") for text in texts]
    texts += [policy.table(), table([some], some), html.facts(some[0], [some])]
    for text in texts:
        harmless(text)


def harmless(text: str) -> None:
    """Raise if a text holds what may steer a terminal."""
    if found := escapes.BUT_LINES.search(text):
        place = slice(max(found.start() - 20, 0), found.end() + 20)
        raise AssertionError(f"a raw control character: {text[place]!r}")


def _text(rng: Rng) -> str:
    return "".join(rng.choice(list(LETTERS), size=int(rng.integers(6))).tolist())


ENTRIES: dict[str, tuple[Callable[[Rng], None], int]] = {  # and the share of the inputs
    "reproduction.json": (manifests, 4),
    "files of trials": (stored_trials, 2),
    "what is no file": (no_files, 3),
    "labels": (labels, 3),
}
