"""Taxi by the published protocol: steps until the best policy is optimal from six probes.

    python -m benchmarks.taxi_probes                                   # rewards learned, 10 runs
    python -m benchmarks.taxi_probes --rewards known --steps 2000
    python -m benchmarks.taxi_probes rmax:m=1 --size 10 --runs 2

`run.best_policy()` is looked at every 25 steps; what counts is when it became optimal from all
probes and stayed so until the last step (Diuk, Cohen and Littman, 2008; `gim_lab.trials.probes`).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import gim
from benchmarks.common import machine, table
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim_lab.trials.probes import Probed


def probe_steps(agent: str, mdp: gim.TabularMDP, steps: int, seed: int, rewards: str) -> float:
    """Steps until optimal for good; NaN if that was not within so many."""
    run = Probed.of(prepare(agents.make(agent), mdp, steps, seed, rewards=rewards))
    run.pause_at(steps)
    return run.probe_steps()


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent", nargs="?", default="analogist")
    parser.add_argument("--rewards", choices=("learn", "known"), default="learn")
    parser.add_argument("--size", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4700, help="of a run")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=7000, help="the first seed")
    given = parser.parse_args(arguments)
    mdp = gim.make("taxi", size=given.size)
    found = []
    for seed in range(given.first, given.first + given.runs):
        found.append(probe_steps(given.agent, mdp, given.steps, seed, given.rewards))
        print(seed, found[-1], file=sys.stderr, flush=True)
    steps = np.array(found)
    done = steps[np.isfinite(steps)]
    error = done.std(ddof=1) / done.size**0.5 if done.size > 1 else float("nan")
    heads = ["learner", "rewards", "optimal within", "steps, mean", "error", "least", "most"]
    row = [given.agent, given.rewards, f"{done.size} of {steps.size} runs"]
    if done.size:
        row += [f"{x:,.0f}" for x in (done.mean(), error, done.min(), done.max())]
    print(f"{machine()}; Taxi {given.size}x{given.size}, {given.steps:,} steps a run")
    print(table(heads, [row + [""] * (len(heads) - len(row))]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
