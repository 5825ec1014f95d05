"""What a family of tasks brings: shops, queues, mazes, dark rooms, harm, certificates, cost.

    python -m benchmarks.families                     # every line, from seed 9100
    python -m benchmarks.families logs-40 dark --seeds 4 --first 9300
    python -m benchmarks.families maze --temple temple.json
    python -m benchmarks.families --table             # what was measured by now

A line is a family and how much of it is seen; a run of it is kept in results/families.csv, so that
a study that is stopped goes on where it was. Shares: 0 is the behaviour of a log, or random play, 1
the optimum, a ratio of sums over tasks; rewards are learned. What is asked of a line stands beside
it. `--temple` is a file of series of tasks: "maze"
lists slip chances [series][task][16], "grid" goals (column, row) [series][task].
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gim
from benchmarks.common import ROOT, table

Floats = NDArray[np.float64]
Found = dict[str, float]
KEPT = ROOT / "results" / "families.csv"
TASKS = {"temple": Path("temple.json")}
STOCK, ORDERS, DAYS = 15, 7, 30
COLUMNS = ("shop", "day", "stock", "order", "profit", "next")
NAMES = {"state": "stock", "action": "order", "reward": "profit", "next_state": "next"}


def poisson(mean: float, k: int) -> Floats:
    """Chances of 0 .. k - 1, and of k or more."""
    p = [math.exp(-mean) * mean**i / math.factorial(i) for i in range(k)]
    return np.array([*p, max(0.0, 1.0 - sum(p))])


def demands(mean: float, lumpy: bool = False) -> Floats:
    """Chances of a demand of 0 .. 40; `lumpy`: three days in five are quiet, the others busy."""
    if lumpy:
        return 0.6 * poisson(0.4 * mean, 40) + 0.4 * poisson(1.9 * mean, 40)
    return poisson(mean, 40)


def profit(s: Any, a: Any, t: Any, come: Any) -> Any:
    """What a day pays; an order is paid for, whether it comes or not."""
    return 5.0 * (np.minimum(s + come, STOCK) - t) - 2.5 * a - 0.3 * t - 2.0 * (a > 0)


def world(P: Floats, R: Floats, H: int, start: Any = None) -> gim.TabularMDP:
    """A world of one variable; it begins anywhere alike unless a state is given."""
    S = len(P)
    begin = np.full(S, 1.0 / S) if start is None else np.eye(S)[start]
    return gim.TabularMDP(P, R, horizon=H, start=begin, variables={"x": range(S)})


class Shops:
    """A chain of shops that logs are drawn of: demand [n, 41] and the share of orders lost [n]."""

    def __init__(self, chances: Floats, lost: Any = 0.0) -> None:
        self.chances = np.asarray(chances)
        self.lost = np.broadcast_to(lost, len(chances)).astype(float)

    def world(self, k: int) -> gim.TabularMDP:
        """One of them."""
        P, R = np.zeros((STOCK + 1, ORDERS + 1, STOCK + 1)), np.zeros((STOCK + 1, ORDERS + 1))
        for s in range(STOCK + 1):
            for a in range(ORDERS + 1):
                for come, chance in ((a, 1.0 - self.lost[k]), (0, self.lost[k])):
                    y = min(s + come, STOCK)
                    left = np.maximum(y - np.arange(41), 0)
                    np.add.at(P[s, a], left, chance * self.chances[k])
                    R[s, a] += chance * self.chances[k] @ profit(s, a, left, come)
        return world(P, R, DAYS)

    def log(self, rows: int, seed: int, prefix: str = "shop") -> gim.Log:
        """Orders up to nine in seven of ten cases, else of any size."""
        rng, found = np.random.default_rng(seed), []
        for k, chances in enumerate(self.chances):
            s = int(rng.integers(STOCK + 1))
            for day in range(rows):
                usual = rng.random() < 0.7
                a = int(np.clip(9 - s, 0, ORDERS)) if usual else int(rng.integers(ORDERS + 1))
                come = 0 if rng.random() < self.lost[k] else a
                t = max(min(s + come, STOCK) - int(rng.choice(41, p=chances)), 0)
                pays = float(profit(s, a, t, come))
                found.append((f"{prefix} {k}", day, s, a, pays, t))
                s = t
        columns = dict(zip(COLUMNS, map(list, zip(*found, strict=True)), strict=True))
        kept = {"states": range(STOCK + 1), "start": list(range(STOCK + 1))}
        return gim.from_log(columns, **NAMES, unit="shop", step="day", **kept)


def behaviour() -> Floats:
    """[S, A] what was done in the shops of a log."""
    b = np.full((STOCK + 1, ORDERS + 1), 0.3 / (ORDERS + 1))
    b[np.arange(STOCK + 1), np.clip(9 - np.arange(STOCK + 1), 0, ORDERS)] += 0.7
    return b


def means(seed: int, n: int = 40, spread: float = 0.45) -> Floats:
    """Mean demands of a chain."""
    drawn = np.random.default_rng(1000 + seed).normal(0, spread, n)
    return np.clip(3.0 * np.exp(drawn), 0.5, 9)


def chain(seed: int, n: int = 40, spread: float = 0.45, form: str = "poisson") -> Shops:
    """A chain by form: poisson, lumpy, kinds (every other one loses orders), dirichlet."""
    lost = np.where(np.arange(n) % 2, 0.2, 0.0) if form == "kinds" else 0.0
    if form == "dirichlet":
        mean = poisson(3.0, 40)
        rng = np.random.default_rng(3000 + seed)
        return Shops(rng.dirichlet(12.0 * np.maximum(mean, 1e-9), n), lost)
    return Shops(np.stack([demands(m, form == "lumpy") for m in means(seed, n, spread)]), lost)


def placed(policy: Any, states: Any, actions: Any, shape: tuple[int, int]) -> Any:
    """A policy of a log, for a world whose states and actions are the numbers of its labels."""
    array = np.asarray(policy)
    acts = np.asarray([int(a) for a in actions])[array]
    found = np.zeros((len(array), shape[0]), np.int64)
    found[:, [int(s) for s in states]] = acts
    return found


def worth(learned: Any, truth: gim.TabularMDP) -> float:
    """What a policy of a log really earns."""
    log = learned.log
    return truth.policy_return(placed(learned.policy, log.states, log.actions, (truth.S, truth.A)))


def shares(got: Any, base: Any, best: Any) -> float:
    """How much of the way from the base to the optimum, a ratio of sums."""
    got, base, best = (np.asarray(each, float) for each in (got, base, best))
    return float((got - base).sum() / (best - base).sum())


def of_logs(rows: int, form: str = "poisson", n: int = 40) -> Callable[[int], Found]:
    """Shops from logs."""

    def run(seed: int) -> Found:
        shops = chain(seed, n, form=form)
        units = gim.learn(shops.log(rows, seed), horizon=DAYS)
        truths, b = [shops.world(k) for k in range(n)], behaviour()
        base, best = [w.policy_return(b) for w in truths], [w.optimal_return() for w in truths]
        got = [worth(units[f"shop {k}"], w) for k, w in enumerate(truths)]
        found = {"share": shares(got, base, best)}
        found["worst"] = float(np.max(1 - np.array(got) / np.array(best)))
        if form == "kinds":
            found["kind"], found["told"] = kinds_right(units, shops.lost > 0), 0.0
            found["told"] = float("lose" in str(units.family))
        return found

    return run


def kinds_right(units: Any, lossy: Any) -> float:
    """The share of units that are told to be of their kind."""
    told = {each.unit: each.value for each in units.differences() if "lost" in each.what}
    if not told:
        return float(np.mean(~lossy))
    value = np.array([told[f"shop {k}"] for k in range(len(lossy))])
    return float(np.mean((value > 0.1) == lossy))


def unseen(seed: int) -> Found:
    """Shops never seen, by one plan for all, and after their first ten rows."""
    old, new = chain(seed), chain(seed + 500)
    units = gim.learn(old.log(200, seed), horizon=DAYS)
    parts = new.log(10, seed + 500).by_unit()
    truths, b = [new.world(k) for k in range(40)], behaviour()
    base, best = [w.policy_return(b) for w in truths], [w.optimal_return() for w in truths]
    one = [worth(units.new, w) for w in truths]
    prior = units.family
    after = [gim.learn(parts[f"shop {k}"], horizon=DAYS, prior=prior) for k in range(40)]
    ten = [worth(each, w) for each, w in zip(after, truths, strict=True)]
    return {"never": shares(one, base, best), "ten rows": shares(ten, base, best)}


def drawn_queue(rng: np.random.Generator) -> gim.TabularMDP:
    """One queue and three speeds of its server; it is played from any state for 40 steps."""
    come = rng.uniform(0.15, 0.6)
    serve = np.clip(np.array([0.2, 0.45, 0.75]) * rng.uniform(0.7, 1.25), 0, 0.95)
    P = np.zeros((20, 3, 20))
    for s in range(20):
        for a in range(3):
            up, down = come * (1 - serve[a]), serve[a] * (1 - come)
            for t, p in ((min(19, s + 1), up), (max(0, s - 1), down), (s, 1 - up - down)):
                P[s, a, t] += p
    return world(P, -0.3 * np.arange(20)[:, None] - np.array([0.0, 1.0, 3.0]), 40)


def queues(seed: int) -> Found:
    """Forty queues with other rates and fifty rows each, against one plan for all."""
    rng, rows = np.random.default_rng(6000 + seed), []
    truths = [drawn_queue(rng) for _ in range(40)]
    for k, truth in enumerate(truths):
        s = int(rng.integers(20))
        for day in range(50):
            s = int(rng.integers(20)) if rng.random() < 0.05 else s
            a = int(rng.integers(3))
            t = int(rng.choice(20, p=truth.transitions[s, a]))
            rows.append((f"queue {k}", day, s, a, float(truth.rewards[s, a]), t))
            s = t
    columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    log = gim.from_log(columns, **NAMES, unit="shop", states=range(20))
    units = gim.learn(log, horizon=40)
    one = gim.learn(gim.from_log(columns, **NAMES, states=range(20)), horizon=40, safe="plain")
    base = [w.policy_return(w.uniform_policy()) for w in truths]
    best = [w.optimal_return() for w in truths]
    got = [worth(units[f"queue {k}"], w) for k, w in enumerate(truths)]
    alike = [worth(one, w) for w in truths]
    found = {"share": shares(got, base, best), "one plan": shares(alike, base, best)}
    return found | {"more": found["share"] - found["one plan"]}


# -- online


def online_shop(mean: float) -> tuple[Floats, Floats]:
    """Six orders; 3 a sale, -.8 a lost one, -1 a piece that fits, -1.5 an order, -.15 a piece."""
    P, R = np.zeros((16, 6, 16)), np.zeros((16, 6))
    for s in range(16):
        for a in range(6):
            y = min(15, s + a)
            for d, p in enumerate(poisson(mean, 12)):
                sold = min(y, d)
                P[s, a, y - sold] += p
                pays = 3 * sold - 0.8 * (d - sold) - (y - s) - 1.5 * (a > 0) - 0.15 * y
                R[s, a] += p * pays
    return P, R


def played(
    worlds: list[gim.TabularMDP], episodes: int, seed: int, last: int = 0, **options: Any
) -> list[Floats]:
    """Shares of every episode of each world; `last`: only the last one is played for so long."""
    if last:
        first = gim.series("analogist", worlds[:-1], episodes, seed)
        run = gim.run("analogist", worlds[-1], last, seed, prior=first.family, **options)
        returns, worlds = [run.returns], worlds[-1:]
    else:
        returns = gim.series("analogist", worlds, episodes, seed).returns
    found = []
    for mdp, R in zip(worlds, returns, strict=True):
        base = mdp.policy_return(mdp.uniform_policy())
        found.append((R - base) / (mdp.optimal_return() - base))
    return found


def weighed(worlds: list[gim.TabularMDP], told: list[Floats], first: int) -> float:
    """The share over the first episodes, a ratio of sums over worlds."""
    room = [w.optimal_return() - w.policy_return(w.uniform_policy()) for w in worlds]
    return float(sum(r * t[:first].mean() for r, t in zip(room, told, strict=True)) / sum(room))


def online(seed: int) -> Found:
    """Eight shops, twenty episodes each; from the third on."""
    drawn = np.random.default_rng(2000 + seed).uniform(1, 4.5, 8)
    worlds = [world(*online_shop(mean), 15, 4) for mean in drawn]
    told = played(worlds, 20, seed)
    return {f"first {n}": weighed(worlds[2:], told[2:], n) for n in (5, 20)}


def temple(kind: str, series: int, task: int) -> gim.TabularMDP:
    """A task of TempLe (Sun, Yin and Huang, 2020): 4x4 cells, slips to either side, one goal."""
    told = json.loads(TASKS["temple"].read_text("utf-8"))[kind][series][task]
    slip, goal = (told, (4, 4)) if kind == "maze" else ([0.4] * 16, told)
    pay = np.full(16, -0.2)
    pay[4 * goal[1] + goal[0] - 5] = 0.8
    if kind == "maze":
        pay[5] = -1.0
    P = np.zeros((16, 4, 16))
    for s in range(16):
        for a, d in enumerate(((0, 1), (0, -1), (-1, 0), (1, 0))):
            ways = (d, 1 - slip[s]), (d[::-1], slip[s] / 2), ((-d[1], -d[0]), slip[s] / 2)
            for (i, j), p in ways:
                x, y = s % 4 + i, s // 4 + j
                P[s, a, 4 * y + x if 0 <= x < 4 and 0 <= y < 4 else s] += p
    start = int(np.random.default_rng([series, task]).integers(16))
    cells = [(s % 4, s // 4) for s in range(16)]
    begin = np.eye(16)[start]
    return gim.TabularMDP(P, P @ pay, horizon=30, start=begin, state_labels=cells)


def mazes(kind: str, tasks: int) -> Callable[[int], Found]:
    """A series of TempLe, 100 episodes a task, from task 10 on; seeds take the series in turn."""

    def run(seed: int) -> Found:
        every = json.loads(TASKS["temple"].read_text("utf-8"))[kind]
        worlds = [temple(kind, seed % len(every), k) for k in range(min(tasks, len(every[0])))]
        told = played(worlds, 100, seed)
        return {f"first {n}": weighed(worlds[10:], told[10:], n) for n in (10, 100)}

    return run


def dark_room(goal: int) -> gim.TabularMDP:
    """100 cells, one of which pays 1 a step: four moves and standing still, 100 steps from 0."""
    P = np.zeros((100, 5, 100))
    for s in range(100):
        for a, (i, j) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0))):
            P[s, a, 10 * min(9, max(0, s // 10 + i)) + min(9, max(0, s % 10 + j))] = 1
    cells = [(s // 10, s % 10) for s in range(100)]
    return gim.TabularMDP(P, P[:, :, goal].copy(), horizon=100, start=0, state_labels=cells)


def dark(seed: int, tasks: int = 20) -> Found:
    """Darkroom with a goal that moves, five episodes a goal; returns from task 5 on."""
    goals = np.random.default_rng(seed).permutation(99)[:tasks] + 1
    told = gim.series("analogist", [dark_room(g) for g in goals], 5, seed).returns
    mean = np.mean(told[5:], axis=0)
    missed = float(np.mean([r[0] == 0 for r in told[5:]]))
    return {"episode 1": mean[0], "episode 2": mean[1], "episode 3": mean[2], "missed": missed}


def harm(kind: str) -> Callable[[int], Found]:
    """Twenty episodes in each earlier world, 300 in the last, against those of it alone."""

    def run(seed: int) -> Found:
        rng = np.random.default_rng([4000, seed])
        shops = [online_shop(m) for m in rng.uniform(1, 4.5, 6)]
        odd = []
        for _ in range(6):
            odd.append((rng.dirichlet(np.full(16, 0.15), (16, 6)), rng.normal(0, 3, (16, 6))))
        series = {
            "unrelated": odd,
            "misleading": [*shops[:5], (shops[5][0][:, ::-1].copy(), shops[5][1][:, ::-1].copy())],
            "wrong": [*shops[:2], odd[0], *shops[2:]],
            "one": [shops[1], shops[0]],
        }[kind]
        worlds = [world(P, R, 15, 4) for P, R in series]
        (told,) = played(worlds, 20, seed, last=300)
        mdp = worlds[-1]
        base = mdp.policy_return(mdp.uniform_policy())
        alone = gim.run("analogist", mdp, 300, seed).returns
        alone = (alone - base) / (mdp.optimal_return() - base)
        return {f"gain {n}": float((told - alone)[:n].mean()) for n in (20, 300)}

    return run


# -- certificates and cost


def certified(form: str, rows: int) -> Callable[[int], Found]:
    """How often bounds on what units' policies earn hold; nominally nine of ten."""

    def run(seed: int) -> Found:
        spread = 0.5 if form == "poisson" else 0.45
        shops = chain(seed, spread=spread, form=form)
        units = gim.learn(shops.log(rows, seed), horizon=DAYS)
        held, below, width, room, bounded = [], [], [], [], []
        for k in range(0, 40, 3):
            found, truth = units[f"shop {k}"], shops.world(k)
            value, earns = found.value, worth(found, truth)
            bounded.append(value.bounded)
            if value.bounded:
                held.append(value.lower <= earns <= value.upper)
                below.append(earns < value.lower)
                width.append(value.upper - value.lower)
                room.append(truth.optimal_return() - truth.policy_return(behaviour()))
        found = {"held": float(np.mean(held)), "below": float(np.mean(below))}
        found |= {"width": float(np.median(np.array(width) / np.mean(room)))}
        return found | {"bounded": float(np.mean(bounded))}

    return run


