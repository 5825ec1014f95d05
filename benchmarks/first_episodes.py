"""What the first episodes bring on worlds that people know, by analogy and without.

    python -m benchmarks.first_episodes                       # 100 episodes, 10 seeds from 7000
    python -m benchmarks.first_episodes queues inventory --seeds 20
    python -m benchmarks.first_episodes --written             # worlds the learner was not made for

Every world is played by the default learner and by its plain twin, UCBVI with its bonus by rule,
from the same seeds. 0 is the random policy and 1 the optimum, both exact, so a score is the mean
share of the way over all episodes from the first; gains are paired, with their standard errors.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import gim
from benchmarks import written
from benchmarks.common import machine, table
from gim.envs.worlds import world_of

WORLDS = (
    "gridworld",
    "gridworld:height=8,width=8,horizon=40,slip=0.2,start=0",
    "gridworld:height=20,width=20,horizon=100,slip=0.2,start=0",
    "FrozenLake-v1:map_name=8x8",
    "queues",
    "inventory",
    "button",
    "garnet",
)
AGENTS = ("ucbvi:scale=none,growth=0.1", "analogist")


def share(agent: str, mdp: gim.TabularMDP, episodes: int, seed: int) -> float:
    """The mean share of the way from the random policy to the optimum."""
    low, high = mdp.random_return(), mdp.optimal_return()
    return float((gim.run(agent, mdp, episodes, seed).returns.mean() - low) / (high - low))


def table_of(word: str) -> gim.TabularMDP:
    """The world of that name, from its table if it is an environment's."""
    world = world_of(word)
    return world if isinstance(world, gim.TabularMDP) else gim.from_gymnasium(world)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("worlds", nargs="*")
    parser.add_argument("--written", action="store_true", help="those of benchmarks/written")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=7000, help="the first seed")
    parser.add_argument("--episodes", type=int, default=100)
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    print(f"{machine()}; {given.episodes} episodes, {given.seeds} seeds from {given.first}")
    rows = []
    for word in given.worlds or (written.WORLDS if given.written else WORLDS):
        mdp = written.WORLDS[word]() if given.written else table_of(word)
        found = np.array([[share(a, mdp, given.episodes, s) for a in AGENTS] for s in seeds])
        gain = found[:, 1] - found[:, 0]
        error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else float("nan")
        rows.append([word, *(f"{x:.3f}" for x in found.mean(axis=0)), f"{gain.mean():+.3f}"])
        rows[-1] += [f"{error:.3f}", f"{gain.min():+.3f}"]
        print(*rows[-1], file=sys.stderr, flush=True)
    print(table(["world", "plain twin", "analogist", "gain", "error", "least"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
