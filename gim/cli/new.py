"""Write a file to begin with: an agent, a task, a candidate or an experiment of your own.

    gim new agent least_tried
    gim new task corridor --out folder

The file is whole: `python least_tried.py` runs the conformance kit of its kind over it and shows
what it does. Change it, and run it again. As part of a package it is found by name everywhere, as
docs/extending.md says, which also has the other kinds: walks, completions, inferences, claims."""

from __future__ import annotations

import argparse
import keyword
import re
from importlib.resources import files
from pathlib import Path

from gim._base.registry import Registry, did_you_mean, snake
from gim._base.replacing import replacing
from gim.analogy.candidates.base import candidates
from gim.envs import tasks
from gim.runs.agent import agents
from gim_lab.experiments.experiment import experiments

KINDS: dict[str, Registry] = {
    "agent": agents,
    "task": tasks,
    "candidate": candidates,
    "experiment": experiments,
}


def options(parser: argparse.ArgumentParser) -> None:
    """Take a kind, a name, and where to write."""
    add = parser.add_argument
    add("kind", metavar="KIND", help=", ".join(KINDS))
    add("name", metavar="NAME", help="such as least_tried or LeastTried")
    add("--out", type=Path, default=Path(), metavar="FOLDER", help="where to write (here)")


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what to do with it."""
    if args.kind not in KINDS:
        raise ValueError(f"unknown kind {args.kind!r}{did_you_mean(args.kind, KINDS)}")
    name = snake(args.name)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ValueError(f"{args.name!r} is no name: give one of letters, such as least_tried")
    if name in KINDS[args.kind]:
        raise ValueError(f"the {args.kind} {name!r} exists: give yours another name")
    path = args.out / f"{name}.py"
    args.out.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise ValueError(f"{path} exists: give another name, or --out FOLDER")
    with replacing(path) as file:
        file.write(written(args.kind, name).encode())
    print(f"wrote {path}; to check it and see what it does: python {path}")
    return 0


def written(kind: str, name: str) -> str:
    """The file of a kind, with a name of its own in snake_case."""
    text = (files("gim.cli") / "templates" / f"{kind}.txt").read_text("utf-8")
    camel = "".join(part.capitalize() for part in name.split("_"))
    return text.replace("MyName", camel).replace("my_name", name)
