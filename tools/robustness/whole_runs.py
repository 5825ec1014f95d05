"""Whole runs on fresh seeds, over all tasks and random MDPs of every kind: not one may fail.

A run fails by an exception, by a number that is not finite, or by a warning that is no note of its
agent. After it the best policy is evaluated exactly, and where the agent infers, what it has
learned is put into words and, now and then, certified.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gim
from gim.agent import agents
from gim.envs import tasks
from gim.mdp import TabularMDP
from gim.run import prepare

Floats = NDArray[np.float64]
STEPS = 1_500  # of one run, about
EPISODES = 60  # of one run, at the most
CERTIFIED = 20  # one run in so many


class Fall(NamedTuple):
    """A run that failed."""

    agent: str
    world: str
    seed: int
    why: str


def falls(agent: str, number: int, seed: int) -> Iterator[Fall | None]:
    """Play so many runs of an agent; for each what went wrong, or None."""
    names = tasks.names()
    for i in range(seed, seed + number):
        rng = np.random.default_rng(i)
        kind = names[i % len(names)] if i % 2 else "random"
        try:
            mdp = random_mdp(rng) if kind == "random" else _task(kind, i)
            play(agent, mdp, i)
        except Exception as problem:
            yield Fall(agent, kind, i, f"{type(problem).__name__}: {problem}")
        else:
            yield None


def play(agent: str, mdp: TabularMDP, seed: int) -> None:
    """One run and all that is asked of it afterwards; raises if anything is wrong."""
    episodes = max(1, min(EPISODES, STEPS // mdp.horizon))
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


def _task(name: str, seed: int) -> TabularMDP:
    drawn = "seed" in inspect.signature(tasks[name]).parameters
    return gim.make(name, seed=seed) if drawn else _fixed(name)


@cache
def _fixed(name: str) -> TabularMDP:
    return gim.make(name)


def _finite(what: str, value: object) -> None:
    if not np.isfinite(np.asarray(value)).all():
        raise ArithmeticError(f"{what}: a number that is not finite")
