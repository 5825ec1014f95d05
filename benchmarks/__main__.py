"""All benchmarks in one run: `make bench`. Ratios against peers and floors, never bare seconds.

What the parts print goes into one page as it is printed, results/bench/page.md, with the plots that
they draw: docs/benchmarks.md says what stands there.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from pathlib import Path
from typing import TextIO

PARTS = (
    "start",
    "loop",
    "stepwise",
    "walks",
    "curves",
    "planning",
    "sparse_planning",
    "large_planning",
    "large_gim",
    "large_learner",
    "completion",
    "refresh",
    "agents",
    "scores",
    "toy_text",
)
PAGE = Path("results/bench/page.md")


class Both(io.TextIOBase):
    """A stream that writes to two."""

    def __init__(self, one: TextIO, other: TextIO) -> None:
        self.streams = one, other

    def write(self, text: str) -> int:
        """Write to both."""
        for stream in self.streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush both: a run that is stopped leaves what it has."""
        for stream in self.streams:
            stream.flush()


def run(part: str, page: TextIO) -> bool:
    """Run a part, its name and what it prints onto the screen and the page; True if it missed."""
    module = importlib.import_module(f"benchmarks.{part}")
    print(f"\n== {part} ==", flush=True)
    about = (module.__doc__ or "").partition("\n")[0]
    page.write(f"\n## {part}\n\n{about} `python -m benchmarks.{part}`\n\n```text\n")
    with contextlib.redirect_stdout(Both(sys.stdout, page)):
        missed = bool(module.main())
    page.write("```\n")
    shown = getattr(module, "SHOWN", None)
    if shown is not None:
        page.write(f"\n![{part}]({shown.name})\n")
    page.flush()
    return missed


def main() -> int:
    """Run every part (or those named), and count what misses its target."""
    parts = sys.argv[1:] or PARTS
    sys.argv[1:] = []  # the parts read their own
    failed = []
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    with PAGE.open("w", encoding="utf-8") as page:
        page.write("# Benchmarks\n")
        for part in parts:
            if run(part, page):
                failed.append(part)
        verdict = "all targets met" if not failed else f"targets missed in: {', '.join(failed)}"
        page.write(f"\n{verdict}\n")
    print(f"\n{verdict}; the page is {PAGE}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
