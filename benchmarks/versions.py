"""Steps a second against another version of gim: whether a change has made learners slower.

    python -m benchmarks.versions ../before
    python -m benchmarks.versions ../before --rounds 60 --agents ucbvi --worlds riverswim
    python -m benchmarks.versions ../before --agents gim --steps 5000000

The argument is the folder of another tree. Both versions stay loaded in a process of their own and
play in turns, so that a busy machine slows both; of each the fastest quarter of the rounds counts,
in processor time. `gim:m=1000000` explores all the time, `gim` mostly follows its plan; the more
steps, the less its inference and its start count. Everything is compiled before the first round,
parts that would otherwise run plain until compiling them pays (`gim.jit.seldom`) as well.

The compiler does not order code in the same way each time: one source compiled twice runs at speeds
up to a tenth apart. Repeat with other folders in `NUMBA_CACHE_DIR` before a ratio is believed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean, median

from benchmarks.common import machine, table

WORLDS = ["riverswim", "gridworld", "casinoland", "synthetic"]
LEARNERS = ["q_learning", "ucbvi", "gim", "gim:m=1000000"]
GOAL = 0.95
STEPS = {"ucbvi": 40_000}  # of a round, so that it takes some tenths of a second
MANY = 1_000_000  # of the others
ROOT = Path(__file__).parent.parent

SERVER = """
import sys, time, warnings, gim, gim.jit
gim.jit.MUCH = gim.jit.AT_ONCE = 0.0
warnings.simplefilter("ignore")
for line in sys.stdin:
    agent, world, steps = line.split()
    mdp = gim.make(world)
    n = max(1, int(steps) // mdp.horizon)
    before = time.process_time()
    gim.run(agent, mdp, episodes=n, seed=3)
    print(n * mdp.horizon / (time.process_time() - before), flush=True)
"""


class Version:
    """A tree of gim, loaded, that plays when it is asked to."""

    def __init__(self, root: Path) -> None:
        alone = {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            cwd=root,
            env=os.environ | alone,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rate(self, agent: str, world: str, steps: int) -> float:
        """Steps a second of one round."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(agent, world, steps, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{agent} does not play in {world}")
        return float(answer)

    def close(self) -> None:
        """End it."""
        self.process.communicate()


def ratio(
    versions: tuple[Version, Version], agent: str, world: str, steps: int, rounds: int
) -> list[float]:
    """Steps a second before and now, their ratio, and the median of the ratios of rounds."""
    for version in versions:
        version.rate(agent, world, steps)  # compiles
    rates: tuple[list[float], list[float]] = ([], [])
    for k in range(rounds):
        for i in (0, 1) if k % 2 else (1, 0):
            rates[i].append(versions[i].rate(agent, world, steps))
    old, new = (mean(sorted(each)[-max(1, rounds // 4) :]) for each in rates)
    return [old, new, new / old, median(b / a for a, b in zip(*rates, strict=True))]


def main() -> int:
    """Print the table; 1 if something is slower than it may be."""
    parser = argparse.ArgumentParser("python -m benchmarks.versions", description=__doc__)
    parser.add_argument("before", type=Path, help="the folder of another tree")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, help="of a round; else by learner")
    parser.add_argument("--agents", nargs="+", default=LEARNERS)
    parser.add_argument("--worlds", nargs="+", default=WORLDS)
    args = parser.parse_args()
    versions = Version(args.before.resolve()), Version(ROOT)
    rows, missed = [], False
    try:
        for agent in args.agents:
            for world in args.worlds:
                steps = args.steps or STEPS.get(agent, MANY)
                old, new, fast, usual = ratio(versions, agent, world, steps, args.rounds)
                missed |= max(fast, usual) < GOAL
                rates = [f"{rate / 1e6:.2f}" for rate in (old, new)]
                rows.append([agent, world, *rates, f"{fast:.3f}", f"{usual:.3f}"])
                print(*rows[-1], file=sys.stderr, flush=True)
    finally:
        for version in versions:
            version.close()
    print(machine())
    head = ["agent", "world", "before, M/s", "now", "ratio", "median of rounds"]
    print(table(head, rows))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
