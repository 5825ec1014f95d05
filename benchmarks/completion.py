"""How fast and how well matrices are completed, against a plain loop over rows.

    python -m benchmarks.completion

The task is a `shared_factors` MDP, 40 visits to each known pair, 80 % of the pairs known: its S
transition matrices and the reward matrix, all completed in one call. The loop is alternating least
squares with rank 10 and ridge .03, a solve a row, as the paper's authors set it; "error" is the
mean l1 distance of p(.|s,a) from the truth over the unknown pairs, after projection.
"""

# ruff: noqa: I001  (common comes before numpy: it sets the number of threads)
from __future__ import annotations

from benchmarks.common import machine, median_seconds, table

import sys
from time import perf_counter
from typing import NamedTuple

import numpy as np

import gim
from gim.model.completion import ALS, Completion, OptSpace, Tucker
from gim.model.matrices import dynamic_matrices
from gim.model.projection import project_simplex
from tests.naive_completion import als_by_rows

FASTER = 50  # than the loop, at 50 x 40, to the same accuracy
GROWTH = 2  # of the time per entry, from 50 x 40 to 1000 x 50
SIZES = ((50, 40), (200, 50), (1000, 50))
SHARED = ("shared_factors:J=2,K=5", "shared_factors:J=5,K=8")
VISITS = (10, 40, 160, 640, 2560)


class Data(NamedTuple):
    """What an agent has seen of an MDP."""

    matrices: np.ndarray  # [S+1, S, A] empirical, 0 where not known
    weights: np.ndarray  # [S, A] visits of the known pairs
    truth: np.ndarray  # [S+1, S, A]


def seen_data(S: int, A: int, m: int, rho: float = 0.8, seed: int = 0) -> Data:
    """Visit a share rho of the pairs of a `shared_factors` MDP m times each."""
    return seen_of(f"shared_factors:S={S},A={A},seed={seed}", m, rho, seed)


def seen_of(world: str, m: int, rho: float = 0.8, seed: int = 0) -> Data:
    """Visit a share rho of the pairs m times each."""
    mdp = gim.make(world).to_dense()
    S, A = mdp.S, mdp.A
    truth = dynamic_matrices(mdp.transitions, mdp.rewards)
    rng = np.random.default_rng(seed)
    known = rng.random((S, A)) < rho
    matrices = truth * known
    for s in range(S):
        matrices[:-1, s] = (rng.multinomial(m, mdp.transitions[s]) / m).T * known[s]
    return Data(matrices, m * known.astype(float), truth)


def l1_error(data: Data, completed: np.ndarray) -> float:
    """Mean l1 distance of the projected p(.|s,a) from the truth, over the unknown pairs."""
    P = project_simplex(np.moveaxis(completed[:-1], 0, 2))
    distance = np.abs(P - np.moveaxis(data.truth[:-1], 0, 2)).sum(axis=2)
    return float(distance[data.weights == 0].mean())


def noise_errors(
    method: Completion,
    visits: tuple[int, ...] = VISITS,
    shape: tuple[int, int] = (50, 40),
    rho: float = 0.8,
    seeds: int = 3,
) -> np.ndarray:
    """Root mean square errors [len(visits)] of completed transition matrices by visits a pair.

    The perturbation bound (Keshavan, Montanari and Oh, 2010) is proportional to 1 / sqrt(m).
    """
    errors = np.zeros((seeds, len(visits)))
    for seed in range(seeds):
        for i, m in enumerate(visits):
            data = seen_data(*shape, m, rho, seed)
            completed = method(data.matrices, data.weights, np.random.default_rng(seed))
            difference = completed.matrices[:-1] - data.truth[:-1]
            errors[seed, i] = np.sqrt((difference**2).mean())
    return errors.mean(axis=0)


def slope(visits: tuple[int, ...], errors: np.ndarray) -> float:
    """Exponent of the error as a power of the visits; the bound's is -1/2."""
    return float(np.polyfit(np.log(visits), np.log(errors), 1)[0])


