"""All benchmarks in one run: `make bench`. Ratios against peers and floors, never bare seconds."""

from __future__ import annotations

import importlib
import sys

PARTS = (
    "start",
    "loop",
    "stepwise",
    "walks",
    "planning",
    "large_planning",
    "completion",
    "refresh",
    "agents",
    "scores",
    "toy_text",
)


def main() -> int:
    """Run every part (or those named), and count what misses its target."""
    parts = sys.argv[1:] or PARTS
    failed = []
    for part in parts:
        print(f"\n== {part} ==", flush=True)
        if importlib.import_module(f"benchmarks.{part}").main():
            failed.append(part)
    print(f"\n{'all targets met' if not failed else 'targets missed in: ' + ', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
