"""A whole run of GIM on a grid of 99,856 states, until its plan: time, memory, and the gap.

    python -m benchmarks.large_gim [SIDE [SEED ...]]

316 x 316 cells, slip .2, each cell equally likely to start from, episodes of 1,000 steps, goals
near a corner. `GIM(m=10, rho=0.8)` explores, completes and plans, on one core. The gap is what its
plan loses on the true grid, over what the best policy earns more than random play: exact, not
played. Several seeds make a row each; peak memory is that of the process, so of the worst so far.

How often m visits mislead a plan whoever makes them is measured beside it: every pair of a small
grid with the same goals is drawn m times, so that nothing is left to infer.
"""

from __future__ import annotations

import resource
import sys
from time import process_time

from benchmarks.common import machine, table  # before numpy

# isort: split
import numpy as np
from numpy.typing import NDArray

import gim
from gim.runs.run import prepare

SIDE, SLIP, H, M = 316, 0.2, 1000, 10
SMALL, TRIALS = 12, 60  # side of the small grid, plans on it
GAP, GIGABYTES = 0.05, 2.0  # at most
PHASES = ("interacting", "planning the walk", "completing", "planning")


def world(side: int) -> gim.TabularMDP:
    """A grid where each cell is equally likely to start from."""
    grid = gim.make("gridworld", height=side, width=side, slip=SLIP, horizon=H)
    return grid.with_(start=np.full(grid.S, 1 / grid.S))


def gaps_of_draws(m: int, trials: int, side: int = SMALL) -> NDArray[np.float64]:
    """Gaps [trials] of the best plans on models made of m draws of every pair."""
    mdp = world(side)
    P, pays, rng = (
        np.asarray(mdp.transitions),
        np.asarray(mdp.rewards_next),
        np.random.default_rng(0),
    )
    best, plain, gaps = mdp.optimal_return(), mdp.random_return(), np.empty(trials)
    for trial in range(trials):
        drawn = rng.multinomial(m, P) / m
        seen = gim.TabularMDP(drawn, (drawn * pays).sum(axis=2), horizon=H)
        gaps[trial] = (best - mdp.policy_return(seen.plan().policy)) / (best - plain)
    return gaps


def main(side: int = SIDE, *seeds: int) -> int:
    """Print the tables; 1 if a target is missed."""
    began = process_time()
    mdp = world(side).to_sparse()
    built = process_time() - began
    best, plain = mdp.optimal_return(), mdp.random_return()
    rows, missed = [], False
    for seed in seeds or [0]:
        run = prepare(gim.GIM(m=M, rho=0.8), mdp, 10_000_000, seed=seed)
        began = process_time()
        run.go(lambda _, run=run: run.plans > 0)  # type: ignore[misc]
        used = process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        n = run.memory.belief.counts.n
        gap = (best - mdp.policy_return(run.policy)) / (best - plain)
        spent = [f"{run.seconds.get(phase, 0.0):,.1f}" for phase in PHASES]
        seen = [f"{1 - n.any(axis=1).mean():.3%}", f"{(n == 0).mean():.3%}"]
        rows.append([str(seed), f"{run.steps:,}", *spent, f"{used:,.1f}", *seen])
        rows[-1] += [f"{peak:.2f}", f"{gap:.2%}"]
        missed |= gap > GAP or peak > GIGABYTES
    print(machine())
    print(f"{mdp.S:,} states; the world was built in {built:.1f} s, not counted below")
    names = ["seed", "steps", *PHASES, "in all, s", "states never left", "pairs never met"]
    print(table([*names, f"GiB (< {GIGABYTES:g})", f"gap (< {GAP:.0%})"], rows))
    print(f"\nplans on {SMALL} x {SMALL} cells, each pair drawn m times: {TRIALS} gaps")
    drawn = {m: gaps_of_draws(m, TRIALS) for m in (M, 2 * M, 4 * M)}
    shares = [[str(m), f"{(x > GAP).mean():.0%}", f"{np.median(x):.2%}"] for m, x in drawn.items()]
    print(table(["m", f"above {GAP:.0%}", "median"], shares))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
