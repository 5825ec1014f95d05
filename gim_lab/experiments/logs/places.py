"""Where logs come from: worlds, who acted there, and how much was logged."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.envs import make
from gim.envs.random_mdp import softened
from gim.envs.wet_chicken import baseline
from gim.logs import Log, from_log
from gim.mdp.tabular import TabularMDP
from gim.planning import evaluate, plan
from gim_lab.trials.spec import instance

Floats = NDArray[np.float64]
Rows = tuple[NDArray[Any], ...]  # episode, s, a, next state, [n] each
GAMMA = 0.95


@dataclass(frozen=True)
class Place:
    """A world with whoever acted there; `sizes` are transitions, or episodes where it is said."""

    title: str
    task: str  # run k plays instance k, where it is random
    acts: Callable[[TabularMDP], Floats]  # the policy [S, A] that is logged
    sizes: tuple[int, ...]
    discount: float | None  # None: over the world's horizon
    episodes: bool = False  # whether sizes are episodes

    def world(self, seed: int) -> tuple[TabularMDP, Floats]:
        """The world of a run, and who acts there."""
        spec = instance(self.task, seed)
        return _built(spec), _acting(spec, self.title)

    def log(self, size: int, seed: int) -> Log:
        """The log of a run."""
        mdp, acted = self.world(seed)
        rng = np.random.default_rng(seed)
        if self.discount is None:
            assert mdp.horizon is not None
            rows = side_by_side(mdp, acted, -(-size // mdp.horizon), rng, mdp.horizon)
            rows = tuple(column[:size] for column in rows)
        elif self.episodes:
            rows = side_by_side(mdp, acted, size, rng)
        else:
            rows = one_by_one(mdp, acted, size, rng)
        return read(mdp, *rows)

    def worth(self, seed: int, policy: NDArray[Any]) -> float:
        """The exact expected return of a policy."""
        mdp, _ = self.world(seed)
        v = evaluate(mdp, policy, **self.planned(mdp))
        return float(mdp.start @ (v if v.ndim == 1 else v[0]))

    def planned(self, mdp: TabularMDP) -> dict[str, Any]:
        """Horizon or discount, as planners take them."""
        return {"horizon": mdp.horizon} if self.discount is None else {"discount": self.discount}

    def optimum(self, seed: int) -> float:
        """That of the best policy."""
        return _best(instance(self.task, seed), self.title)


def one_by_one(mdp: TabularMDP, acted: Floats, size: int, rng: np.random.Generator) -> Rows:
    """Play a policy [S, A] for so many steps, without a break unless the world ends."""
    acts = np.cumsum(acted, axis=1).tolist()
    moves = np.cumsum(mdp.to_dense().transitions, axis=2).tolist()
    begin = np.cumsum(mdp.start).tolist()
    rows: list[tuple[int, int, int, int]] = []
    e = 0
    while len(rows) < size:
        s, h = _drawn(begin, rng.random()), 0
        u = rng.random((256, 2)).tolist()
        while len(rows) < size and not mdp.terminal[s]:
            a = _drawn(acts[s], u[h % 256][0])
            t = _drawn(moves[s][a], u[h % 256][1])
            rows.append((e, s, a, t))
            s, h = t, h + 1
            if h % 256 == 0:
                u = rng.random((256, 2)).tolist()
        e += 1
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _drawn(summed: list[float], u: float) -> int:
    return min(bisect(summed, u * summed[-1]), len(summed) - 1)


def side_by_side(
    mdp: TabularMDP,
    acted: Floats,
    episodes: int,
    rng: np.random.Generator,
    horizon: int | None = None,
) -> Rows:
    """Play so many episodes, a step of all at a time, until the horizon or until all have ended."""
    acts, moves = np.cumsum(acted, axis=1), np.cumsum(mdp.to_dense().transitions, axis=2)
    e = np.arange(episodes)
    s = _each(np.cumsum(mdp.start)[None].repeat(episodes, axis=0), rng)
    rows, h = [], 0
    while e.size and (horizon is None or h < horizon):
        a = _each(acts[s], rng)
        t = _each(moves[s, a], rng)
        rows.append((e, s, a, t))
        on = ~mdp.terminal[t]
        e, s, h = e[on], t[on], h + 1
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return tuple(column[order] for column in columns)


def _each(summed: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """A draw from each row of summed probabilities."""
    u = rng.random(len(summed)) * summed[:, -1]
    return np.minimum((summed <= u[:, None]).sum(axis=1), summed.shape[1] - 1)


def read(mdp: TabularMDP, e: Any, s: Any, a: Any, t: Any) -> Log:
    """What happened as a log, in the labels and variables of the world."""
    paid = mdp.to_dense().rewards_next
    r = mdp.rewards[s, a] if paid is None else paid[s, a, t]
    table: dict[str, Any] = {"e": e, "a": a, "r": r, "done": mdp.terminal[t]}
    if mdp.action_labels is not None:
        table["a"] = np.array(mdp.action_labels, object)[a]
    state: str | list[str] = "s"
    after: str | list[str] = "s2"
    made_of = mdp.variables
    if made_of is None or len(made_of.names) == 1:
        table |= {"s": s, "s2": t}
    else:
        values = np.array([made_of.values(i) for i in range(mdp.S)])
        state, after = list(made_of.names), [f"{name}2" for name in made_of.names]
        table |= {n: values[s, j] for j, n in enumerate(state)}
        table |= {n: values[t, j] for j, n in enumerate(after)}
    every = mdp.rewards if paid is None else paid
    told = float(every.min()), float(every.max())
    return from_log(
        table, state=state, next_state=after, episode="e", done="done", reward_range=told
    )


def up_to_twelve(mdp: TabularMDP) -> Floats:
    """A store that orders up to 12 with probability .7, else anything."""
    acted = np.full((mdp.S, mdp.A), 0.3 / mdp.A)
    acted[np.arange(mdp.S), np.maximum(12 - np.arange(mdp.S), 0)] += 0.7
    return acted


def shorter_queue(mdp: TabularMDP) -> Floats:
    """Who comes is sent to the shorter queue with probability .8, else anywhere."""
    assert mdp.variables is not None
    x, y = mdp.variables.codes.T
    acted = np.full((mdp.S, mdp.A), 0.2 / mdp.A)
    acted[np.arange(mdp.S), np.where(x <= y, 1, 2)] += 0.8
    return acted


PLACES = {
    "wet_chicken": Place(
        "Wet Chicken", "wet_chicken", lambda mdp: baseline(0.1), (500, 2_000, 10_000), GAMMA
    ),
    "inventory": Place("inventory", "inventory", up_to_twelve, (5_000,), None),
    "queues": Place("queues", "queues", shorter_queue, (5_000,), None),
} | {
    f"random_mdp_{ratio:g}": Place(
        f"random MDPs, ratio {ratio:g}",
        "random_mdp",
        partial(softened, ratio=ratio),
        (10, 50, 200, 2_000),
        GAMMA,
        episodes=True,
    )
    for ratio in (0.1, 0.5, 0.9)
}
BY_TITLE = {place.title: place for place in PLACES.values()}


@lru_cache(maxsize=64)
def _built(spec: str) -> TabularMDP:
    return make(spec)


@lru_cache(maxsize=64)
def _acting(spec: str, title: str) -> Floats:
    return BY_TITLE[title].acts(_built(spec))


@lru_cache(maxsize=64)
def _best(spec: str, title: str) -> float:
    mdp = _built(spec)
    v = plan(mdp, **BY_TITLE[title].planned(mdp)).v
    return float(mdp.start @ (v if v.ndim == 1 else v[0]))
