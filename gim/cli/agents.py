"""List the agents and their parameters; name some to read all about them."""

from __future__ import annotations

import argparse

from gim.cli.listing import listing
from gim.runs.agent import agents

MORE = """\
Write an agent as its name and what differs from the defaults: q_learning:alpha=0.2,epsilon=0.05"""


def options(parser: argparse.ArgumentParser) -> None:
    """Take names."""
    parser.add_argument("name", nargs="*", help="show these only, with all there is to say")


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    print(listing(agents, args.name))
    if not args.name:
        print(f"\n{MORE}")
    return 0