def large(seed: int) -> Found:
    """Four hundred shops of five hundred rows, from a table to policies."""
    shops = chain(seed, 400)
    log, began = shops.log(500, seed), process_time()
    units = gim.learn(log, horizon=DAYS)
    for unit in units:
        _ = units[unit].policy
    seconds = process_time() - began
    return {"seconds": seconds, "GiB": getrusage(RUSAGE_SELF).ru_maxrss / 2**20}


def long_series(seed: int) -> Found:
    """Two hundred shops online, five episodes each: the last ones against the fifth and its kin."""
    drawn = np.random.default_rng(seed).uniform(1, 4.5, 210)
    worlds = [world(*online_shop(mean), 15, 4) for mean in drawn]
    seconds: list[float] = []
    began = process_time()

    def watched() -> Any:
        nonlocal began
        for mdp in worlds:
            now = process_time()
            seconds.append(now - began)
            began = now
            yield mdp

    gim.series("analogist", watched(), 5, seed)
    return {"ratio": float(np.median(seconds[-10:]) / np.median(seconds[5:11]))}


# how a line is run, for how many seeds, and what is asked of the mean
LINES: dict[str, tuple[Callable[[int], Found], int, dict[str, str]]] = {
    "logs-200": (of_logs(200), 10, {"share": ">= 0.98", "worst": "<= 0.05"}),
    "logs-40": (of_logs(40), 10, {"share": ">= 0.96"}),
    "logs-10": (of_logs(10), 10, {"share": ">= 0.92"}),
    "kinds-200": (
        of_logs(200, "kinds"),
        10,
        {"share": ">= 0.96", "kind": ">= 0.95", "told": ">= 1.0"},
    ),
    "lumpy-40": (of_logs(40, "lumpy"), 10, {"share": ">= 0.93"}),
    "two-200": (of_logs(200, n=2), 10, {"share": ">= 0.95"}),
    "unseen": (unseen, 10, {"never": ">= 0.82", "ten rows": ">= 0.93"}),
    "queues": (queues, 10, {"more": ">= -0.02"}),
    "online": (online, 10, {"first 5": ">= 0.90", "first 20": ">= 0.95"}),
    "maze": (mazes("maze", 100), 2, {"first 10": ">= 0.95", "first 100": ">= 0.98"}),
    "grid": (mazes("grid", 50), 2, {"first 10": ">= 0.95", "first 100": ">= 0.98"}),
    "dark": (dark, 4, {"episode 1": ">= 36", "episode 2": ">= 85"}),
    "harm-unrelated": (harm("unrelated"), 20, {}),
    "harm-misleading": (harm("misleading"), 20, {}),
    "harm-wrong": (harm("wrong"), 20, {}),
    "harm-one": (harm("one"), 20, {}),
    "large": (large, 1, {}),
    "long": (long_series, 1, {}),
} | {
    f"bounds-{form}-{rows}": (certified(form, rows), 4, {"held": ">= 0.84"})
    for form in ("poisson", "kinds", "lumpy", "dirichlet")
    for rows in (10, 40, 200)
}


