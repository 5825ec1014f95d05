"""Whether all is ready for a release.

    python -m tools.release              # or: make release
    python -m tools.release --quick      # without the tests of the unpacked sdist

The version is one everywhere and final; the changelog begins with it; the README leads nowhere that
is not there, and in the packages nowhere outside them; the sdist has all that its tests need, and
they pass; every block of Python in the README runs with the wheel in an empty environment.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import gim

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"\d+\.\d+\.\d+")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
NEEDED = (
    "Makefile",
    "constraints.txt",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "tests",
    "gim",
    "gim_lab",
)


def version() -> list[str]:
    """One version, and no development one."""
    found = [] if VERSION.fullmatch(gim.__version__) else [f"{gim.__version__} is not final"]
    for name, pattern in (
        ("CHANGELOG.md", r"^## (\S+)"),
        ("CITATION.cff", r"^version: (\S+)"),
        ("README.md", r"^!\[gim (\S+)\]"),
    ):
        told = re.search(pattern, (ROOT / name).read_text("utf-8"), re.M)
        if told is None or told[1] != gim.__version__:
            found.append(f"{name} says {told and told[1]}, not {gim.__version__}")
    return found


def changelog() -> list[str]:
    """What is new is read in two minutes."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first = text.split("\n## ")[1].split("\n### Where modules went\n")[0]
    words = len(first.split())
    return [f"the newest section of CHANGELOG.md has {words} words"] if words > 600 else []


def links() -> list[str]:
    """All files that pages name are there."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    found = []
    for page in pages:
        prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.S)
        for link in LINK.findall(prose):
            place = page.parent / link
            made = place.with_suffix(".py").exists() or place.name.startswith("api-")  # of the site
            if not (place.exists() or made):
                found.append(f"{page.relative_to(ROOT)} leads to {link}, which is not there")
    return found


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    made = _environment(folder / "builder")
    _run([made, "-m", "pip", "install", "--quiet", "hatchling"])
    _run([made, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)], cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        file.extractall(folder / "sdist", filter="data")
    (tree,) = (folder / "sdist").iterdir()
    _run([made, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=tree)
    (wheel,) = folder.glob("*.whl")
    return tree, wheel


def sdist_is_whole(tree: Path) -> list[str]:
    """What tests need is in the sdist."""
    return [f"the sdist lacks {name}" for name in NEEDED if not (tree / name).exists()]


def sdist_passes(tree: Path) -> list[str]:
    """`make test` from the unpacked sdist."""
    done = subprocess.run(["make", "test"], cwd=tree, check=False)
    return ["make test fails in the unpacked sdist"] if done.returncode else []


def wheel_is_whole(wheel: Path) -> list[str]:
    """Both packages, the templates, and a description without links to what it does not have."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        text = file.read(about).decode()
    wanted = ("gim/__init__.py", "gim_lab/__init__.py", "gim/agents/template.txt", "gim/py.typed")
    found = [f"the wheel lacks {name}" for name in wanted if name not in names]
    return found + [f"its description leads to {link}" for link in LINK.findall(text)]


def readme_runs(wheel: Path, folder: Path) -> list[str]:
    """Every block of the README, with the wheel alone."""
    python = _environment(folder / "empty")
    _run([python, "-m", "pip", "install", "--quiet", f"{wheel}[plot,log]"])
    text = (ROOT / "README.md").read_text("utf-8")
    found = []
    with tempfile.TemporaryDirectory() as place:
        orders = "import sys, pathlib; from tests.test_readme import write_orders as write\n"
        orders += "write(pathlib.Path(sys.argv[1]))"
        _run([sys.executable, "-c", orders, f"{place}/orders.csv"], cwd=ROOT)
        for i, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.S)):
            done = subprocess.run(
                [python, "-c", f"import gim\n{block}"],
                cwd=place,
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                found.append(f"block {i} of the README: {done.stderr.strip().splitlines()[-1]}")
    return found


def _environment(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    return str(folder / "bin" / "python")


def _run(command: list[str], cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Say what is not ready."""
    parser = argparse.ArgumentParser("python -m tools.release", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the tests of the sdist")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checks: list[tuple[str, Callable[[], list[str]]]] = [
            ("version", version),
            ("changelog", changelog),
            ("links", links),
        ]
        tree, wheel = built(folder)
        checks += [
            ("sdist", lambda: sdist_is_whole(tree)),
            ("wheel", lambda: wheel_is_whole(wheel)),
            ("README from the wheel", lambda: readme_runs(wheel, folder)),
        ]
        if not quick:
            checks.append(("tests from the sdist", lambda: sdist_passes(tree)))
        bad = 0
        for what, check in checks:
            found = check()
            bad += len(found)
            print(f"{what}: {'; '.join(found) if found else 'good'}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
