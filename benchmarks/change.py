"""How soon a change of the world is noticed, and how often one is where there is none.

    python -m benchmarks.change                       # 40 worlds that change, 200 that do not
    python -m benchmarks.change --changing 8 --still 10 --first 9000

Worlds change once. The default learner meets a grid in which left and right are exchanged, a
machine that wears out faster and a room whose goal moves; `gim.learn` is given logs of a shop whose
demand doubles half way. *Needed* are the visits of changed pairs, since the change, after which the
likelihood ratio of the two true worlds has passed 100 on the same data. A change is found in time
if it is told by three times as many such visits: by the end of the episode in which they were made,
or of a log that ends there; and if it was not told before it came. Short runs and logs of worlds
that stay as they are count alarms.

Of the worlds that changed it is also shown, some episodes later, what the policy to deploy is worth
in the world since, as a share of the way from random to optimal, and how often the bounds on that
hold.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gim
from benchmarks import cases
from benchmarks.common import machine, table
from benchmarks.written.base import Outcomes, cells, inside

Floats = NDArray[np.float64]
FACTOR, NEEDED = 3, float(np.log(100.0))  # times as many visits; nats that true worlds need
LATER = 40  # episodes after the change, when policy and bounds are asked
HEADS = ["world", "runs", "found in time", "told too early", "policy", "bounds hold"]
Pair = tuple[gim.TabularMDP, gim.TabularMDP]


def grid(exchanged: bool = False, size: int = 6) -> gim.TabularMDP:
    """Up, down, left, right, a tenth of it at random; the goal (4, 5) ends and pays 1."""
    moves, goal = ((-1, 0), (1, 0), (0, -1), (0, 1)), (4, 5)

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        meant, found = 5 - a if exchanged and a >= 2 else a, Outcomes()
        for b, move in enumerate(moves):
            to = inside(s[0] + move[0], size), inside(s[1] + move[1], size)
            found.append((0.025 + 0.9 * (b == meant), to, float(to == goal)))
        return found

    return gim.from_step(step, cells(size, size), range(4), terminal=[goal], horizon=25)


def machine_that_wears(chance: float) -> gim.TabularMDP:
    """Eight levels of wear: it wears with this chance a step; or it is replaced for 5."""

    def step(s: tuple[int, ...], a: int) -> Outcomes:
        if a == 1:
            return [(1.0, (0,), -5.0)]
        worn, pays = (min(s[0] + 1, 7),), -float(s[0])
        return [(chance, worn, pays), (1.0 - chance, s, pays)]

    return gim.from_step(step, cells(8), range(2), horizon=30)


def exchanged(rng: np.random.Generator) -> Pair:
    """Left and right change places."""
    return grid(), grid(exchanged=True)


def wearing(rng: np.random.Generator) -> Pair:
    """A machine wears faster."""
    slow = float(rng.uniform(0.25, 0.4))
    return machine_that_wears(slow), machine_that_wears(slow + 0.5)


def moving(rng: np.random.Generator) -> Pair:
    """What pays is in another cell."""
    size, moves = 5, ((-1, 0), (1, 0), (0, -1), (0, 1))
    goals = rng.choice(np.arange(1, size * size), 2, replace=False).tolist()

    def room(goal: int) -> gim.TabularMDP:
        def step(s: tuple[int, ...], a: int) -> Outcomes:
            found = Outcomes()
            for b, move in enumerate(moves):
                to = inside(s[0] + move[0], size), inside(s[1] + move[1], size)
                paid = float(size * to[0] + to[1] == goal)
                found.append((0.025 + 0.9 * (b == a), to, paid))
            return found

        return gim.from_step(step, cells(size, size), range(4), horizon=25)

    return room(goals[0]), room(goals[1])


def demand(rng: np.random.Generator) -> Pair:
    """Demand doubles."""
    mean = float(rng.uniform(2.0, 4.0))
    return cases.shop(mean), cases.shop(2.0 * mean)


class Changing(gymnasium.Env[Any, Any]):
    """Steps through one table, and from an episode on through another."""

    def __init__(self, before: gim.TabularMDP, after: gim.TabularMDP, change: int) -> None:
        self.worlds, self.change, self.episode = (before, after), change, -1
        assert before.variables is not None
        self.codes = before.variables.codes
        self.observation_space = gymnasium.spaces.MultiDiscrete(self.codes.max(axis=0) + 1)
        self.action_space = gymnasium.spaces.Discrete(before.A)
        low, high = zip(*(mdp.reward_range for mdp in self.worlds), strict=True)
        self.reward_range = (min(low), max(high))
        self.steps: list[Step] = []  # since the change
        self._rows = [rows_of(mdp) for mdp in self.worlds]
        self._paid = [paid_by(mdp) for mdp in self.worlds]

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode."""
        super().reset(seed=seed)
        self.episode += 1
        self.s = int(self.np_random.choice(self.worlds[0].S, p=self.worlds[0].start))
        return self.codes[self.s], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step through the table of the day."""
        now = int(self.episode >= self.change)
        s, a, mdp = self.s, int(action), self.worlds[now]
        self.s = int(self.np_random.choice(mdp.S, p=self._rows[now][s, a]))
        r = float(self._paid[now][s, a, self.s])
        if now:
            self.steps.append(Step(self.episode, s, a, self.s, r))
        return self.codes[self.s], r, bool(mdp.terminal[self.s]), False, {}


class Step(NamedTuple):
    """What was seen since the change."""

    block: int
    s: int
    a: int
    t: int
    r: float


def rows_of(mdp: gim.TabularMDP) -> Floats:
    """p(s'|s,a) as an array [S, A, S]."""
    rows = mdp.rows()
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.asarray(dense, np.float64).reshape(mdp.S, mdp.A, mdp.S)


def paid_by(mdp: gim.TabularMDP) -> Floats:
    """What each triple pays, [S, A, S]."""
    if mdp.rewards_next is None:
        return np.repeat(mdp.rewards[:, :, None], mdp.S, axis=2)
    given = mdp.rewards_next
    dense = given.toarray() if hasattr(given, "toarray") else given
    return np.asarray(dense, np.float64).reshape(mdp.S, mdp.A, mdp.S)


def due(worlds: Pair, steps: list[Step]) -> int | None:
    """The place of the step by which a change must be told; None: there are too few."""
    P, R = ([f(mdp) for mdp in worlds] for f in (rows_of, paid_by))
    reached = (P[0] > 0) | (P[1] > 0)
    changed = (np.abs(P[0] - P[1]) > 1e-12).any(axis=2) | ((R[0] != R[1]) & reached).any(axis=2)
    nats, visits, by = 0.0, 0, None
    for k, step in enumerate(steps):
        s, a, t = step.s, step.a, step.t
        visits += int(changed[s, a])
        old = P[0][s, a, t] if R[0][s, a, t] == step.r else 0.0
        nats += np.log(P[1][s, a, t]) - np.log(max(old, 1e-300))
        if by is None and nats > NEEDED:
            by = FACTOR * visits
        if by is not None and visits >= by:
            return k
    return None


class Told(NamedTuple):
    """What came of one world that changes."""

    found: bool
    early: bool
    policy: float = np.nan
    holds: float = np.nan


def learned(pair: Callable[[np.random.Generator], Pair], seed: int) -> Told:
    """What the default learner has told of a world, and what it then believes."""
    rng = np.random.default_rng([3, seed])
    worlds, change = pair(rng), int(rng.integers(60, 140))
    env = Changing(*worlds, change)
    horizon = worlds[0].horizon
    run = gim.run("analogist", env, change + LATER, seed, horizon=horizon)
    last = due(worlds, env.steps)
    at = [each for each in run.mind.changes if each.told >= change]
    early = len(at) < len(run.mind.changes)
    found = last is not None and any(each.told <= env.steps[last].block for each in at)
    after = worlds[1]
    low, high = after.random_return(), after.optimal_return()
    worth = after.policy_return(np.asarray(run.best_policy()))
    bounds = gim.certify(run).earns
    holds = float(bounds[0] - 1e-9 <= worth <= bounds[1] + 1e-9)
    return Told(found, early, (worth - low) / (high - low), holds)


def logged(pair: Callable[[np.random.Generator], Pair], seed: int) -> Told:
    """What `gim.learn` tells of a log that ends when the change is due, and believes of it all."""
    rng = np.random.default_rng([4, seed])
    worlds, rows = pair(rng), int(rng.integers(200, 400))
    s, log, steps = int(rng.integers(0, 16)), [], []
    P, R = ([f(mdp) for mdp in worlds] for f in (rows_of, paid_by))
    for k in range(2 * rows):
        now = int(k >= rows)
        a = int(np.clip(9 - s, 0, 7)) if rng.random() < 0.7 else int(rng.integers(0, 8))
        t = int(rng.choice(16, p=P[now][s, a]))
        r = float(R[now][s, a, t])
        log.append((s, a, r, t))
        steps += [Step(k, s, a, t, r)] * (k >= rows)
        s = t
    last = due(worlds, steps)
    early = gim.learn(gim.from_log(log[:rows]), horizon=30).since is not None
    part = None if last is None else gim.learn(gim.from_log(log[: rows + last + 1]), horizon=30)
    after = worlds[1]
    most = (float(R[1][P[1] > 0].min()), float(R[1][P[1] > 0].max()))
    everything = gim.learn(gim.from_log(log, reward_range=most), horizon=30, safe="plain")
    low, high = after.random_return(), after.optimal_return()
    worth = everything.compare(after)["return"]
    start = np.zeros(after.S)
    start[[int(each) for each in everything.log.states]] = everything.log.start
    bounds, truth = everything.value, everything.compare(after.with_(start=start))["return"]
    holds = float(bounds.lower - 1e-9 <= truth <= bounds.upper + 1e-9)
    found = part is not None and part.since is not None
    return Told(found, early, (worth - low) / (high - low), holds)


CHANGING: dict[str, tuple[Callable[..., Told], Callable[..., Pair]]] = {
    "left and right exchanged": (learned, exchanged),
    "shop, demand doubled (log)": (logged, demand),
    "machine, faster wear": (learned, wearing),
    "room, the goal moves": (learned, moving),
}
STILL: dict[str, Callable[[np.random.Generator], gim.TabularMDP]] = {
    "grid": lambda rng: grid(),
    "machine": lambda rng: wearing(rng)[0],
    "room": lambda rng: moving(rng)[0],
    "shop": lambda rng: demand(rng)[0],
    "queue": cases.drawn_queue,
    "unrelated": cases.unrelated,
    "garnet": lambda rng: gim.make(f"garnet:seed={rng.integers(1000)}"),
    "log of a shop": lambda rng: demand(rng)[0],
}


def alarm(name: str, seed: int) -> bool:
    """Whether a short run, or a log of a world that stays as it is, tells of a change."""
    rng = np.random.default_rng([5, seed])
    world = STILL[name](rng)
    if name != "log of a shop":
        return bool(gim.run("analogist", world, int(rng.integers(20, 60)), seed).mind.changes)
    s, log, P, R = 5, [], rows_of(world), paid_by(world)
    for _ in range(int(rng.integers(100, 400))):
        a = int(np.clip(9 - s, 0, 7)) if rng.random() < 0.7 else int(rng.integers(0, 8))
        t = int(rng.choice(world.S, p=P[s, a]))
        log.append((s, a, float(R[s, a, t]), t))
        s = t
    return gim.learn(gim.from_log(log), horizon=30).since is not None


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each kind of world, and the verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--changing", type=int, default=40, help="worlds that change")
    parser.add_argument("--still", type=int, default=200, help="worlds that do not")
    parser.add_argument("--first", type=int, default=8000, help="the first seed")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    told: dict[str, list[Told]] = {name: [] for name in CHANGING}
    for k in range(given.changing):
        name = list(CHANGING)[k % len(CHANGING)]
        play, pair = CHANGING[name]
        told[name].append(play(pair, given.first + k))
    told["all"] = [each for some in told.values() for each in some]
    rows = []
    for name, some in told.items():
        if some:
            found, early, policy, holds = (np.array(x, np.float64) for x in zip(*some, strict=True))
            counts = [f"{int(found.sum())} of {len(some)}", f"{int(early.sum())}"]
            rows.append(
                [name, f"{len(some)}", *counts, f"{policy.mean():.2f}", f"{holds.mean():.2f}"]
            )
    alarms = {name: [0, 0] for name in STILL}
    for k in range(given.still):
        name = list(STILL)[k % len(STILL)]
        alarms[name][0] += alarm(name, given.first + k)
        alarms[name][1] += 1
    print(f"{machine()}; seeds from {given.first}")
    print(table(HEADS, rows))
    print(
        "alarms where nothing changes: "
        + ", ".join(f"{n} {a} of {m}" for n, (a, m) in alarms.items())
    )
    print(f"in all: {sum(a for a, _ in alarms.values())} of {given.still}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
