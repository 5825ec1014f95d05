"""Look at the installation: versions, machine, compile cache, extras, folders.

    gim doctor

The exit status is 1 if something would keep gim from working, 0 otherwise."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import gim
from gim._base.limits import available_memory, processors
from gim._compile.backend import Entry
from gim.cli.colour import paint
from gim.cli.command import FAILED
from gim.cli.screen import table

NEEDED = ("numpy", "scipy", "numba", "gymnasium")
EXTRAS = {  # what an extra is for, and what it brings
    "plot": ("pictures", ("matplotlib",)),
    "log": ("logs in PostgreSQL or Arrow", ("adbc_driver_postgresql", "pyarrow")),
    "lab": ("experiments and report pages", ("matplotlib", "plotly", "jinja2", "pyarrow")),
    "ray": ("experiments on a cluster", ("ray",)),
}
SLOWER = "its internals are not those that gim knows, so compiled code is slower"
OLD = "the checks do not run on it: Python 3.11 or later is needed"
GOOD, SOSO, BAD = "ok", "note", "bad"
COLOURS = {GOOD: "green", SOSO: "yellow", BAD: "red"}
Line = tuple[str, str, str]  # how it is, what, what is found


def options(parser: argparse.ArgumentParser) -> None:
    """Nothing is asked."""


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    lines = [*_versions(), *_machine(), *_cache(), *_extras(), *_folders()]
    rows = [[how.ljust(4), what, found] for how, what, found in lines]
    for line in table(rows, align="<<<").splitlines():
        how, rest = line[:4].strip(), line[4:]
        print(
            (paint(how.ljust(4), COLOURS[how], sys.stdout) if how in COLOURS else line[:4]) + rest
        )
    bad = sum(how == BAD for how, *_ in lines)
    print(f"\n{'all is well' if not bad else f'{bad} of these must be mended first'}")
    return FAILED if bad else 0


def _versions() -> list[Line]:
    old = sys.version_info < (3, 11)
    found = [
        (BAD if old else GOOD, "python", platform.python_version() + (f": {OLD}" if old else ""))
    ]
    found.append((GOOD, "gim", f"{gim.__version__} in {Path(gim.__file__).parent}"))
    for name in NEEDED:
        try:
            found.append((GOOD, name, version(name)))
            if name == "numba" and Entry.__module__.endswith("interface"):
                found[-1] = (SOSO, name, f"{version(name)}: {SLOWER}")
        except PackageNotFoundError:
            found.append((BAD, name, f"missing: pip install {name}"))
    return found


def _machine() -> list[Line]:
    memory = available_memory()
    size = "unknown" if memory is None else f"{memory / 2**30:.1f} GiB"
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    told = ", ".join(f"{name}={value}" for name, value in threads.items() if value)
    return [
        (GOOD, "system", f"{platform.system()} {platform.machine()}"),
        (GOOD, "processors", f"{processors()}: so many trials run at a time"),
        (GOOD, "memory", f"{size} that may be used"),
        (GOOD, "threads", told or "of the linear algebra: its own default (trials run with one)"),
    ]


def _cache() -> list[Line]:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return [(SOSO, "compiling", "off (NUMBA_DISABLE_JIT): everything runs as plain Python")]
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(gim.__file__).parent)
    if not _writable(folder):
        return [(SOSO, "compile cache", f"{folder} cannot be written: numba's own place is taken")]
    sizes = [path.stat().st_size for path in folder.rglob("*.nb[ic]")]
    if not sizes:
        return [(SOSO, "compile cache", f"empty, in {folder}: the first run of an agent compiles")]
    return [
        (GOOD, "compile cache", f"{len(sizes):,} files, {sum(sizes) / 2**20:.0f} MiB, {folder}")
    ]


def _extras() -> list[Line]:
    found = []
    for extra, (purpose, packages) in EXTRAS.items():
        missing = [name for name in packages if find_spec(name) is None]
        told = f'{purpose}: pip install "gim[{extra}]"' if missing else purpose
        found.append((SOSO if missing else GOOD, f"extra {extra}", told))
    return found


def _folders() -> list[Line]:
    found = []
    for what, folder in (("this folder", Path.cwd()), ("temporary", Path(tempfile.gettempdir()))):
        good = _writable(folder)
        told = f"{folder}" if good else f"{folder} cannot be written: results need a folder"
        found.append((GOOD if good else BAD, what, told))
    return found


def _writable(folder: Path) -> bool:
    above = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)
