"""List the worlds and their parameters; name some to read all about them."""

from __future__ import annotations

import argparse

from gim.cli.listing import listing
from gim.envs import tasks

MORE = """\
Write a world as its name and what differs from the defaults: riverswim:length=10
A saved MDP (my.npz) and a Gymnasium id (FrozenLake-v1:map_name=8x8) are worlds, too."""


def options(parser: argparse.ArgumentParser) -> None:
    """Take names."""
    parser.add_argument("name", nargs="*", help="show these only, with all there is to say")


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    print(listing(tasks, args.name))
    if not args.name:
        print(f"\n{MORE}")
    return 0
