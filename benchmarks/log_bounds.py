"""How often the bounds hold that `gim.learn` gives on the value of its policy.

    python -m benchmarks.log_bounds                              # all places, 60 logs of each size
    python -m benchmarks.log_bounds wet_chicken --size 500 --logs 100 --first 7100

Places and sizes are those of `gim reproduce logs`, which asks one log in four for bounds. The
policy is the default's, its value exact. Nominal coverage is 90 %; a row *holds* if its coverage is
no more than two standard errors below. The last row is that of all logs together.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import machine, table
from gim.belief.shares import SHARE
from gim.logs.learning import DEFAULT
from gim_lab.experiments.logs.from_log import FromLog
from gim_lab.experiments.logs.places import PLACES

HEADS = ["place", "size", "logs", "below", "inside", "above", "coverage", "width", ""]


def bounded(place: str, size: int, seeds: range) -> NDArray[np.float64]:
    """Value, lower and upper bound and optimum of each log, [logs, 4]."""
    asked = FromLog(place, size, "analogy", 1)
    spent: dict[str, float] = defaultdict(float)
    found = [asked.one(PLACES[place], seed, spent) for seed in seeds]
    return np.array([[one[k] for k in (DEFAULT, "lower", "upper", "optimum")] for one in found])


def row_of(name: str, size: str, found: NDArray[np.float64]) -> list[str]:
    """A row of the table; the width is over the optimum, a median."""
    value, lower, upper, best = found.T
    below, above = value < lower, value > upper
    inside = 1.0 - float((below | above).mean())
    least = SHARE - 2 * math.sqrt(SHARE * (1 - SHARE) / len(found))
    width = float(np.median((upper - lower) / np.maximum(np.abs(best), 1e-9)))
    held = len(found) - below.sum() - above.sum()
    many = [f"{n}" for n in (len(found), below.sum(), held, above.sum())]
    told = "holds" if inside >= least else "fails"
    return [name, size, *many, f"{inside:.3f}", f"{width:.2f}", told]


def main(arguments: list[str] | None = None) -> int:
    """Print a line as soon as it is known, and the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("places", nargs="*", metavar="PLACE", help=", ".join(PLACES))
    parser.add_argument("--size", type=int, help="of a log; all of the place's")
    parser.add_argument("--logs", type=int, default=60, help="of each size")
    parser.add_argument("--first", type=int, default=7000, help="the first seed")
    given = parser.parse_args(arguments)
    if unknown := [place for place in given.places if place not in PLACES]:
        parser.error(f"{unknown[0]!r} is no place: {', '.join(PLACES)} are")
    seeds = range(given.first, given.first + given.logs)
    rows, every = [], []
    for place in given.places or PLACES:
        for size in PLACES[place].sizes if given.size is None else (given.size,):
            every.append(bounded(place, size, seeds))
            rows.append(row_of(place, f"{size:,}", every[-1]))
            print(*rows[-1], flush=True)
    rows.append(row_of("all", "", np.concatenate(every)))
    print(f"{machine()}; seeds from {given.first}")
    print(table(HEADS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
