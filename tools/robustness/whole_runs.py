"""Whole runs on fresh seeds, over all tasks and random MDPs of every kind: not one may fail.

A run fails by an exception, by a number that is not finite, or by a warning that is no note of its
agent. After it the best policy is evaluated exactly, and where the agent infers, what it has
learned is put into words and, now and then, certified. Most runs are short and in small forms of
the tasks, so that there can be many; two of every `LONG` are long, one of them in a task as it is
registered, one in a random MDP.

Each run is a line of a ledger: what is in it already is not played again.
"""

from __future__ import annotations

import csv
import inspect
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gim
from gim.envs import tasks
from gim.mdp.tabular import TabularMDP
from gim.runs.agent import agents
from gim.runs.run import prepare

Floats = NDArray[np.float64]
SHORT = (80, 8)  # steps, about, and episodes at the most
WHOLE = (1_500, 60)  # likewise, of a long run
LONG = 50  # of so many runs two are long
CERTIFIED = 20  # one run in so many
SMALL = {  # tasks that are played in this form but in long runs
    "button": "size=4,horizon=10",
    "clusters": "S=24,A=5,clusters=4",
    "duplicates": "S=12,A=6,copies=3",
    "exceptions": "S=16,A=8",
    "four_rooms": "horizon=20",
    "garnet": "S=20,A=4,horizon=10",
    "gate": "S=16,A=5,behind=4",
    "inventory": "capacity=12,largest=5,demand=2.5,horizon=10",
    "inventory2": "capacity=3,largest=2,horizon=10",
    "linear": "S=15,A=6",
    "maintenance": "horizon=20",
    "noisy_arms": "A=10",
    "prototypes": "S=15,A=6",
    "queues": "capacity=4,horizon=20",
    "random_mdp": "S=20,horizon=10",
    "shared_factors": "S=20,A=10",
    "stock_trading": "sectors=2,horizon=10",
    "sysadmin": "machines=4,horizon=10",
    "taxi": "size=3,horizon=20",
    "teleports": "size=5,horizon=10",
    "walls": "size=5,walls=4,horizon=10",
    "wet_chicken": "horizon=20",
    "windy_grid": "horizon=20",
}


class Ran(NamedTuple):
    """A run, and why it failed if it did."""

    agent: str
    seed: int
    world: str
    seconds: float  # of processor time
    why: str = ""


def kept(ledger: Path) -> dict[tuple[str, int], Ran]:
    """The runs of a ledger, by agent and seed; of a line that was cut off nothing."""
    if not ledger.exists():
        return {}
    with ledger.open(newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) == len(Ran._fields)]
    found = [Ran(agent, int(i), world, float(s), why) for agent, i, world, s, why in rows]
    return {(ran.agent, ran.seed): ran for ran in found}


def all_runs(shares: dict[str, int], seed: int, ledger: Path) -> Iterator[Ran]:
    """So many runs of each agent in turns, those of the ledger first and the others added to it."""
    done = kept(ledger)
    wanted = sorted(
        ((k + 0.5) / share, agent, seed + k)
        for agent, share in shares.items()
        for k in range(share)
    )
    yield from (done[which] for _, *pair in wanted if (which := tuple(pair)) in done)
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with ledger.open("a+", newline="") as file:
        file.seek(0)
        file.write("" if file.read()[-1:] in ("", "\n") else "\n")  # after a line that was cut off
        for _, agent, i in wanted:
            if (agent, i) not in done:
                ran = one(agent, i)
                csv.writer(file, lineterminator="\n").writerow(ran)
                file.flush()
                yield ran


def one(agent: str, seed: int) -> Ran:
    """Play the run of a seed, in a task if it is odd and else in a random MDP."""
    names = tasks.names()
    world = names[seed // 2 % len(names)] if seed % 2 else "random"
    long = seed % LONG < 2  # of a task and of a random MDP
    began, why = time.process_time(), ""
    try:
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng) if world == "random" else _task(world, seed, long)
        play(agent, mdp, seed, *(WHOLE if long else SHORT))
    except Exception as problem:
        why = " ".join(f"{type(problem).__name__}: {problem}".split())
    return Ran(agent, seed, world, round(time.process_time() - began, 3), why)


