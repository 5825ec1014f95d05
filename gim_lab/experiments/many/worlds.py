"""The families of the study of many tasks; each function draws a series of worlds from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.mdp.tabular import TabularMDP

Floats = NDArray[np.float64]
Rng = np.random.Generator
STOCK = 15
MOVES = ((0, 1), (0, -1), (-1, 0), (1, 0))  # of a grid: columns and rows
ROOM = ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0))


@dataclass(frozen=True)
class Family:
    """Where worlds come from, and how they are played.

    `task` names the kin of the family among the tasks of gim: a trial has to name one.
    """

    title: str
    task: str
    worlds: Callable[[Rng, int], list[TabularMDP]]
    tasks: int
    episodes: int = 0  # of each world; 0: learned from logs
    rows: tuple[int, ...] = ()  # of each unit's log
    acts: Callable[[], Floats] | None = None  # who made the logs; None: at random
    first: int = 0  # worlds of a whole series that are not scored: nothing could be known

    def left_out(self, tasks: int) -> int:
        """Worlds of a series of so many that are not scored."""
        return self.first * tasks // self.tasks


def made(
    P: Floats, R: Floats, start: Any, horizon: int, info: Any = None, **variables: Any
) -> TabularMDP:
    """A world; without variables states are but numbers."""
    amounts = {"order": range(R.shape[1])} if "stock" in variables else None
    about: Any = {"variables": variables or None, "action_variables": amounts, "info": info}
    return TabularMDP(P, R, start=start, horizon=horizon, **about)


def poisson(mean: float, k: int) -> Floats:
    """Chances of 0 to k - 1, and of k or more."""
    p = [exp(-mean) * mean**i / factorial(i) for i in range(k)]
    return np.array([*p, max(0.0, 1.0 - sum(p))])


def shop(mean: float, lost: float = 0.0, lumpy: bool = False) -> TabularMDP:
    """A stock of up to 15 and orders of up to 7, of which a share never comes.

    A piece sold pays 5, one ordered costs 2.5, one kept .3, an order 2. `lumpy`: three days in five
    are quiet (.4 of the mean), the others busy (1.9).
    """
    P, R, info = np.zeros((16, 8, 16)), np.zeros((16, 8)), {"shop": (mean, lost, lumpy)}
    days = ((0.6, 0.4), (0.4, 1.9)) if lumpy else ((1.0, 1.0),)
    for s, a in np.ndindex(16, 8):
        for come, chance in ((a, 1.0 - lost), (0, lost)):
            y = min(s + come, STOCK)
            chances = np.sum([share * poisson(mean * by, y) for share, by in days], axis=0)
            for d, p in enumerate(chances):
                P[s, a, y - d] += chance * p
                R[s, a] += chance * p * (5 * d - 2.5 * a - 0.3 * (y - d) - 2 * (a > 0))
    return made(P, R, np.full(16, 1 / 16), 30, info, stock=range(16))


def step(world: TabularMDP, s: int, a: int, rng: Rng) -> tuple[float, int]:
    """What a step pays and where it leads; a shop pays by what was sold on the day."""
    if "shop" not in world.info:
        t = int(np.searchsorted(np.cumsum(world.transitions[s, a]), rng.random()))
        return float(world.rewards[s, a]), min(t, world.S - 1)
    mean, lost, lumpy = world.info["shop"]
    by = (1.9 if rng.random() < 0.4 else 0.4) if lumpy else 1.0
    y = min(s + a * int(rng.random() >= lost), STOCK)
    sold = min(y, int(rng.poisson(mean * by)))
    return 5 * sold - 2.5 * a - 0.3 * (y - sold) - 2 * (a > 0), y - sold


def ordering() -> Floats:
    """[16, 8] what shops did: order up to 9 with chance .7, else any order."""
    acts = np.full((16, 8), 0.3 / 8)
    acts[np.arange(16), np.clip(9 - np.arange(16), 0, 7)] += 0.7
    return acts


def means(rng: Rng, n: int) -> Floats:
    """Demand of a chain of shops."""
    return np.clip(3.0 * np.exp(rng.normal(0, 0.45, n)), 0.5, 9)


def online_shop(mean: float) -> TabularMDP:
    """Orders of up to 5: 3 a sale, -.8 a lost one, -1 a piece, -1.5 an order, -.15 kept."""
    P, R = np.zeros((16, 6, 16)), np.zeros((16, 6))
    for s, a in np.ndindex(16, 6):
        y = min(STOCK, s + a)
        for d, p in enumerate(poisson(mean, 12)):
            sold = min(y, d)
            P[s, a, y - sold] += p
            R[s, a] += p * (3 * sold - 0.8 * (d - sold) - (y - s) - 1.5 * (a > 0) - 0.15 * y)
    return made(P, R, 4, 15, stock=range(16))


def unrelated(rng: Rng, S: int = 16, A: int = 6) -> TabularMDP:
    """Rows and rewards drawn one by one, with the variables of a shop."""
    P, R = rng.dirichlet(np.full(S, 0.15), (S, A)), rng.normal(0, 3, (S, A))
    return made(P, R, 4, 15, stock=range(S))


def harmful(kind: str, rng: Rng) -> list[TabularMDP]:
    """A series of which the last world is scored, and the others may mislead."""
    shops = [online_shop(mean) for mean in rng.uniform(1, 4.5, 6)]
    if kind == "unrelated":
        return [unrelated(rng) for _ in range(6)]
    if kind == "misleading":
        P, R = shops[5].transitions[:, ::-1], shops[5].rewards[:, ::-1]
        return [*shops[:5], made(P.copy(), R.copy(), 4, 15, stock=range(16))]
    return [*shops[:2], unrelated(rng), *shops[2:]] if kind == "wrong member" else shops[:1]


def queue(rng: Rng) -> TabularMDP:
    """A queue of up to 19 and three speeds of its server, at rates that are drawn."""
    come = rng.uniform(0.15, 0.6)
    serve = np.clip(np.array([0.2, 0.45, 0.75]) * rng.uniform(0.7, 1.25), 0, 0.95)
    P = np.zeros((20, 3, 20))
    for s, a in np.ndindex(20, 3):
        up, down = come * (1 - serve[a]), serve[a] * (1 - come)
        for t, p in ((min(19, s + 1), up), (max(0, s - 1), down), (s, 1 - up - down)):
            P[s, a, t] += p
    R = -0.3 * np.arange(20)[:, None] - np.array([0.0, 1.0, 3.0])
    return made(P, R, np.full(20, 1 / 20), 40, waiting=range(20))


def garnets(rng: Rng, n: int) -> list[TabularMDP]:
    """Worlds around one that is drawn."""
    base, R = rng.dirichlet(np.full(15, 0.15), (15, 4)), rng.normal(0, 1, (15, 4))
    each = [
        np.array([[rng.dirichlet(5 * q + 1e-6) for q in row] for row in base]) for _ in range(n)
    ]
    return [made(P, R, np.full(15, 1 / 15), 20) for P in each]


def low_rank_family(
    n: int, S: int = 20, A: int = 10, rank: int = 2, seed: int = 0, rng: Rng | None = None
) -> list[TabularMDP]:
    """Dynamic matrices with factors of states and of actions in common, and cores of their own."""
    rng = np.random.default_rng(seed) if rng is None else rng
    u, v = rng.dirichlet(np.full(rank, 0.3), S), rng.dirichlet(np.full(rank, 0.3), A)
    R = np.broadcast_to((rng.random(S) ** 6)[:, None], (S, A))
    cores = [rng.dirichlet(np.full(S, 0.15), (rank, rank)) for _ in range(n)]
    return [made(np.einsum("sr,aq,rqt->sat", u, v, core), R / R.max(), 0, 10) for core in cores]


def grid(slip: Floats, pay: Floats, start: int) -> TabularMDP:
    """A 4 x 4 grid: a move goes astray to either side with half of a cell's slip; cells pay."""
    P = np.zeros((16, 4, 16))
    for s, (a, (i, j)) in ((s, move) for s in range(16) for move in enumerate(MOVES)):
        ways = ((i, j, 1 - slip[s]), (j, i, slip[s] / 2), (-j, -i, slip[s] / 2))
        for x, y, p in ((s % 4 + x, s // 4 + y, p) for x, y, p in ways):
            P[s, a, 4 * y + x if 0 <= x < 4 and 0 <= y < 4 else s] += p
    cells = {"row": np.arange(16) // 4, "column": np.arange(16) % 4}
    return made(P, P @ pay, start, 30, **cells)


def mazes(rng: Rng, n: int) -> list[TabularMDP]:
    """Cells that slip by 0, .2 or .4, drawn for each task; one goal and one cell of lava."""
    pay = np.full(16, -0.2)
    pay[15], pay[5] = 0.8, -1.0
    slips = rng.choice([0.0, 0.2, 0.4], (n, 16))
    return [grid(slip, pay, int(rng.integers(16))) for slip in slips]


def grids(rng: Rng, n: int) -> list[TabularMDP]:
    """All cells slip by .4; one of two goals."""
    goals, found = rng.choice(16, 2, replace=False), []
    for goal in rng.choice(goals, n):
        pay = np.full(16, -0.2)
        pay[goal] = 0.8
        found.append(grid(np.full(16, 0.4), pay, int(rng.integers(16))))
    return found


def dark_rooms(rng: Rng, n: int) -> list[TabularMDP]:
    """10 x 10 cells without chance; one that pays 1 whenever a step ends there, never twice."""
    P = np.zeros((100, 5, 100))
    for s, (a, (i, j)) in ((s, move) for s in range(100) for move in enumerate(ROOM)):
        P[s, a, 10 * min(9, max(0, s // 10 + i)) + min(9, max(0, s % 10 + j))] = 1
    cells = {"x": np.arange(100) // 10, "y": np.arange(100) % 10}
    return [made(P, P[:, :, goal], 0, 100, **cells) for goal in rng.permutation(99)[:n] + 1]


def lossy(rng: Rng, n: int) -> list[TabularMDP]:
    """Every other shop loses a fifth of its orders."""
    return [shop(mean, 0.2 * (k % 2)) for k, mean in enumerate(means(rng, n))]


def _chain(rng: Rng, n: int) -> list[TabularMDP]:
    return [shop(mean) for mean in means(rng, n)]


def _days(rng: Rng, n: int) -> list[TabularMDP]:
    return [shop(mean, lumpy=True) for mean in means(rng, n)]


def _harm(kind: str, tasks: int) -> Family:
    def worlds(rng: Rng, n: int) -> list[TabularMDP]:
        found = harmful(kind, rng)
        return found[len(found) - n :]

    title = f"harm: {kind}"
    return Family(title, "inventory:capacity=15,largest=5", worlds, tasks, 20, first=tasks - 1)


_SHOP = "inventory:capacity=15,largest=7"
FAMILIES: Mapping[str, Family] = {
    "shops": Family("shops from logs", _SHOP, _chain, 40, rows=(10, 40, 200), acts=ordering),
    "lossy": Family("shops of two kinds", _SHOP, lossy, 40, rows=(200,), acts=ordering),
    "days": Family("shops, two sorts of days", _SHOP, _days, 40, rows=(40,), acts=ordering),
    "queues": Family(
        "queues from logs", "queues", lambda rng, n: [queue(rng) for _ in range(n)], 40, rows=(50,)
    ),
    "garnets": Family("Garnet worlds from logs", "garnet", garnets, 40, rows=(200,)),
    "online": Family(
        "shops online",
        "inventory:capacity=15,largest=5",
        lambda rng, n: [online_shop(mean) for mean in rng.uniform(1, 4.5, n)],
        8,
        20,
        first=2,
    ),
    "maze": Family("TempLe's maze", "gridworld", mazes, 20, 100, first=10),
    "grid": Family("TempLe's grid", "gridworld:slip=0.4", grids, 20, 100, first=10),
    "dark": Family("Darkroom", "gridworld:height=10,width=10,slip=0", dark_rooms, 12, 5, first=4),
    "low_rank": Family(
        "low rank, cores of their own",
        "shared_factors",
        lambda rng, n: low_rank_family(n, rng=rng),
        8,
        100,
        first=2,
    ),
    "unrelated": _harm("unrelated", 6),
    "misleading": _harm("misleading", 6),
    "wrong_member": _harm("wrong member", 7),
    "alone": _harm("family of one", 1),
}