def against_the_loop() -> tuple[str, bool]:
    """Time the default and others at 50 x 40 against the loop over rows."""
    data = seen_data(50, 40, 40)
    mask = (data.weights > 0).astype(float)
    began = perf_counter()
    looped = als_by_rows(data.matrices, mask, 10, 0.03, np.random.default_rng(0))
    loop_seconds, loop_error = perf_counter() - began, l1_error(data, looped)
    rows = [["loop over rows, rank 10, ridge .03", f"{loop_seconds * 1e3:.1f}", "1", loop_error]]
    met = True
    same = ALS(rank=10, ridge=0.03, tolerance=1e-3)
    for method in (ALS(), same, OptSpace(), Tucker()):
        job = _job(method, data)
        seconds, error = median_seconds(job, 3), l1_error(data, job())
        ratio = loop_seconds / seconds
        rows.append([str(method), f"{seconds * 1e3:.1f}", f"{ratio:.0f}", error])
        if method == ALS():
            met = ratio >= FASTER and error <= loop_error
    cells = [[*row[:3], f"{row[3]:.3f}"] for row in rows]
    return table(["50 x 40, 51 matrices", "ms", "times faster", "error"], cells), met


def by_size() -> tuple[str, bool]:
    """Time the default per entry as the MDP grows."""
    rows, per_entry = [], []
    for S, A in SIZES:
        data = seen_data(S, A, 40)
        seconds = median_seconds(_job(ALS(), data), 3 if S < 1000 else 1)
        per_entry.append(seconds / data.matrices.size)
        grown = per_entry[-1] / per_entry[0]
        entry = f"{per_entry[-1] * 1e9:.0f}"
        rows.append([f"{S} x {A}, {S + 1} matrices", f"{seconds:.3f}", entry, f"{grown:.2f}"])
    met = max(per_entry) <= GROWTH * per_entry[0]
    return table(["ALS()", "seconds", "ns per entry", "of the first"], rows), met


def by_noise() -> str:
    """Show how errors fall with the visits."""
    rows = []
    for method in (ALS(), OptSpace(rank=2), OptSpace(), Tucker()):
        errors = noise_errors(method)
        cells = [f"{error:.5f}" for error in errors]
        rows.append([str(method), *cells, f"{slope(VISITS, errors):.2f}"])
    return table(["rms error by visits a pair", *map(str, VISITS), "slope"], rows)


def by_world() -> str:
    """Show the error of every method on several worlds, with 40 visits and 80 % known."""
    rows = []
    worlds = ("synthetic:rank=2", "gridworld", "casinoland", *SHARED)
    for method in (ALS(), ALS(rank=10, ridge=0.03), OptSpace(), Tucker()):
        cells = []
        for world in worlds:
            errors = []
            for seed in range(3):
                chosen = f"{world},seed={seed}" if ":" in world else world
                data = seen_of(chosen, 40, seed=seed)
                weights = data.weights if method.weighted else np.sign(data.weights)
                completed = method(data.matrices, weights, np.random.default_rng(seed)).matrices
                errors.append(l1_error(data, completed))
            cells.append(f"{np.mean(errors):.3f}")
        rows.append([str(method), *cells])
    return table(["error, mean of 3 seeds", *worlds], rows)


def _job(method, data):
    return lambda: method(data.matrices, data.weights, np.random.default_rng(0)).matrices


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    print(machine())
    loop, fast = against_the_loop()
    print(f"\n{loop}\n\ndefault {FASTER} times faster, no less accurate: {'yes' if fast else 'NO'}")
    sizes, flat = by_size()
    print(
        f"\n{sizes}\n\ntime per entry at most {GROWTH} times the first: {'yes' if flat else 'NO'}"
    )
    print(f"\n{by_noise()}\n\n{by_world()}")
    return 0 if fast and flat else 1


if __name__ == "__main__":
    sys.exit(main())
