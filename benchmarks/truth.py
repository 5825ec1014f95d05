"""Whether what is said with a probability is true: worlds that are stepped, rewards, logs.

    python -m benchmarks.truth                        # every line, 100 runs from seed 500
    python -m benchmarks.truth wearing grid --runs 40 --first 900
    python -m benchmarks.truth wearing seasons --agent psrl
    python -m benchmarks.truth --table                # what was measured by now

A line is a world and how much of it was seen. A run plays it, or draws a log of it, asks for a
bound on what the policy earns, and compares it with the exact value of the same policy. What was
measured is kept in results/truth.csv: a study that is stopped goes on where it was. Columns: runs;
the share of them that have a bound; of these the share in which it holds, with its standard error;
its width and the truth, medians. Bounds are nominally `gim.belief.shares.SHARE`: a line *holds*
unless it is below by more than two standard errors, and is *rare* if fewer than two thirds of its
runs have a bound though 10 visits, rows or episodes were seen.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gim
from benchmarks.common import ROOT, table
from gim.belief.shares import SHARE

Floats = NDArray[np.float64]
KEPT = ROOT / "results" / "truth.csv"
FIELDS = ["line", "n", "agent", "seed", "asked", "bound", "lower", "upper", "truth", "seconds"]
ENOUGH, SHOWN = 10, 2 / 3  # from so many on this share of the runs has a bound


class World(NamedTuple):
    """A world whose table is known here and to nobody else."""

    P: Floats  # [S, A, S]
    pays: Floats  # [S, A, S]
    start: Floats  # [S]
    horizon: int
    range: tuple[float, float]  # of rewards, as it is told
    ends: NDArray[np.bool_]  # [S]

    @property
    def exact(self) -> gim.TabularMDP:
        """The same as a table."""
        R = (self.P * self.pays).sum(axis=2)
        R[self.ends] = 0.0
        return gim.TabularMDP(
            self.P, R, start=self.start, horizon=self.horizon, terminal=self.ends, variables=None
        )


class Stepped(gymnasium.Env[int, int]):
    """A world that can only be played."""

    def __init__(self, world: World) -> None:
        S, A, _ = world.P.shape
        self.observation_space = gymnasium.spaces.Discrete(S)
        self.action_space = gymnasium.spaces.Discrete(A)
        self.reward_range, self.world, self.s = world.range, world, 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        """Begin anew."""
        super().reset(seed=seed)
        self.s = int(self.np_random.choice(len(self.world.start), p=self.world.start))
        return self.s, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play on."""
        s, a = self.s, int(action)
        t = self.s = int(self.np_random.choice(len(self.world.start), p=self.world.P[s, a]))
        return t, float(self.world.pays[s, a, t]), bool(self.world.ends[t]), False, {}


def world(P: Floats, pays: Floats, start: Any, horizon: int, ends: Any = ()) -> World:
    """A world that tells the range of what it may pay; `start` is a state or chances [S]."""
    S = len(P)
    over = np.isin(np.arange(S), ends)
    begin = np.eye(S)[start] if np.ndim(start) == 0 else np.asarray(start, np.float64)
    some = pays[~over][P[~over] > 0]
    return World(P, pays, begin, horizon, (float(some.min()), float(some.max())), over)


def poisson(mean: float, k: int) -> Floats:
    """Chances of 0 .. k - 1, and of k or more."""
    p = [math.exp(-mean) * mean**i / math.factorial(i) for i in range(k)]
    return np.array([*p, max(0.0, 1.0 - sum(p))])


def wearing(levels: int = 8) -> World:
    """A machine that wears with chance .5 a step and costs what it is worn; replacing costs 5."""
    P, pays = np.zeros((levels, 2, levels)), np.zeros((levels, 2, levels))
    for s in range(levels):
        P[s, 0, s] += 0.5
        P[s, 0, min(levels - 1, s + 1)] += 0.5
        P[s, 1, 0], pays[s, 0], pays[s, 1] = 1.0, -s, -5.0
    return world(P, pays, 0, 30)._replace(range=(-levels - 4.0, 0.0))


def anywhere() -> World:
    """Twelve cells in a line, moves of which a fifth slips, begun anywhere; the last cell pays."""
    S = 12
    P, pays = np.zeros((S, 2, S)), np.zeros((S, 2, S))
    for s in range(S):
        for a, move in enumerate((-1, 1)):
            P[s, a, min(S - 1, max(0, s + move))] += 0.8
            P[s, a, s] += 0.2
        pays[s] = (s == S - 1) - 0.1 * (s % 3 == 0)
    return world(P, pays, np.full(S, 1 / S), 15)


