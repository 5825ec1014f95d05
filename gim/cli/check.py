"""Check an environment or a log before learning: spaces, rewards, typos, coverage, time.

    gim check orders.csv --state stock --action order --reward profit --next stock_next
    gim check my_module:MyEnv-v0

Exit status 1 if there are problems. A log takes the options of `gim learn`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gim._base.files import replacing
from gim.cli.learn import as_options, columns, read
from gim.envs.worlds import world_of
from gim.logs.check import check

WORLDS = (".npz", ".py")  # how files end that are no logs


def options(parser: argparse.ArgumentParser) -> None:
    """Take a world or a log, and where to write a page."""
    text = "a world, or a log: a file, a folder, or the URL of a database"
    parser.add_argument("log", metavar="WHAT", help=text)
    columns(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it as a page")


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    path = Path(args.log)
    is_log = "://" in args.log or (path.exists() and path.suffix not in WORLDS) or "*" in args.log
    args.skip = True  # rows that cannot be used are counted
    found = check(read(args) if is_log else world_of(args.log, imports=True))
    print(as_options(str(found)))
    if args.out is not None:
        with replacing(args.out) as file:
            file.write(found.page(f"{path.name}: before learning").encode())
    return 0 if found.ok else 1
