"""The command `gim`: `command.py` runs it, every other file with `options` is one subcommand."""

from gim.cli.command import main

__all__ = ["main"]
