"""What a model learned in one task brings to another, judged first or trusted blindly.

    python -m benchmarks.reuse                     # 20 seeds, 500 and 5,000 episodes

The first task (full rank, S=20, A=10, rewards by state) is learned in 5,000 episodes. The second is
the same; has other rewards; other dynamics in six of its states; or other dynamics everywhere. The
Analogist plays it alone, with the model as a candidate (`prior=`), and its plain twin plays it with
the model's visits taken as its own. Shares of the optimum, and paired differences to playing alone.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import gim
from benchmarks.common import machine, table

STATES = 6  # in which dynamics change in part


def tasks(seed: int) -> tuple[gim.TabularMDP, dict[str, gim.TabularMDP]]:
    """The first task, and the second ones by how they differ."""
    first, other = (
        gim.make("mixtures", rank=10, rewards="state", seed=k) for k in (seed, 10_000 + seed)
    )
    P = first.transitions.copy()
    P[:STATES] = other.transitions[:STATES]
    return first, {
        "the same": first,
        "other rewards": first.with_(rewards=other.rewards),
        f"other dynamics in {STATES} of 20 states": first.with_(transitions=P),
        "other dynamics": first.with_(transitions=other.transitions),
    }


def scores(episodes: list[int], seeds: range) -> dict[tuple[str, int], np.ndarray]:
    """By second task and episodes: [seeds, 3] alone, judged, trusted."""
    found: dict[tuple[str, int], list[list[float]]] = {}
    for seed in seeds:
        first, seconds = tasks(seed)
        model = gim.run("analogist", first, 5_000, seed=seed).model
        for name, mdp in seconds.items():
            for n in episodes:
                runs = [
                    gim.run(agent, mdp, n, seed=seed, prior=prior).score
                    for agent, prior in (
                        ("analogist", None),
                        ("analogist", model),
                        ("analogist:infer=none", model),
                    )
                ]
                found.setdefault((name, n), []).append(runs)
        print(f"(seed {seed} done)", file=sys.stderr, flush=True)
    return {key: np.array(rows) for key, rows in found.items()}


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=3000, help="the first seed")
    parser.add_argument("--episodes", type=int, nargs="+", default=[500, 5_000])
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    print(f"{machine()}; {given.seeds} seeds from {given.first}", flush=True)
    rows = []
    for (name, n), found in scores(given.episodes, seeds).items():
        row = [name, f"{n:,}", *(f"{x:.3f}" for x in found.mean(axis=0))]
        for column in (1, 2):
            gain = found[:, column] - found[:, 0]
            row.append(f"{gain.mean():+.3f} ({gain.std(ddof=1) / len(gain) ** 0.5:.3f})")
        rows.append(row)
    heads = [
        "second task",
        "episodes",
        "alone",
        "judged",
        "trusted",
        "judged gains",
        "trusted gains",
    ]
    print(table(heads, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
