"""What a model learned on one grid brings to another of any size, and what a wrong one costs.

    python -m benchmarks.transfer                     # from seed 7000, until errors are .01
    python -m benchmarks.transfer far --most 20

Models are learned in 200 episodes on the 8x8 grid, a *wrong* one where every move goes the opposite
way. The default learner then plays with them (`prior=`) and without, from the same seeds:

    larger    16x16, 30 episodes, the model of the 8x8 grid
    wrong     8x8, 1,000 episodes, a wrong model
    several   16x16, 30 episodes, two wrong models and a right one, in this order
    far       as larger, but the first cell is the one farthest from the goals

0 is the random policy and 1 the optimum, both exact, so a score is the mean share of the way over
all episodes from the first. Gains are paired. Seeds are added until the standard error of the gain
is small enough.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import gim
from benchmarks.common import machine, table

AGENT = "analogist"
GRID = "gridworld:height={0},width={0},horizon={1},slip=0.2,start={2}"
OPPOSITE = [1, 0, 3, 2]  # up, down, left, right
ELSEWHERE = 10_000  # from the seed of a run to those of its models


class Part(NamedTuple):
    """One question: where is played, for how long, with which models, and what is asked."""

    side: int
    episodes: int
    models: str  # of each model, whether it is right (r) or wrong (w)
    target: float  # gain, two standard errors in its favour
    far: bool = False  # from the goals, which are near the first cell


PARTS = {
    "larger": Part(16, 30, "r", 0.2),
    "wrong": Part(8, 1_000, "w", -0.01),
    "several": Part(16, 30, "wwr", 0.2),
    "far": Part(16, 30, "r", 0.2, far=True),
}


def grid(side: int, far: bool = False) -> gim.TabularMDP:
    """A slippery grid; an episode lasts five times its side."""
    mdp = gim.make(GRID.format(side, 5 * side, side * side - 1 if far else 0))
    assert isinstance(mdp, gim.TabularMDP)
    return mdp


@cache
def learned(kind: str, side: int, episodes: int, seed: int) -> gim.LearnedModel:
    """A right (r) or wrong (w) model of a grid."""
    mdp = grid(side)
    if kind == "w":
        mdp = mdp.with_(transitions=np.asarray(mdp.to_dense().transitions)[:, OPPOSITE])
    model = gim.run(AGENT, mdp, episodes, seed).model
    assert model is not None
    return model


def scores(part: Part, seed: int, side: int, taught: int) -> list[float]:
    """Alone, and with the models, learned in so many episodes on a grid of that side."""
    mdp = grid(part.side, part.far)
    low, high = mdp.random_return(), mdp.optimal_return()
    models = [
        learned(kind, side, taught, seed + part.models[: k + 1].count(kind) * ELSEWHERE)
        for k, kind in enumerate(part.models)
    ]
    runs = [gim.run(AGENT, mdp, part.episodes, seed, prior=prior) for prior in (None, models)]
    return [float((run.returns.mean() - low) / (high - low)) for run in runs]


def error(gains: NDArray[np.float64]) -> float:
    """The standard error of a mean; infinite if one number is all there is."""
    return float(gains.std(ddof=1) / gains.size**0.5) if gains.size > 1 else float("inf")


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a part misses what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--first", type=int, default=7000, help="the first seed")
    parser.add_argument("--least", type=int, default=10, help="seeds to begin with")
    parser.add_argument("--most", type=int, default=100, help="seeds at the most")
    parser.add_argument("--error", type=float, default=0.01, help="of a gain, that is enough")
    parser.add_argument("--side", type=int, default=8, help="of the grid where models are learned")
    parser.add_argument("--taught", type=int, default=200, help="episodes of a model")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"there is no part {min(unknown)!r}: {', '.join(PARTS)}")
    rows, missed = [], 0
    for name in given.parts or PARTS:
        part, found = PARTS[name], np.empty((0, 2))
        for seed in range(given.first, given.first + given.most):
            found = np.vstack([found, scores(part, seed, given.side, given.taught)])
            gains = found[:, 1] - found[:, 0]
            print(
                name, seed, found[-1].round(3), f"{error(gains):.4f}", file=sys.stderr, flush=True
            )
            if gains.size >= given.least and error(gains) <= given.error:
                break
        sure = error(gains) <= given.error
        missed += not (sure and gains.mean() + 2 * error(gains) >= part.target)
        rows.append([name, f"{part.side}x{part.side}", f"{part.episodes:,}", f"{gains.size}"])
        rows[-1] += [f"{x:.3f}" for x in found.mean(axis=0)]
        rows[-1] += [f"{gains.mean():+.4f}", f"{error(gains):.4f}", f"{gains.min():+.3f}"]
        rows[-1] += [f"{part.target:+.2f}"]
    print(f"{machine()}; seeds from {given.first}")
    heads = ["part", "grid", "episodes", "seeds", "alone", "with models", "gain", "error", "least"]
    print(table([*heads, "asked"], rows))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