def play(agent: str, mdp: TabularMDP, seed: int, steps: int, episodes: int) -> None:
    """One run and all that is asked of it afterwards; raises if anything is wrong."""
    episodes = max(1, min(episodes, steps // mdp.horizon))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # notes of agents
        run = prepare(agents.make(agent), mdp, episodes, seed).go()
        _finite("returns", run.returns)
        _finite("best policy", mdp.policy_return(run.best_policy()))
        if run.model is not None:
            _finite("rewards", run.model.rewards)
        if getattr(run.agent, "infer", None) is not None:
            for rule in run.analogies():
                str(rule)
            if seed % CERTIFIED == 0:
                str(gim.certify(run))


def random_mdp(rng: np.random.Generator) -> TabularMDP:
    """An MDP with properties drawn at random: size, rows, rewards, ends, gaps, storage."""
    S, A = int(rng.integers(1, 25)), int(rng.integers(1, 9))
    P = _rows(rng, S, A)
    rewards = _rewards(rng, S, A)
    given: dict[str, Any] = {"horizon": int(rng.choice([1, 2, 5, 20, 60]))}
    start = rng.dirichlet(np.ones(S)) if rng.random() < 0.5 else np.eye(S)[rng.integers(S)]
    if S > 2 and rng.random() < 0.3:
        ends = rng.choice(np.arange(1, S), int(rng.integers(1, S)), replace=False)
        start = np.where(np.isin(np.arange(S), ends), 0.0, start) + 1e-3 * np.eye(S)[0]
        P[ends], rewards[ends] = np.eye(S)[ends][:, None, :], 0.0
        given["terminal"] = ends
    if rng.random() < 0.3:
        available = rng.random((S, A)) < 0.6
        available[np.arange(S), rng.integers(0, A, S)] = True
        given["available"] = available
    if rng.random() < 0.3:
        given["noise"] = float(10.0 ** rng.integers(-3, 3))
    if rng.random() < 0.3:
        width = int(rng.integers(1, S + 1))
        codes = np.stack([np.arange(S) // width, np.arange(S) % width], axis=1)
        given["variables"] = rng.permutation(codes) if rng.random() < 0.3 else codes
    mdp = TabularMDP(P, rewards, start / start.sum(), name="random", **given)
    return mdp.to_sparse() if rng.random() < 0.3 else mdp


def _rows(rng: np.random.Generator, S: int, A: int) -> Floats:
    """Transitions [S, A, S]: spread out, sharp, deterministic, alike, a chain or periodic."""
    kind = rng.integers(6)
    if kind < 2:
        return rng.dirichlet(np.full(S, (1.0, 0.05)[kind]), size=(S, A))
    if kind == 2:
        return np.eye(S)[rng.integers(0, S, (S, A))]
    if kind == 3:
        return rng.dirichlet(np.full(S, 0.5), size=(1, A)).repeat(S, axis=0)
    if kind == 4:
        slip, s = rng.random() * 0.5, np.arange(S)
        there = np.clip(s[:, None] + rng.integers(-2, 3, A), 0, S - 1)
        return (1 - slip) * np.eye(S)[there] + slip * np.eye(S)[:, None, :]
    return np.roll(np.eye(S), 1, axis=1)[:, None, :].repeat(A, axis=1)


def _rewards(rng: np.random.Generator, S: int, A: int) -> Floats:
    """Rewards [S, A]: any, sparse, negative, equal, or of a scale far from 1."""
    kind = rng.integers(5)
    found = rng.normal(size=(S, A))
    if kind == 1:
        found = (rng.random((S, A)) < 0.1).astype(np.float64)
    if kind == 2:
        found = -rng.random((S, A))
    if kind == 3:
        found = np.full((S, A), float(rng.integers(-1, 2)))
    return found * 10.0 ** int(rng.integers(-9, 10)) if kind == 4 else found


def _task(name: str, seed: int, whole: bool) -> TabularMDP:
    options = "" if whole else SMALL.get(name, "")
    if "seed" in inspect.signature(tasks[name]).parameters:
        return _drawn(name, options, seed)
    return _fixed(name, options)


def _drawn(name: str, options: str, seed: int) -> TabularMDP:
    return tasks.make(f"{name}:{options + ',' if options else ''}seed={seed}")


@cache
def _fixed(name: str, options: str) -> TabularMDP:
    return tasks.make(f"{name}:{options}" if options else name)


def _finite(what: str, value: object) -> None:
    if not np.isfinite(np.asarray(value)).all():
        raise ArithmeticError(f"{what}: a number that is not finite")
