"""The command `gim`: `command.py` runs it, every other file with `options` is one subcommand.

Imports everything of gim but the laboratory, whose subcommands come by the entry points of
`gim.commands`, as those of any package may. Begin with `command.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gim.cli import starting  # noqa: F401  first, for while the rest is imported


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; see `gim.cli.command.main`."""
    words = [*(sys.argv[1:] if argv is None else argv)]  # `list` is a subcommand here
    if words == ["--version"]:  # at once, whatever else takes long to import
        from gim import __version__

        print(f"gim {__version__}")
        return 0
    from gim.cli import command

    return command.main(words)
