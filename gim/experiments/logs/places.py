"""Where logs come from: worlds, who acted there, and how much was logged."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.envs import make
from gim.envs.wet_chicken import baseline
from gim.logs import Log, from_log
from gim.mdp import TabularMDP
from gim.planning import evaluate, plan

Floats = NDArray[np.float64]
GAMMA = 0.95


@dataclass(frozen=True)
class Place:
    """A world with whoever acted there; `sizes` are transitions, or episodes where it is said."""

    title: str
    world: Callable[[int], tuple[TabularMDP, Floats]]  # of a seed: the world, and [S, A]
    sizes: tuple[int, ...]
    discount: float | None  # None: over the world's horizon
    episodes: bool = False  # whether sizes are episodes

    def log(self, size: int, seed: int) -> Log:
        """The log of a run."""
        mdp, acted = self.world(seed)
        return logged(mdp, acted, size, seed, self.episodes, self.discount is not None)

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
        mdp, _ = self.world(seed)
        v = plan(mdp, **self.planned(mdp)).v
        return float(mdp.start @ (v if v.ndim == 1 else v[0]))


def logged(
    mdp: TabularMDP, acted: Floats, size: int, seed: int, episodes: bool, endless: bool
) -> Log:
    """Play a policy [S, A] for so many steps or episodes, and write down what happens.

    Endless worlds are played on without a break unless they end; others by their horizon.
    """
    rng, dense = np.random.default_rng(seed), mdp.to_dense()
    acts = np.cumsum(acted, axis=1).tolist()
    moves = np.cumsum(dense.transitions, axis=2).tolist()
    paid, begin = dense.rewards_next, np.cumsum(mdp.start).tolist()
    rows: list[tuple[int, int, int, int, bool]] = []
    e = 0
    while (e < size) if episodes else (len(rows) < size):
        s, h = _drawn(begin, rng.random()), 0
        u = rng.random((256, 2)).tolist()
        while episodes or len(rows) < size:
            a = _drawn(acts[s], u[h % 256][0])
            t = _drawn(moves[s][a], u[h % 256][1])
            rows.append((e, s, a, t, bool(mdp.terminal[t])))
            s, h = t, h + 1
            if h % 256 == 0:
                u = rng.random((256, 2)).tolist()
            if mdp.terminal[s] or (not endless and h == mdp.horizon):
                break
        e += 1
    number, s_, a_, t_, done = (np.array(column) for column in zip(*rows, strict=True))
    r = mdp.rewards[s_, a_] if paid is None else paid[s_, a_, t_]
    made_of = mdp.variables
    names: dict[str, Any] = {"e": number, "a": a_, "r": r, "done": done}
    if mdp.action_labels is not None:
        names["a"] = np.array(mdp.action_labels, object)[a_]
    if made_of is None or len(made_of.names) == 1:
        columns = {"s": s_, "s2": t_}
        state, after = ["s"], ["s2"]
    else:
        values = np.array([made_of.values(i) for i in range(mdp.S)])
        state, after = list(made_of.names), [f"{name}2" for name in made_of.names]
        columns = {n: values[s_, j] for j, n in enumerate(state)}
        columns |= {n: values[t_, j] for j, n in enumerate(after)}
    return from_log(
        names | columns,
        state=state if len(state) > 1 else state[0],
        next_state=after if len(after) > 1 else after[0],
        episode="e",
        done="done",
    )


def _drawn(summed: list[float], u: float) -> int:
    return min(bisect(summed, u * summed[-1]), len(summed) - 1)


def wet_chicken(seed: int) -> tuple[TabularMDP, Floats]:
    """The river of 5 x 5 places and its baseline (Scholl et al., 2022)."""
    return _river()


@cache
def _river() -> tuple[TabularMDP, Floats]:
    return make("wet_chicken"), baseline(0.1)


def inventory(seed: int) -> tuple[TabularMDP, Floats]:
    """A store that orders up to 12 with probability .7, else anything."""
    return _store()


@cache
def _store() -> tuple[TabularMDP, Floats]:
    mdp = make("inventory")
    acted = np.full((mdp.S, mdp.A), 0.3 / mdp.A)
    acted[np.arange(mdp.S), np.maximum(12 - np.arange(mdp.S), 0)] += 0.7
    return mdp, acted


def queues(seed: int) -> tuple[TabularMDP, Floats]:
    """Two queues; who comes is sent to the shorter one with probability .8, else anywhere."""
    return _hall()


@cache
def _hall() -> tuple[TabularMDP, Floats]:
    mdp = make("queues")
    assert mdp.variables is not None
    x, y = mdp.variables.codes.T
    acted = np.full((mdp.S, mdp.A), 0.2 / mdp.A)
    acted[np.arange(mdp.S), np.where(x <= y, 1, 2)] += 0.8
    return mdp, acted


def random_mdp(ratio: float) -> Callable[[int], tuple[TabularMDP, Floats]]:
    """Random MDPs (Laroche, Trichelair and Tachet des Combes, 2019), a baseline at this ratio."""

    @cache
    def world(seed: int) -> tuple[TabularMDP, Floats]:
        rng, (S, A, b) = np.random.default_rng([seed, int(1000 * ratio)]), (50, 4, 4)
        P = np.zeros((S, A, S))
        for s in range(S):
            for a in range(A):
                P[s, a, rng.choice(S, b, replace=False)] = rng.dirichlet(np.ones(b))
        goal = _farthest(P)
        P[goal] = np.eye(S)[goal]
        paid = np.zeros((S, A, S))
        paid[:, :, goal] = 1.0
        paid[goal] = 0.0
        mdp = TabularMDP(P, paid, horizon=50, start=0, terminal=np.arange(S) == goal)
        return mdp, _between(mdp, ratio)

    return world


def _farthest(P: Floats) -> int:
    """The goal that is hardest to reach from state 0, of all but that."""
    S = len(P)
    found = []
    for goal in range(1, S):
        v = np.zeros(S)
        for _ in range(60):
            v = np.where(np.arange(S) == goal, 1.0, GAMMA * (P @ v).max(axis=1))
        found.append(v[0])
    return 1 + int(np.argmin(found))


def _between(mdp: TabularMDP, ratio: float) -> Floats:
    """A softmax of the best values whose return lies at this share from random to the best."""
    best = plan(mdp, discount=GAMMA)
    q = mdp.rewards + GAMMA * (mdp.to_dense().transitions @ best.v)
    value = float(mdp.start @ best.v)
    chance = float(mdp.start @ evaluate(mdp, mdp.uniform_policy(), discount=GAMMA))
    target, low, high = chance + ratio * (value - chance), 0.0, 1e6
    for _ in range(60):
        cold = np.sqrt(max(low, 1e-6) * high)
        pi = np.exp(cold * (q - q.max(axis=1, keepdims=True)))
        pi /= pi.sum(axis=1, keepdims=True)
        if float(mdp.start @ evaluate(mdp, pi, discount=GAMMA)) < target:
            low = cold
        else:
            high = cold
    return pi


PLACES = (
    Place("Wet Chicken", wet_chicken, (500, 2_000, 10_000), GAMMA),
    Place("inventory", inventory, (5_000,), None),
    Place("queues", queues, (5_000,), None),
    *(
        Place(f"random MDPs, ratio {ratio:g}", random_mdp(ratio), (10, 50, 200, 2_000), GAMMA, True)
        for ratio in (0.1, 0.5, 0.9)
    ),
)
