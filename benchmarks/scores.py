"""Scores of agents on the paper's four tasks, with the paper's numbers of episodes.

    python -m benchmarks.scores                            # the agents with a target
    python -m benchmarks.scores gim rmax.authors "ucbvi:scale=0.1" --seeds 20

The score is the mean return over the exact optimum's, defaults and no tuning per task. Seed k plays
its own synthetic task and grid, drawn by k, with agent seed k. `NAME.authors` is what the published
code does on each task; other presets (`gim.paper`) are written likewise.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import gim
from benchmarks.common import machine, table
from gim.runs.agent import agents

EPISODES = {"synthetic": 10_000, "gridworld": 10_000, "casinoland": 5_000, "riverswim": 5_000}
DRAWN = ("synthetic", "gridworld")  # tasks that are drawn anew for each seed
TARGETS = {
    "analogist": (0.99, 0.985, 0.99, 0.99),
    "gim": (0.90, 0.91, 0.90, 0.97),
    "gim.authors": (0.769, 0.758, 0.890, 0.835),  # their own .799, .788, .920, .865, less .03
    "rmax": (0.93, 0.92, 0.95, 0.97),
    "psrl": (0.98, 0.97, 0.95, 0.98),
    "ucbvi:scale=0.03": (0.97, 0.97, 0.98, 0.98),
}
BELOW = {("rmax:r_max=1", "riverswim"): 0.05}  # as in the paper


def agent_of(word: str, task: str) -> gim.Agent:
    """The agent that a word means on a task."""
    name, dot, preset = word.partition(".")
    if dot and name.isidentifier() and preset.isidentifier():
        made = getattr(agents[name], preset)
        return made(task) if preset == "authors" else made()
    return agents.make(word)


def world_of(task: str, seed: int) -> gim.TabularMDP:
    """The task that a seed plays."""
    return gim.make(task, seed=seed) if task in DRAWN else gim.make(task)


def scores(word: str, task: str, seeds: int, first: int = 0) -> np.ndarray:
    """The score of each seed from the first on, [seeds]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = (
            gim.run(agent_of(word, task), world_of(task, k), EPISODES[task], seed=k)
            for k in range(first, first + seeds)
        )
        return np.array([run.score for run in runs])


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agents", nargs="*", default=[*TARGETS, "rmax:r_max=1"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args(arguments)
    print(f"{machine()}; {given.seeds} seeds from {given.first}; mean score and standard error")
    rows, missed = [], []
    for word in given.agents:
        row = [word]
        for task, target in zip(EPISODES, TARGETS.get(word, (None,) * 4), strict=True):
            found = scores(word, task, given.seeds, given.first)
            mean, error = (
                found.mean(),
                found.std(ddof=1) / len(found) ** 0.5 if given.seeds > 1 else 0,
            )
            row.append(f"{mean:.3f} ({error:.3f})")
            if target is not None and mean < target:
                missed.append(f"{word} on {task}: {mean:.3f}, not {target}")
            limit = BELOW.get((word, task))
            if limit is not None and mean >= limit:
                missed.append(f"{word} on {task}: {mean:.3f}, not below {limit}")
        rows.append(row)
    print(table(["agent", *EPISODES], rows))
    for text in missed:
        print(f"MISSED: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
