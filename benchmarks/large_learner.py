"""The default learner in large worlds: its time over the plain twin's, and its peak memory.

    python -m benchmarks.large_learner                         # all three, 5,000 and 1,000 episodes
    python -m benchmarks.large_learner synthetic:S=200,A=50 500
    python -m benchmarks.large_learner gridworld:height=100,width=100,slip=0.2,horizon=100 1000

Both play in turn, a fiftieth of their episodes at a time, so that a busy machine is the same for
both. Without inference the twin has little to plan with: it is what counting alone would cost.
Beyond 1,000 states the learner plays alone.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

from benchmarks.common import machine, table
from gim.envs.worlds import world_of
from gim.runs.agent import agents
from gim.runs.run import prepare

TWIN, LEARNER = "ucbvi:scale=none,growth=0.1", "analogist"
TASKS = {
    "synthetic:S=200,A=50": 5_000,
    "shared_factors:S=200,A=50": 5_000,
    "gridworld:height=100,width=100,slip=0.2,horizon=100": 1_000,
}
ALONE = 1_000  # states
TARGET, MEMORY = 2.5, 2048  # of the twin's time; MiB
SHARES = (0.02, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the episodes, at which to look


def seconds(run: Any) -> dict[str, float]:
    """Processor seconds by phase, without what was compiled."""
    return {name: each for name, each in run.seconds.items() if name != "compiling"}


def main(task: str | None = None, episodes: int | None = None, seed: int = 5000) -> int:
    """Print a table for each task; the number of targets missed."""
    print(machine())
    tasks = TASKS if task is None else {task: episodes or TASKS.get(task, 1_000)}
    return sum(measured(name, each, seed) for name, each in tasks.items())


def measured(task: str, episodes: int, seed: int) -> bool:
    """Play one task; whether it missed its target."""
    world: Any = world_of(task)
    world = world.to_sparse() if world.S > ALONE else world
    names = (LEARNER,) if world.S > ALONE else (LEARNER, TWIN)
    runs = [prepare(agents.make(name), world, episodes, seed=seed) for name in names]
    block = max(1, episodes // 50)
    rows: list[list[str]] = []
    marks = {max(1, round(share * episodes)) for share in SHARES}
    for done in range(block, episodes + block, block):
        for run in runs:
            run.pause_at(min(done, episodes) * world.horizon)
        if any(done - block < mark <= done for mark in marks):
            spent = [seconds(run) for run in runs]
            times = [sum(each.values()) for each in spent]
            rows.append(
                [
                    f"{min(done, episodes):,}",
                    *(f"{each:.1f}" for each in times),
                    f"{times[0] / times[1]:.2f}" if len(runs) > 1 else "",
                    *(f"{spent[0].get(name, 0.0):.1f}" for name in ("planning", "inferring")),
                    f"{runs[0].plans:,}",
                    f"{peak():,.0f}",
                ]
            )
    heads = ["episodes", "s", *(["twin"] if len(runs) > 1 else []), "ratio"]
    print(f"\n{task}, H = {world.horizon}")
    print(table([*heads, "planning", "inferring", "plans", "peak MiB"], rows))
    print("share of the optimum:", *(f"{world.score(run.returns):.3f}" for run in runs))
    missed = len(runs) > 1 and times[0] > TARGET * times[1]
    return missed or peak() > MEMORY


def peak() -> float:
    """The most memory that this process has had, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2], *map(int, sys.argv[2:])))  # type: ignore[arg-type]
