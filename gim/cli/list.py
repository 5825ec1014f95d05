"""List the things of every kind by name; give a kind, and names, to read more of them."""

from __future__ import annotations

import argparse
import textwrap

from gim._base.registry import Registry, did_you_mean
from gim.cli.command import commands
from gim.cli.listing import listing


def options(parser: argparse.ArgumentParser) -> None:
    """Take a kind, and names of that kind."""
    add = parser.add_argument
    add("kind", nargs="?", metavar="KIND", help="agent, task, walk, ...: those of this kind only")
    add("name", nargs="*", metavar="NAME", help="these only, with all there is to say")


def run(args: argparse.Namespace) -> int:
    """Print the names of all kinds, or what there is of one."""
    known = kinds()
    if args.kind is None:
        print("\n\n".join(f"{kind}\n{_names(known[kind])}" for kind in sorted(known)))
    elif args.kind not in known:
        raise ValueError(f"unknown kind {args.kind!r}{did_you_mean(args.kind, known)}")
    else:
        print(listing(known[args.kind], args.name))
    return 0


def kinds() -> dict[str, Registry]:
    """The registries of all kinds of things, those of other packages' commands as well."""
    import gim.testing  # noqa: F401 - every kind has a kit there, which knows its registry

    commands()  # they import what they list
    return {registry.kind: registry for registry in Registry.every}


def _names(registry: Registry) -> str:
    names = ", ".join(registry.names())
    return textwrap.fill(names, 88, initial_indent="    ", subsequent_indent="    ")
