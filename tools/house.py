"""How large the house is: lines of code by room, and the files that common calls enter.

    python -m tools.house
    python -m tools.house ../before --entered

Lines are those that hold code: no docstrings, comments, blank lines, imports. A file is entered
when a function of it is called, compiled or plain; what is only imported is not. What a call
imports is imported before; each call is made in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

PACKAGES = ("gim", "gim_lab")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}
CALLS = {
    "gim.run": 'gim.run("analogist", "riverswim", episodes=20, seed=0)',
    "gim.learn": "gim.learn(gim.from_log(LOG), horizon=4)",
    "gim reproduce fig1": 'main(["reproduce", "fig1", "--scale", "smoke", "--engine", "serial", '
    '"--out", FOLDER])',
}
TRACED = """
import inspect, io, os, sys, tempfile, threading, warnings
from contextlib import redirect_stderr, redirect_stdout
warnings.simplefilter("ignore")
import gim
from gim.cli import main
ROOT = sys.argv[1] + os.sep
LOG = [dict(s=s, a=a, r=float(s == 2 and a), s2=(s + a) % 3, episode=e, step=h)
       for e in range(60) for h in range(4) for s, a in [((e + h) % 3, (e * h) % 2)]]
columns = {key: [row[key] for row in LOG] for key in LOG[0]}
LOG = columns
FOLDER = tempfile.mkdtemp()
files = set()
def called(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
        if code.co_filename.startswith((ROOT + "gim" + os.sep, ROOT + "gim_lab" + os.sep)):
            files.add(code.co_filename)
def call():
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        CALL
call()
FOLDER = tempfile.mkdtemp()
threading.setprofile(called)
sys.setprofile(called)
call()
sys.setprofile(None)
print(len(files))
for file in sorted(files):
    print(file[len(ROOT):])
"""


def code_lines(text: str) -> int:
    """How many lines of a module hold code.

    Example:
        >>> code_lines('"About."\\n\\nimport os\\n\\nx = (1,\\n     2)  # two\\n')
        2
    """
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        out = isinstance(node, ast.Import | ast.ImportFrom)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            out = isinstance(node.value.value, str)
        if out and isinstance(node, ast.stmt) and node.end_lineno is not None:
            found -= set(range(node.lineno, node.end_lineno + 1))
    return len(found)


def by_room(root: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines of code and files of each room; files in the root of a package are its own."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            inside = path.relative_to(root / package).parts
            room = package if len(inside) == 1 else f"{package}/{inside[0]}"
            lines[room] += code_lines(path.read_text("utf-8"))
            files[room] += 1
    return lines, files


def entered(root: Path, call: str) -> list[str]:
    """The files that a call enters, of the tree in `root`."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", TRACED.replace("CALL", call), str(root)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{call}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.splitlines()[1:]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser("python -m tools.house", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--entered", action="store_true", help="the files that calls enter, too")
    parser.add_argument("--list", action="store_true", help="name them")
    args = parser.parse_args()
    root = args.root.resolve()
    lines, files = by_room(root)
    for room in sorted(lines):
        print(f"{room:24}{lines[room]:8,} lines in {files[room]:3} files")
    print(f"{'all':24}{lines.total():8,} lines in {files.total():3} files")
    for name, call in CALLS.items() if args.entered or args.list else ():
        found = entered(root, call)
        print(f"{name} enters {len(found)} files")
        if args.list:
            print("\n".join(f"    {file}" for file in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
