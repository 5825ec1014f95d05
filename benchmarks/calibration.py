"""Whether credible certificates keep their word: coverage over pairs and over runs, world by world.

    python -m benchmarks.calibration                          # all worlds, 10 runs from seed 8000
    python -m benchmarks.calibration gridworld riverswim --runs 100
    python -m benchmarks.calibration --table                  # what was measured by now

Every run is certified at its end, against the exact dynamics, and kept in results: a study that is
stopped goes on where it was. Columns: pairs that are inferred, and the share of them without a
bound; coverage of the bounds on abs((p - p~).V) and on the L1 distance (nominal .9), over all
inferred pairs with a bound and over those never met; the median of bound over error; the bound on
the loss (nominal .95) and the loss, as shares of the optimum; how often the loss and the return
keep to theirs. A star marks what is below nominal by more than two standard errors over runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

import gim
from benchmarks.common import ROOT, table
from gim.experiments.certified import bounds_of
from gim.experiments.measures import OF_PAIRS, OF_RETURNS
from gim.worlds import world_of

WORLDS = {  # episodes: runs are short, so that much is still inferred at their end
    "synthetic": 1000,
    "gridworld": 1000,
    "casinoland": 1000,
    "riverswim": 1000,
    "shared_factors:S=20,A=20": 500,
    "shared_factors:J=2,K=5": 300,
    "shared_factors:J=5,K=8": 300,
    "exceptions:S=20,A=12": 1000,
    "gate:S=30,A=12,behind=8": 300,
    "linear:S=20,A=12": 300,
    "clusters": 300,
    "garnet": 300,
    "inventory": 100,
    "inventory:capacity=14,largest=6": 200,
    "queues": 100,
    "gridworld:height=8,width=8,horizon=40,slip=0.2,start=0": 100,
    "FrozenLake-v1:map_name=8x8": 300,
    "four_rooms": 100,
    "button": 100,
    "wet_chicken": 100,
}
KEPT = ROOT / "results" / "calibration.jsonl"
NOMINAL = {
    "coverage": OF_PAIRS,
    "coverage_unmet": OF_PAIRS,
    "coverage_l1": OF_PAIRS,
    "coverage_unmet_l1": OF_PAIRS,
    "loss_kept": OF_RETURNS,
    "return_kept": OF_RETURNS,
}
COLUMNS = {
    "inferred": "inferred",
    "unbounded": "no bound",
    "coverage": "values",
    "coverage_unmet": "never met",
    "coverage_l1": "L1",
    "coverage_unmet_l1": "never met",
    "tightness": "bound/error",
    "loss_bound": "loss bound",
    "loss": "loss",
    "loss_kept": "loss kept",
    "return_kept": "return kept",
}


def measured(word: str, episodes: int, seed: int) -> dict[str, float]:
    """One run, certified; a world that is drawn is drawn anew."""
    try:
        world = gim.make(word, seed=seed)
    except ValueError:  # it has no seed, or is Gymnasium's
        world = world_of(word)
    mdp = world if isinstance(world, gim.TabularMDP) else gim.from_gymnasium(world)
    return bounds_of(gim.run("analogist", mdp, episodes, seed), "credible")


def text(name: str, values: np.ndarray) -> str:
    """Mean and standard error over the runs that have the figure."""
    values = values[np.isfinite(values)]
    if not values.size:
        return "-"
    mean = float(values.mean())
    if name not in NOMINAL:
        return f"{mean:,.0f}" if name == "inferred" else f"{mean:.3f}"
    error = float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else 0.0
    star = "*" if mean < NOMINAL[name] - 2.0 * error else ""
    return f"{mean:.3f} ({error:.3f}){star}"


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("worlds", nargs="*", default=list(WORLDS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=8000, help="the first seed")
    parser.add_argument("--episodes", type=int, help="of each run, instead of the usual number")
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--table", action="store_true", help="print what there is, play nothing")
    given = parser.parse_args(arguments)
    given.kept.parent.mkdir(parents=True, exist_ok=True)
    lines = given.kept.read_text().splitlines() if given.kept.exists() else []
    done = {(r["world"], r["episodes"], r["seed"]): r for r in map(json.loads, lines)}
    for seed in range(given.first, given.first + given.runs):
        for word in given.worlds:
            episodes = given.episodes or WORLDS.get(word, 300)
            if given.table or (word, episodes, seed) in done:
                continue
            found = {"world": word, "episodes": episodes, "seed": seed}
            found |= measured(word, episodes, seed)
            done[word, episodes, seed] = found
            with given.kept.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(word, seed, file=sys.stderr, flush=True)
    rows = []
    for word, episodes in sorted({key[:2] for key in done}, key=lambda key: (key[0], key[1])):
        runs = [each for key, each in done.items() if key[:2] == (word, episodes)]
        figures = {name: np.array([each[name] for each in runs], float) for name in COLUMNS}
        shown = [text(name, values) for name, values in figures.items()]
        rows.append([word, f"{episodes:,}", str(len(runs)), *shown])
    print(table(["world", "episodes", "runs", *COLUMNS.values()], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
