"""The panel: the default learner on some sixteen worlds, against figures stored of today's.

    python -m benchmarks.panel                        # 16 worlds, 8 seeds of block 0
    python -m benchmarks.panel --quick                # 2 seeds
    python -m benchmarks.panel --block 1              # other seeds: what was not decided on
    python -m benchmarks.panel --set calibration      # six worlds written for bounds
    python -m benchmarks.panel --worlds lake maze --seeds 4 --agent psrl
    python -m benchmarks.panel --tree ../before --store before.json
    python -m benchmarks.panel --against before.json

Each run has 100 episodes. 0 is the random policy and 1 the optimum, both exact, so a share is one
of the way between them. Told are: returns of all episodes from the first, paired by seed; what
`run.best_policy()` is worth after 3, 10, 30 and 100; whether `gim.certify(run, 0.9)` holds after
10, 30 and 100, and how wide it is; and processor time. A world asks for more seeds where the mean
paired difference is below -.01, and is lost where the mean plus two standard errors is below -.02.
Coverage is pooled over worlds, and its error is one over worlds. For seeds of which nothing is
stored, as for those forty more, play the other tree first, as in the last two lines above.

*Today* is `benchmarks/panel/today.json`, the default learner of commit 83a8fd7, or what `--against`
names. Every run is kept in results/panel, by the code that played it: what is stopped goes on where
it was, and code that was changed is played anew. Times are only as good as the machine is quiet: to
judge them, measure both trees side by side.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.panel.tree import ROOT

SEEDS = 8  # of a block
QUICK = 2
FIRST, APART = 31_000, 1_000  # the first seed of block 0, and from block to block
SETS = "panel", "calibration", "all"


def options(arguments: list[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.panel", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--set", choices=SETS, default="panel", help="which worlds")
    parser.add_argument("--worlds", nargs="+", metavar="WORLD", help="these instead")
    parser.add_argument("--block", type=int, default=0, help="of seeds")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="the first of the block")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seeds")
    parser.add_argument("--agent", default="analogist", help="a spec string")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--tree", type=Path, default=ROOT, help="whose gim plays")
    parser.add_argument("--against", type=Path, metavar="FILE", help="stored figures; today's")
    parser.add_argument("--store", type=Path, metavar="FILE", help="write the runs there")
    given = parser.parse_args(arguments)
    if not (given.tree / "gim" / "__init__.py").exists():
        parser.error(f"--tree {given.tree} has no folder gim: give the folder of a tree")
    if given.against is not None and not given.against.exists():
        parser.error(f"--against {given.against}: there is no such file")
    if not 1 <= given.seeds <= APART or given.block < 0 or given.jobs < 1:
        parser.error(f"give 1 to {APART} seeds, a block of 0 or more, and 1 process or more")
    given.seeds = QUICK if given.quick else given.seeds
    return given


def main(arguments: list[str] | None = None) -> int:
    """Play what is missing, print the tables; 1 if a world is lost."""
    given = options(arguments)
    first = FIRST + APART * given.block
    session = import_module("benchmarks.panel.session")  # not in workers: it imports our own gim
    return int(session.show(given, range(first, first + given.seeds)))


if __name__ == "__main__":
    sys.exit(main())
