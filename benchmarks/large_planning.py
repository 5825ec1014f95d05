"""Planning on grids of 99,856 states, against QuantEcon and mdpsolver in the same run.

    python -m benchmarks.large_planning [SIDE]

Grids of 316 x 316 cells with a slip of .2, stored sparse: two goals near a corner, as in our grid
world, or a reward of its own for every pair. Each side is given the same CSR arrays, and its time
is that of building its model from them and of one plan. A peer's plan counts if its values are
within the error asked for, measured in the largest entry, whatever tolerance that took; the
fastest of its settings counts. mdpsolver takes lists: making these is not counted. Over a horizon
QuantEcon's backward induction is the one peer. The last lines are the peak memory of a process that
is given the arrays and plans, interpreter and libraries included.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import gim
from benchmarks.common import machine, table
from benchmarks.planning import Settings, ask, fastest

SIDE, SLIP = 316, 0.2
DISCOUNTS = (0.95, 0.99, 0.999)
ERROR = 1e-3
STEPS, MANY_STEPS = 50, 1000
REPEATS, LONG = 3, 1.0
TARGET = 0.5  # our time over that of the best peer
MEGABYTES = 500

Parts = tuple[Any, Any]  # CSR transitions and rewards [S, A]


def near_goals(side: int) -> Parts:
    """Our grid world: goals at (2,2) and (3,3), a cost for every step."""
    mdp = gim.make("gridworld", height=side, width=side, slip=SLIP)
    return mdp.to_sparse().transitions, mdp.rewards


def everywhere(side: int) -> Parts:
    """The same moves; a reward from [0, 1] for every pair, drawn once."""
    P, r = near_goals(side)
    return P, np.random.default_rng(0).random(r.shape)


GRIDS = {"goals in a corner": near_goals, "rewards everywhere": everywhere}


def optimum(mdp: gim.TabularMDP, discount: float) -> Any:
    """V*, to some 1e-7: a plan of ours, its error bounded here by one sweep of SciPy's."""
    v = gim.plan(mdp, discount=discount, tolerance=1e-8).v
    ahead = mdp.rewards + discount * (mdp.transitions @ v).reshape(mdp.S, mdp.A)
    off = np.abs(ahead.max(axis=1) - v).max() / (1 - discount)
    if off > ERROR / 1000:
        raise RuntimeError(f"the reference may be {off:.1e} off, too much for an error of {ERROR}")
    return v


def steps_by_scipy(mdp: gim.TabularMDP, H: int) -> Any:
    """Values of the first of H steps, by plain sweeps."""
    v = np.zeros(mdp.S)
    for _ in range(H):
        v = (mdp.rewards + (mdp.transitions @ v).reshape(mdp.S, mdp.A)).max(axis=1)
    return v


def quantecon_settings() -> Settings:
    return [
        {"method": "mpi", "k": k, "epsilon": e, "max_iter": 100_000}
        for k in (5, 20)
        for e in (ERROR, ERROR / 100)
    ]


def mdpsolver_settings(mdp: gim.TabularMDP) -> Settings:
    start = {"initValueVector": mdp.rewards.max(axis=1).tolist()}
    return [
        {"algorithm": "mpi", "update": u, "tolerance": ERROR, "parIterLim": k, **start}
        for u, k in (("standard", 20), ("gs", 100))
    ]


def built_and_planned(parts: Parts, **question: Any) -> tuple[float, float, Any]:
    """Median processor seconds of building the MDP and of its plan, and the plan."""
    building, planning = [], []
    for _ in range(REPEATS + 1):  # the first also compiles
        began = process_time()
        mdp = gim.TabularMDP(*parts)
        built = process_time()
        plan = gim.plan(mdp, **question)
        building.append(built - began)
        planning.append(process_time() - built)
    return median(building[1:]), median(planning[1:]), plan


def discounted(name: str, parts: Parts, discount: float) -> tuple[float, list[str]]:
    """Our time over the best peer's, and the line of the table."""
    mdp = gim.TabularMDP(*parts)
    truth = optimum(mdp, discount)
    building, planning, plan = built_and_planned(parts, discount=discount, tolerance=ERROR)
    error, rivals = float(np.abs(plan.v - truth).max()), []
    for peer, settings in (
        ("quantecon", quantecon_settings()),
        ("mdpsolver", mdpsolver_settings(mdp)),
    ):
        built, times = ask(peer, mdp, discount, settings, truth, REPEATS, LONG)
        seconds, setting = fastest(times, ERROR)
        rivals.append((built + seconds, setting))
    return _line([name, f"{discount}"], building + planning, error, rivals)


def over_steps(name: str, parts: Parts) -> tuple[float, list[str]]:
    """The same over a horizon."""
    mdp = gim.TabularMDP(*parts)
    truth = steps_by_scipy(mdp, STEPS)
    building, planning, plan = built_and_planned(parts, horizon=STEPS)
    error = float(np.abs(plan.first - truth).max())
    built, times = ask("quantecon", mdp, 1.0, [{"horizon": STEPS}], truth, REPEATS, LONG)
    rivals = [(built + fastest(times, ERROR)[0], ""), (np.inf, "")]
    return _line([name, f"H = {STEPS}"], building + planning, error, rivals)


def _line(
    cells: list[str], ours: float, error: float, rivals: list[Any]
) -> tuple[float, list[str]]:
    ratio = ours / min(seconds for seconds, _ in rivals) if error <= ERROR else np.inf
    shown = [f"{1e3 * t:.0f} {word}".strip() if t < np.inf else "none" for t, word in rivals]
    return ratio, [*cells, f"{error:.0e}", f"{1e3 * ours:.0f}", *shown, f"{ratio:.2f}"]


def memory(parts: Parts, job: str) -> float:
    """The most megabytes of a process of its own that is given the arrays and does this."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_memory, (parts, job))


def _memory(parts: Parts, job: str) -> float:
    jobs = {"plan": gim.plan, "optimal_return": gim.TabularMDP.optimal_return}
    jobs[job](gim.TabularMDP(*parts, horizon=MANY_STEPS))
    return _peak() / 1e6


def _peak() -> int:
    """The most memory that this process has held, in bytes; by getrusage its parent's counts."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
    except (OSError, StopIteration):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(side: int = SIDE) -> int:
    """Print the table; 1 if a target is missed."""
    print(machine())
    headings = [f"{side}x{side} grid", "discount", "our error", "our ms", "QuantEcon ms"]
    worst = 0.0
    for name, make in GRIDS.items():
        parts = make(side)
        jobs = [partial(discounted, name, parts, discount) for discount in DISCOUNTS]
        lines = [job() for job in (*jobs, partial(over_steps, name, parts))]
        shown = [cells for _, cells in lines]
        print(table([*headings, "mdpsolver ms", "ratio"], shown), flush=True)
        worst = max(worst, *(ratio for ratio, _ in lines))
    print(f"worst ratio {worst:.2f}, target {TARGET}", flush=True)
    most = 0.0
    for job in ("plan", "optimal_return"):
        most = max(most, megabytes := memory(near_goals(side), job))
        print(f"H = {MANY_STEPS}, {job}: {megabytes:.0f} MB, target {MEGABYTES}", flush=True)
    return int(worst > TARGET or most > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
