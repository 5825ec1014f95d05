"""Write a file to begin with: an agent, a task, a candidate or an experiment of your own.

    gim new agent least_tried
    gim new task corridor --out folder

The file is whole: `python least_tried.py` runs the conformance kit of its kind over it and shows
what it does. Change it, and run it again. Every command takes it as it is, as in `gim train
riverswim --agent least_tried.py:LeastTried`, or after `--import least_tried.py`. docs/extending.md
has the other kinds, and how things of a package are found by name alone."""

from __future__ import annotations

import argparse
import keyword
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from gim._base.registry import did_you_mean, snake
from gim._base.replacing import replacing
from gim.cli.list import kinds

TEMPLATE = "template.txt"  # beside the things of a kind, for those that a file is written of


def options(parser: argparse.ArgumentParser) -> None:
    """Take a kind, a name, and where to write."""
    add = parser.add_argument
    add("kind", metavar="KIND", help="agent, task, candidate or experiment")
    add("name", metavar="NAME", help="such as least_tried or LeastTried")
    add("--out", type=Path, default=Path(), metavar="FOLDER", help="where to write (here)")


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what to do with it."""
    known = templates()
    if args.kind not in known:
        raise ValueError(f"unknown kind {args.kind!r}{did_you_mean(args.kind, known)}")
    name = snake(args.name)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ValueError(f"{args.name!r} is no name: give one of letters, such as least_tried")
    if name in kinds()[args.kind]:
        raise ValueError(f"the {args.kind} {name!r} exists: give yours another name")
    path = args.out / f"{name}.py"
    args.out.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise ValueError(f"{path} exists: give another name, or --out FOLDER")
    with replacing(path) as file:
        file.write(written(args.kind, name).encode())
    print(f"wrote {path}; to check it and see what it does: python {path}")
    return 0


def templates() -> dict[str, Traversable]:
    """By kind, the file to begin with."""
    found = {kind: files(registry.package) / TEMPLATE for kind, registry in kinds().items()}
    return {kind: file for kind, file in found.items() if file.is_file()}


def written(kind: str, name: str) -> str:
    """The file of a kind, with a name of its own in snake_case."""
    text = templates()[kind].read_text("utf-8")
    camel = "".join(part.capitalize() for part in name.split("_"))
    return text.replace("MyName", camel).replace("my_name", name)