def seasons() -> World:
    """A stock sold in one of four seasons, drawn .4, .3, .2, .1; it begins as the season has it."""
    drawn, means, begins, top = (0.4, 0.3, 0.2, 0.1), (0.5, 1.0, 2.0, 3.0), (6, 4, 2, 0), 7
    S = 4 * top
    P, pays, start = np.zeros((S, 3, S)), np.zeros((S, 3, S)), np.zeros(S)
    for k, mean in enumerate(means):
        start[k * top + begins[k]] = drawn[k]
        for stock in range(top):
            for order in range(3):
                here, y = k * top + stock, min(top - 1, stock + order)
                for sold, p in enumerate(poisson(mean, y)):
                    P[here, order, k * top + y - sold] += p
                    pays[here, order, k * top + y - sold] = 3 * sold - order - 0.2 * y
    return world(P, pays, start, 12)


def grid() -> World:
    """Eight by eight cells, moves that never fail; the far corner ends and pays 1."""
    P, pays = np.zeros((64, 4, 64)), np.zeros((64, 4, 64))
    for s in range(64):
        for a, (i, j) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
            P[s, a, 8 * min(7, max(0, s // 8 + i)) + min(7, max(0, s % 8 + j))] = 1.0
    P[63], pays[:63, :, 63] = np.eye(64)[63], 1.0
    return world(P, pays, 0, 40, [63])


def shop(mean: float = 3.0) -> World:
    """Stock 0..15, orders 0..7, sold at 5, bought at 2.5 and 2 an order; begun anywhere."""
    P, pays = np.zeros((16, 8, 16)), np.zeros((16, 8, 16))
    for s in range(16):
        for a in range(8):
            y = min(s + a, 15)
            for d, p in enumerate(poisson(mean, y)):
                P[s, a, y - d] += p
                pays[s, a, y - d] = 5 * d - 2.5 * a - 0.3 * (y - d) - 2 * (a > 0)
    return world(P, pays, np.full(16, 1 / 16), 30)


def shop_rows(rows: int, seed: int) -> list[tuple[int, int, float, int]]:
    """What one shop did: order up to 9 with chance .7, else anything."""
    rng, told, found = np.random.default_rng(seed), shop(), []
    s = int(rng.integers(0, 16))
    for _ in range(rows):
        a = int(np.clip(9 - s, 0, 7)) if rng.random() < 0.7 else int(rng.integers(0, 8))
        y = min(s + a, 15)
        t = y - min(y, int(rng.poisson(3.0)))
        found.append((s, a, float(told.pays[s, a, t]), t))
        s = t
    return found


Found = dict[str, tuple[bool, float, float, float]]  # by what is asked: bound, lower, upper, truth


def played(agent: str, made: World, episodes: int, seed: int) -> Found:
    """Both kinds of certificate of what was learned by stepping, and the truth."""
    run = gim.run(agent, Stepped(made), episodes=episodes, seed=seed, horizon=made.horizon)
    found = {}
    for kind in ("credible", "guaranteed"):
        said = gim.certify(run, kind=kind)  # type: ignore[arg-type]
        true = made.exact.policy_return(said.policy)
        found[kind] = (said.bounded, *said.earns, true)
    return found


def coin(agent: str, n: int, seed: int) -> Found:
    """One state that pays 0 or 10 at even odds, seen n times: stepped, and as a log."""
    rng = np.random.default_rng([1, seed])
    log = gim.from_log(
        [("x", "go", float(r), "x") for r in rng.choice((0.0, 10.0), n)], reward_range=(0, 10)
    )
    made = World(
        np.ones((1, 1, 1)), np.full((1, 1, 1), 5.0), np.ones(1), 1, (0.0, 10.0), np.zeros(1, bool)
    )
    run = gim.run(agent, _Coin(made), episodes=n, seed=seed, horizon=1)
    found = {}
    for kind in ("credible", "guaranteed"):
        said = gim.certify(run, kind=kind)  # type: ignore[arg-type]
        found[kind] = (said.bounded, *said.earns, 5.0)
    return found | logged(log, 10, lambda _: 50.0)


class _Coin(Stepped):
    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, 10.0 * int(self.np_random.integers(2)), False, False, {}


def logged(log: gim.Log, horizon: int, worth: Callable[[Any], float]) -> Found:
    """What is said of the policy learned from a log, as a value and as a certificate."""
    learned = gim.learn(log, horizon=horizon)
    true, value, said = worth(learned), learned.value, learned.certificate
    return {
        "value": (value.bounded, value.lower, value.upper, true),
        "certificate": (said.bounded, *said.earns, true),
    }


def shops(_: str, rows: int, seed: int) -> Found:
    """A log of one shop, in which no agent has acted."""
    made = shop()
    log = gim.from_log(shop_rows(rows, seed), reward_range=made.range)
    return logged(log, made.horizon, lambda learned: learned.compare(made.exact)["return"])


def of_world(build: Callable[[], World]) -> Callable[[str, int, int], Found]:
    """A line of a world that is stepped."""
    return lambda agent, n, seed: played(agent, build(), n, seed)


LINES: dict[str, tuple[tuple[int, ...], Callable[[str, int, int], Found]]] = {
    "wearing": ((100, 1000), of_world(wearing)),
    "anywhere": ((500,), of_world(anywhere)),
    "seasons": ((500,), of_world(seasons)),
    "coin": ((1, 2, 3, 5, 10, 30), coin),
    "shop": ((5, 10, 20, 50), shops),
    "grid": ((100,), of_world(grid)),
}


def measure(names: list[str], agent: str, runs: int, first: int, file: Path) -> None:
    """Measure what is missing, a line of the file for each run and bound."""
    done = {(row["line"], row["n"], row["agent"], row["seed"]) for row in kept(file)}
    file.parent.mkdir(parents=True, exist_ok=True)
    new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.writer(lines)
        if new:
            writer.writerow(FIELDS)
        for name in names:
            sizes, ask = LINES[name]
            for n in sizes:
                for seed in range(first, first + runs):
                    if (name, str(n), agent, str(seed)) in done:
                        continue
                    began = process_time()
                    found = ask(agent, n, seed)
                    took = f"{process_time() - began:.2f}"
                    for asked, (bound, low, high, true) in found.items():
                        figures = [repr(float(each)) for each in (low, high, true)]
                        writer.writerow([name, n, agent, seed, asked, int(bound), *figures, took])
                    lines.flush()


def kept(file: Path) -> list[dict[str, str]]:
    """What was measured by now; a line that was cut off is left out."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if row.get("seconds")]


def rows_of(measured: list[dict[str, str]]) -> list[list[str]]:
    """A row of the table for each line, size and kind of bound."""
    groups: dict[tuple[str, str, str, str], list[dict[str, str]]] = {}
    for row in measured:
        key = row["line"], row["n"], row["agent"], row["asked"]
        groups.setdefault(key, []).append(row)
    found = []
    for (name, n, agent, asked), group in groups.items():
        some = [row for row in group if row["bound"] == "1"]
        low, high, true = (
            np.array([float(row[key]) for row in some]) for key in ("lower", "upper", "truth")
        )
        room = 1e-9 * (1.0 + np.abs(true))
        held = (low - room <= true) & (true <= high + room)
        share = float(held.mean()) if some else math.nan
        error = math.sqrt(share * (1 - share) / len(some)) if some else math.nan
        nominal = math.sqrt(SHARE * (1 - SHARE) / max(1, len(some)))
        told = "holds" if not some or share >= SHARE - 2 * nominal else "fails"
        if int(n) >= ENOUGH and len(some) < SHOWN * len(group):
            told = "rare" if told == "holds" else told
        wide, worth = (f"{float(np.median(x)):.4g}" if some else "" for x in (high - low, true))
        spent = np.mean([float(row["seconds"]) for row in group])
        shares = f"{len(some) / len(group):.2f}", f"{share:.3f}" if some else "", f"{error:.3f}"
        found.append(
            [name, n, agent, asked, str(len(group)), *shares, wide, worth, f"{spent:.2f}", told]
        )
    return found


HEADS = [
    "line",
    "n",
    "agent",
    "asked",
    "runs",
    "bound",
    "holds",
    "se",
    "width",
    "truth",
    "seconds",
    "",
]


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lines", nargs="*", metavar="LINE", help=", ".join(LINES))
    parser.add_argument("--agent", default="analogist", help="that plays where one does")
    parser.add_argument("--runs", type=int, default=100, help="of each line and size")
    parser.add_argument("--first", type=int, default=500, help="the first seed")
    parser.add_argument("--out", type=Path, default=KEPT, help="the file that keeps it all")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.lines if name not in LINES]:
        parser.error(f"{unknown[0]!r} is no line: {', '.join(LINES)} are")
    if not given.table:
        measure(given.lines or list(LINES), given.agent, given.runs, given.first, given.out)
    print(table(HEADS, rows_of(kept(given.out))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