def kept() -> list[dict[str, str]]:
    """What was measured by now."""
    if not KEPT.exists():
        return []
    with KEPT.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def summary(lines: list[str]) -> str:
    """A row for each figure of each line: its mean, standard error, least, and what is asked."""
    cells = []
    for line in lines:
        rows = [row for row in kept() if row["line"] == line]
        told = [json.loads(row["found"]) for row in rows]
        for name in told[0] if told else ():
            x = np.array([each[name] for each in told])
            error = float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else math.nan
            bound = LINES[line][2].get(name, "")
            seconds = np.mean([float(row["seconds"]) for row in rows])
            figures = (f"{v:.3f}" for v in (x.mean(), error, x.min(), x.max()))
            cells.append([f"{line} {name}", str(len(x)), *figures, bound, f"{seconds:.0f}"])
    return table(["line", "n", "mean", "se", "least", "most", "asked", "s"], cells)


def main() -> int:
    """Run what is asked for and not there yet, then print all of it."""
    parser = argparse.ArgumentParser(description="What a family of tasks brings.")
    parser.add_argument("lines", nargs="*", help=f"of {', '.join(LINES)}; all by default")
    parser.add_argument("--seeds", type=int, help="how many; by default what is asked of the line")
    parser.add_argument("--first", type=int, default=9100, help="the first seed")
    parser.add_argument("--temple", type=Path, default=TASKS["temple"], help="series of TempLe")
    parser.add_argument("--table", action="store_true", help="print what was measured, no more")
    given = parser.parse_args()
    TASKS["temple"] = given.temple
    lines = given.lines or list(LINES)
    if unknown := [line for line in lines if line not in LINES]:
        parser.error(f"no line {', '.join(unknown)}: there are {', '.join(LINES)}")
    KEPT.parent.mkdir(exist_ok=True)
    for line in [] if given.table else lines:
        run, seeds, _ = LINES[line]
        for seed in range(given.first, given.first + (given.seeds or seeds)):
            if any(row["line"] == line and row["seed"] == str(seed) for row in kept()):
                continue
            began = process_time()
            found = {name: float(value) for name, value in run(seed).items()}
            row = [line, seed, f"{process_time() - began:.1f}", json.dumps(found)]
            new = not KEPT.exists()
            with KEPT.open("a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerows(([["line", "seed", "seconds", "found"]] if new else []) + [row])
            print(*row, flush=True)
    print(summary(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
