"""Steps a second against another version of gim: whether a change has made learners slower.

    python -m benchmarks.versions ../before
    python -m benchmarks.versions ../before --rounds 20 --agents ucbvi --worlds riverswim
    python -m benchmarks.versions ../before --agents gim --steps 5000000

The argument is the folder of another tree. Both versions stay loaded in a process of their own and
play in turns, so that a busy machine slows both; of each the fastest quarter of the rounds counts,
in processor time. `gim:m=1000000` explores all the time, `gim` mostly follows its plan; the more
steps, the less its inference and its start count. Everything is compiled before the first round,
parts that would otherwise run plain until compiling them pays (`gim._compile.jit.seldom`) as well.

The compiler does not order code in the same way each time: one source compiled twice runs at speeds
up to a tenth apart. So both are compiled anew several times (`--compilations`), and a ratio is one
of means over the compilations; the lowest and the highest ratio of one stand beside it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

from benchmarks.common import machine, table

WORLDS = ["riverswim", "gridworld", "casinoland", "synthetic"]
LEARNERS = ["q_learning", "ucbvi", "gim", "gim:m=1000000", "analogist"]
GOAL = 0.95
STEPS = {
    "ucbvi": 40_000,
    "analogist": 20_000,
}  # of a round, so that it takes some tenths of a second
MANY = 1_000_000  # of the others
ROOT = Path(__file__).parent.parent

SERVER = """
import sys, time, warnings, gim
try:
    from gim._compile import jit
except ImportError:  # as it stood up to 0.2.0.dev0
    from gim import jit
jit.MUCH = jit.AT_ONCE = 0.0
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

    def __init__(self, root: Path, cache: Path) -> None:
        """With what it compiles kept in `cache`."""
        alone = {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            cwd=root,
            env=os.environ | alone | {"NUMBA_CACHE_DIR": str(cache)},
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


def fastest(
    versions: tuple[Version, Version], agent: str, world: str, steps: int, rounds: int
) -> tuple[float, float]:
    """Steps a second before and now, in the fastest quarter of the rounds."""
    for version in versions:
        version.rate(agent, world, steps)  # compiles
    rates: tuple[list[float], list[float]] = ([], [])
    for k in range(rounds):
        for i in (0, 1) if k % 2 else (1, 0):
            rates[i].append(versions[i].rate(agent, world, steps))
    old, new = (mean(sorted(each)[-max(1, rounds // 4) :]) for each in rates)
    return old, new


def compiled_anew(
    before: Path, games: list[tuple[str, str, int]], rounds: int
) -> list[tuple[float, float]]:
    """Steps a second before and now in each game, both versions compiled for it."""
    with tempfile.TemporaryDirectory() as folder:
        versions = Version(before, Path(folder, "before")), Version(ROOT, Path(folder, "now"))
        try:
            return [fastest(versions, *game, rounds) for game in games]
        finally:
            for version in versions:
                version.close()


def row_of(agent: str, world: str, rates: list[tuple[float, float]]) -> tuple[list[str], float]:
    """What the table says of a game, given the rates of each compilation; and the ratio."""
    old, new = (mean(each) for each in zip(*rates, strict=True))
    alone = [now / before for before, now in rates]
    said = [f"{old / 1e6:.2f}", f"{new / 1e6:.2f}", f"{new / old:.3f}"]
    return [agent, world, *said, f"{min(alone):.2f} to {max(alone):.2f}"], new / old


def main() -> int:
    """Print the table; 1 if something is slower than it may be."""
    parser = argparse.ArgumentParser("python -m benchmarks.versions", description=__doc__)
    parser.add_argument("before", type=Path, help="the folder of another tree")
    parser.add_argument("--compilations", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=8, help="of each compilation")
    parser.add_argument("--steps", type=int, help="of a round; else by learner")
    parser.add_argument("--agents", nargs="+", default=LEARNERS)
    parser.add_argument("--worlds", nargs="+", default=WORLDS)
    args = parser.parse_args()
    games = [
        (agent, world, args.steps or STEPS.get(agent, MANY))
        for agent in args.agents
        for world in args.worlds
    ]
    found = []
    for k in range(args.compilations):
        found.append(compiled_anew(args.before.resolve(), games, args.rounds))
        for (agent, world, _), (old, new) in zip(games, found[-1], strict=True):
            said = f"compilation {k + 1} of {args.compilations}: {agent} {world} {new / old:.3f}"
            print(said, file=sys.stderr, flush=True)
    told = [
        row_of(agent, world, list(rates))
        for (agent, world, _), rates in zip(games, zip(*found, strict=True), strict=True)
    ]
    print(machine())
    head = ["agent", "world", "before, M/s", "now", "ratio", "of single compilations"]
    print(table(head, [row for row, _ in told]))
    return int(any(ratio < GOAL for _, ratio in told))


if __name__ == "__main__":
    sys.exit(main())
