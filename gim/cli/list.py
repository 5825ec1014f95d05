"""List the things of every kind by name; give a kind, and names, to read more of them."""

from __future__ import annotations

import argparse
import textwrap

from gim._base.registry import Registry, did_you_mean
from gim.cli.listing import listing


def options(parser: argparse.ArgumentParser) -> None:
    """Take a kind, and names of that kind."""
    add = parser.add_argument
    add("kind", nargs="?", metavar="KIND", help="agent, task, walk, ...: those of this kind only")
    add("name", nargs="*", metavar="NAME", help="these only, with all there is to say")


def run(args: argparse.Namespace) -> int:
    """Print the names of all kinds, or what there is of one."""
    import gim.testing  # noqa: F401 - every kind has a kit there, which knows its registry

    kinds = {registry.kind: registry for registry in Registry.every}
    if args.kind is None:
        print("\n\n".join(f"{kind}\n{_names(kinds[kind])}" for kind in sorted(kinds)))
    elif args.kind not in kinds:
        raise ValueError(f"unknown kind {args.kind!r}{did_you_mean(args.kind, kinds)}")
    else:
        print(listing(kinds[args.kind], args.name))
    return 0


def _names(registry: Registry) -> str:
    names = ", ".join(registry.names())
    return textwrap.fill(names, 88, initial_indent="    ", subsequent_indent="    ")
