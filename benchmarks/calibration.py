"""Whether certificates keep their word: coverage over pairs and over runs, world by world.

    python -m benchmarks.calibration                          # all worlds, 10 runs from seed 7100
    python -m benchmarks.calibration gridworld riverswim --runs 100
    python -m benchmarks.calibration gridworld --episodes 10000
    python -m benchmarks.calibration --table                  # what was measured by now

Every run is certified at its end, in both kinds, against the exact dynamics, and is a line of
results/calibration.csv: a study that is stopped goes on where it was. With `--keep FOLDER` the runs
themselves are kept, and certificates that were changed are measured without playing again.

Columns: pairs that are inferred, and the share of them without a bound; coverage of the bounds on
abs((p - p~).V) and on the L1 distance, over all inferred pairs with a bound and over those never
met; the median of bound over error; the bound on the loss, its median and the largest, and the
loss, as shares of the optimum; how often the loss and the return keep to theirs. All that is
covered or kept is nominally `gim.belief.shares.SHARE`; a star marks what is below it by more than
two standard errors over runs.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gim
from benchmarks.common import ROOT, table
from gim.belief.shares import SHARE
from gim.envs.worlds import world_of
from gim_lab.trials.certified import bounds_of

WORLDS = {  # episodes: runs are short, so that much is still inferred at their end
    "synthetic": 1000,
    "gridworld": 1000,
    "casinoland": 1000,
    "riverswim": 1000,
    "shared_factors:S=20,A=20": 300,
    "shared_factors:J=2,K=5": 300,
    "shared_factors:J=5,K=8": 300,
    "synthetic:rewards=state": 300,
    "mixtures:S=20,A=10,rank=10,rewards=state": 300,
    "riverswim:length=15,horizon=100": 300,
    "exceptions:S=20,A=12": 300,
    "noisy_arms": 300,
    "gate:S=30,A=12,behind=8": 300,
    "linear:S=20,A=12": 300,
    "linear:low=-1,high=0": 300,
    "linear:high=10000": 300,
    "prototypes": 300,
    "duplicates": 300,
    "clusters": 300,
    "garnet": 300,
    "gridworld:height=8,width=8,cost=0,horizon=20": 100,
    "FrozenLake-v1": 300,
    "FrozenLake-v1:map_name=8x8": 300,
    "four_rooms": 100,
    "inventory": 100,
    "inventory:capacity=14,largest=6": 100,
    "queues": 100,
    "sysadmin:machines=6": 100,
    "maintenance": 100,
    "wet_chicken": 100,
    "windy_grid": 100,
    "walls": 100,
    "teleports": 100,
    "button": 100,
    "taxi": 100,
}
KEPT = ROOT / "results" / "calibration.csv"
KINDS = {"credible": "", "guaranteed": "guaranteed_"}  # what their columns begin with
COVERAGE = ("coverage", "coverage_unmet", "coverage_l1", "coverage_unmet_l1")
SHARES = (*COVERAGE, "loss_kept", "return_kept")  # all nominally `gim.belief.shares.SHARE`
MEDIANS = ("tightness", "loss_bound")
COLUMNS = {
    "inferred": "inferred",
    "unbounded": "no bound",
    "coverage": "values",
    "coverage_unmet": "never met",
    "coverage_l1": "L1",
    "coverage_unmet_l1": "never met",
    "tightness": "bound/error",
    "loss_bound": "loss bound",
    "largest": "largest",
    "loss": "loss",
    "loss_kept": "loss kept",
    "return_kept": "return kept",
}
MEASURED = [name for name in COLUMNS if name != "largest"]
FIELDS = ["world", "episodes", "seed", "seconds"]
FIELDS += [prefix + name for prefix in KINDS.values() for name in MEASURED]


class Place(NamedTuple):
    """A run of the study."""

    world: str
    episodes: int
    seed: int

    def played(self, folder: Path | None) -> Any:
        """The run, from the folder if it is kept there; a world that is drawn is drawn anew."""
        file = None
        if folder is not None:
            name = re.sub(r"\W+", "_", self.world)
            file = folder / f"{name}-{self.episodes}-{self.seed}.npz"
            if file.exists():
                return gim.load(file)
        try:
            world: Any = gim.make(self.world, seed=self.seed)
        except ValueError:  # it has no seed, or is Gymnasium's
            world = world_of(self.world)
        mdp = world if isinstance(world, gim.TabularMDP) else gim.from_gymnasium(world)
        run = gim.run("analogist", mdp, self.episodes, self.seed)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            run.save(file)
        return run

    def measured(self, folder: Path | None) -> dict[str, Any]:
        """What both kinds of certificate say of the run, beside the truth."""
        began = process_time()
        run = self.played(folder)
        found: dict[str, Any] = {"seconds": 0.0}
        for kind, prefix in KINDS.items():
            bounds = bounds_of(run, kind)
            found |= {prefix + name: bounds[name] for name in MEASURED}
        return found | {"seconds": round(process_time() - began, 2)}


def kept(file: Path) -> dict[Place, dict[str, float]]:
    """What was measured by now; a line that was cut off is measured again."""
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if all(row.get(name) for name in FIELDS)]
    return {
        Place(row["world"], int(row["episodes"]), int(row["seed"])): {
            name: float(row[name]) for name in FIELDS[3:]
        }
        for row in rows
    }


def keep(file: Path, place: Place, found: dict[str, Any]) -> None:
    """Add a line; one that was cut off before it stays by itself."""
    new = not file.exists()
    cut = not new and not file.read_bytes().endswith(b"\n")
    with file.open("a", newline="") as lines:
        lines.write("\n" * cut)
        writer = csv.DictWriter(lines, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(place._asdict() | found)


def text(name: str, values: NDArray[np.float64]) -> str:
    """Mean and standard error over the runs that have the figure; a median; or the largest."""
    values = values[np.isfinite(values)]
    if not values.size:
        return "-"
    if name == "inferred":
        return f"{values.mean():,.0f}"
    if name in MEDIANS:
        return f"{np.median(values):.3g}"
    if name == "largest":
        return f"{values.max():.3g}"
    mean = float(values.mean())
    if name not in SHARES:
        return f"{mean:.3f}"
    error = float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else 0.0
    star = "*" if mean < SHARE - 2.0 * error else ""
    return f"{mean:.3f} ({error:.3f}){star}"


def tables(done: dict[Place, dict[str, float]]) -> str:
    """A table for each kind, a row for each world."""
    found = []
    for kind, prefix in KINDS.items():
        rows = []
        for world, episodes in sorted({place[:2] for place in done}):
            runs = [each for place, each in done.items() if place[:2] == (world, episodes)]
            shown = [
                text(name, np.array([each[prefix + column] for each in runs]))
                for name in COLUMNS
                for column in ["loss_bound" if name == "largest" else name]
            ]
            rows.append([world, f"{episodes:,}", str(len(runs)), *shown])
        heads = ["world", "episodes", "runs", *COLUMNS.values()]
        found.append(f"{kind}\n{table(heads, rows)}")
    return "\n\n".join(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("worlds", nargs="*", default=list(WORLDS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first", type=int, default=7100, help="the first seed")
    parser.add_argument("--episodes", type=int, help="of each run, instead of the usual number")
    parser.add_argument("--kept", type=Path, default=KEPT, help="the file of what was measured")
    parser.add_argument("--keep", type=Path, help="a folder for the runs themselves")
    parser.add_argument("--table", action="store_true", help="print what there is, play nothing")
    given = parser.parse_args(arguments)
    given.kept.parent.mkdir(parents=True, exist_ok=True)
    done = kept(given.kept)
    for seed in range(given.first, given.first + given.runs):
        for word in given.worlds:
            place = Place(word, given.episodes or WORLDS.get(word, 300), seed)
            if given.table or place in done:
                continue
            found = place.measured(given.keep)
            done[place] = found
            keep(given.kept, place, found)
            print(*place, f"{found['seconds']:g} s", file=sys.stderr, flush=True)
    print(tables(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
