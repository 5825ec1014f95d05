"""What a whole run of GIM costs against S, A, successors and visits, beside Theorem 1.

    python -m benchmarks.curves           # minutes
    python -m benchmarks.curves --quick   # the two smallest of each

`GIM(m, rho=.8)` explores until its plan. States are varied on slippery grids, actions and
successors on sparse random worlds, visits by m; all are large enough to be kept sparse. Of each
run: nanoseconds of a step of exploration, seconds of completion and of the plan over H = 50 steps,
and bytes that the learner keeps, its policy apart. Exponents are slopes of log cost on log size;
beside them stand those of Theorem 1 as printed, phi + S max(S, A) + steps with phi = S A H, and of
Section 6.3, where memory is Theta(nnz). Completion works on blocks (`gim.model.blocks`), so it
should grow with the A numbers of each link seen, not with S max(S, A).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import machine, table  # before numpy

# isort: split
import numpy as np

import gim
from benchmarks.walks import exponent, grid, random_world
from gim import plot
from gim.runs.run import prepare

H = 50
MOST = 0.35  # by which an exponent may exceed the one expected: caches end within these sizes
MEASURES = ("ns a step", "completing, s", "planning, s", "MB kept")
SHOWN = Path("results/bench/curves.png")


class Curve(NamedTuple):
    """What is varied, how to make such a world and m, and the exponents that theory expects."""

    name: str
    sizes: tuple[int, ...]
    make: Callable[[int], tuple[gim.TabularMDP, int]]
    printed: tuple[float, ...]  # Theorem 1 and Section 6.3: step, completion, plan, memory
    expected: tuple[float, ...]  # the same with completion of blocks


CURVES = (
    Curve(
        "S", (2_500, 10_000, 40_000, 90_000), lambda S: (grid(S), 10), (0, 2, 1, 1), (0, 1, 1, 1)
    ),
    Curve("A", (2, 4, 8, 16), lambda A: (random_world(3000, A, 4), 10), (0, 0, 1, 1), (0, 2, 1, 1)),
    Curve(
        "successors",
        (2, 4, 8, 16),
        lambda b: (random_world(3000, 4, b), 10),
        (0, 0, 1, 1),
        (0, 1, 1, 1),
    ),
    Curve("m", (5, 10, 20, 40), lambda m: (grid(2500), m), (0, 0, 0, 0), (0, 0, 0, 0)),
)


def kept(memory: Any) -> int:
    """Bytes of a memory's arrays, without the policy [H, S]."""
    if isinstance(memory, np.ndarray):
        return memory.nbytes
    if not isinstance(memory, tuple):
        return 0
    names = getattr(memory, "_fields", ("",) * len(memory))
    return sum(kept(x) for name, x in zip(names, memory, strict=True) if name != "policy")


def costs(mdp: gim.TabularMDP, m: int) -> tuple[float, ...]:
    """The four measures of a run until its plan."""
    run = prepare(gim.GIM(m=m, rho=0.8), mdp.with_(horizon=H), 10_000_000, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was never known is no news here
        run.go(lambda _: run.plans > 0)
    spent = run.seconds
    steps = spent["interacting"] * 1e9 / run.steps
    return steps, spent["completing"], spent["planning"], kept(run.memory) / 1e6


def measured(curve: Curve, sizes: tuple[int, ...]) -> list[tuple[float, ...]]:
    """The measures at each size, the better of two runs: the first may compile."""
    found = []
    for size in sizes:
        mdp, m = curve.make(size)
        found.append(tuple(map(min, costs(mdp, m), costs(mdp, m))))
    return found


@plot.looks
def draw(curves: dict[str, tuple[tuple[int, ...], list[tuple[float, ...]]]]) -> Any:
    """One panel for each measure, all on logarithmic axes, relative to the smallest size."""
    figure, panels = plot.figure(12, 3, columns=4)
    for k, (axes, measure) in enumerate(zip(panels.flat, MEASURES, strict=True)):
        for name, (sizes, found) in curves.items():
            y = np.array(found)[:, k]
            colour = plot.COLOURS[list(curves).index(name)]
            axes.loglog(np.array(sizes) / sizes[0], y / y[0], "o-", label=name, color=colour)
        axes.set(title=measure, xlabel="times the smallest size")
    panels.flat[0].set_ylabel("times that of the smallest")
    axes.legend(frameon=False)
    SHOWN.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(SHOWN, dpi=120)
    return figure


def main(arguments: list[str] | None = None) -> int:
    """Print a table for each curve; 1 if one grows faster than expected."""
    quick = "--quick" in (arguments or [])
    print(machine())
    drawn, missed = {}, False
    for curve in CURVES:
        sizes = curve.sizes[:2] if quick else curve.sizes
        found = measured(curve, sizes)
        drawn[curve.name] = sizes, found
        slopes = [exponent(list(sizes), list(y)) for y in zip(*found, strict=True)]
        rows = [[f"{n:,}", *(f"{x:.3g}" for x in row)] for n, row in zip(sizes, found, strict=True)]
        rows.append(["exponent", *(f"{x:.2f}" for x in slopes)])
        rows.append(["in blocks", *(f"{x:g}" for x in curve.expected)])
        rows.append(["Theorem 1", *(f"{x:g}" for x in curve.printed)])
        print(table([curve.name, *MEASURES], rows), flush=True)
        over = np.array(slopes) - curve.expected
        missed |= not quick and bool((over[1:] > MOST).any())  # of a step: `benchmarks.walks`
    draw(drawn)
    print(f"drawn in {SHOWN}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
