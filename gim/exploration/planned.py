"""Planned walking: head for the nearest state that is not rho-known, by planning on what is known.

In a state that is not rho-known it tries every action once, so that every reward is seen, and then
does as Algorithm 1. In a rho-known state Algorithm 1 looks one step ahead, which on a chain is not
far enough; planned walking follows the policy that is best at reaching a state that is not
rho-known soon, in the empirical model: it maximises the expectation of gamma^time. An unknown pair
of a rho-known state is a goal too, of less worth: where an open state is hardly ever reached, such
pairs fill the share rho sooner. Where there are none of either, exploration has stalled.

The way is planned anew whenever a state becomes rho-known, at most S times, and when it has led
nowhere for a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.exploration.base import (
    NONE,
    Choices,
    Exploration,
    favourites,
    keep_favourite,
    least_tried,
    most_tried_unknown,
    new_choices,
)
from gim.jit import entry, hot
from gim.model.counts import Counts, Known, transitions
from gim.params import Within
from gim.sampling import pick

HERE = -2  # the way leads to an unknown pair of this very state


class Walk(NamedTuple):
    """The way from each state, and the favourite of each open one."""

    choices: Choices
    favourite: NDArray[np.int64]  # [S] argmax n(s,a) over the unknown a
    tried: NDArray[np.bool_]  # [S] whether every action was taken once
    way: NDArray[np.int64]  # [S] action that leads to the goal soonest; NONE: no way; HERE


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """Algorithm 1, with a plan in place of its lines 8 to 10."""
    choices = walk.choices
    u, beta = rng.random(), choices.beta[0]
    if u < beta:
        return pick(choices.actions, choices.n_actions, s, u / beta)
    if not known.rho_known[s]:
        return walk.favourite[s] if walk.tried[s] else least_tried(choices, counts, s)
    a = walk.way[s]
    if a == HERE:
        a = most_tried_unknown(choices, counts, known, s)
    return a if a != NONE else least_tried(choices, counts, s)


@hot
def observe(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> None:
    """Keep the favourite after a step."""
    if not known.rho_known[s]:
        keep_favourite(walk.choices, walk.favourite, counts, known, s, a)
        if not walk.tried[s]:
            walk.tried[s] = counts.n[s, least_tried(walk.choices, counts, s)] > 0


@dataclass(frozen=True)
class Planned(Exploration):
    """Algorithm 1 in open states; elsewhere the fastest known way to one (at most S plans)."""

    gamma: Annotated[float, Within(0, 0.9999), "discount per step on the way"] = 0.95
    detour: Annotated[float, Within(0, 1), "worth of an unknown pair of a rho-known state"] = 0.5

    choose = staticmethod(choose)
    observe = staticmethod(observe)
    plans = True

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Walk:
        """Favourites of what was counted so far; no way is known."""
        choices = new_choices(known.available, beta, rng)
        tried = np.all((counts.n > 0) | ~known.available, axis=1)
        way = np.full(len(counts.n), NONE)
        return Walk(choices, favourites(choices, counts, known), tried, way)

    def plan(self, walk: Walk, counts: Counts, known: Known, prior: Any = None) -> bool:
        """Find the way to open states or unknown pairs; False if neither can be reached."""
        unknown = np.any(known.available & ~known.mask, axis=1)
        open_ = ~known.rho_known
        value = np.where(open_, 1.0, np.where(unknown, self.detour, 0.0))
        walk.way[:] = np.where(unknown, HERE, NONE)
        N = sparse.csr_array(transitions(counts).reshape(counts.n.size, -1))
        soonest(N.indptr, N.indices, N.data, counts.n, open_, self.gamma, value, walk.way)
        return bool((value > 0)[counts.n.any(axis=1)].any())


@entry
def soonest(
    indptr: Any, indices: Any, N: Any, n: Any, goal: Any, gamma: float, value: Any, way: Any
) -> None:
    """Value iteration, in place, on value(s) = max_a gamma * sum_s' p_hat(s'|s,a) value(s').

    It starts from what a state is worth itself and rises; it stops when no value rises by more than
    a thousandth of itself, so not before the furthest state from which a goal can be reached.
    """
    S, A = n.shape
    for sweep in range(100 * S + 1000):
        rising = False
        for k in range(S):
            s = k if sweep % 2 == 0 else S - 1 - k
            if goal[s]:
                continue
            for a in range(A):
                pair = s * A + a
                hits = 0.0
                for j in range(indptr[pair], indptr[pair + 1]):
                    hits += N[j] * value[indices[j]]
                if hits > 0.0:
                    new = gamma * hits / n[s, a]
                    if new > value[s]:
                        rising = rising or new > 1.001 * value[s]
                        value[s] = new
                        way[s] = a
        if not rising:
            return
