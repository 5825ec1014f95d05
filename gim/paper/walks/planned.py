"""Planned walking: head for the nearest state that is not rho-known, by planning on what is known.

In a state that is not rho-known (an open one) it tries every action once, so that every reward is
seen, and then does as Algorithm 1. In a rho-known state Algorithm 1 looks one step ahead, which on
a chain is not far enough; planned walking follows the policy that is best at reaching an open state
soon, in the empirical model: it maximises the expectation of gamma^time. An unknown pair of a
rho-known state is a goal too, of less worth: where an open state is hardly ever reached, such pairs
fill the share rho sooner. Where there are none of either, exploration has stalled.

The ways are kept up to date (`gim.paper.walks.ways`): a state that becomes rho-known costs what
the ways that led to it cost to mend, not a plan of the whole world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot, rare
from gim._compile.memory import SAME, Limit, Limits
from gim.mdp.sampling import pick
from gim.model.counts import END, PAIR, Counts, Known, seen
from gim.paper.walks.base import (
    GIVE_UP,
    NOTHING,
    ROOM,
    Exploration,
    Options,
    at_random,
    new_options,
)
from gim.paper.walks.tournament import OUT, Tournament, count_up, draw, new_tournament, replay
from gim.paper.walks.transitions import note
from gim.paper.walks.ways import HERE, NONE, Ways, new_ways, revise, with_room

UNTRIED = 2.0**62  # the key of an action never tried: before all others


class Walk(NamedTuple):
    """The unknown actions of each state, and the way from it where it has none."""

    options: Options
    unknown: Tournament  # over n(s,a) of the unknown a, those never tried first
    ways: Ways
    detour: NDArray[np.float64]  # [1] worth of an unknown pair of a rho-known state
    met: NDArray[np.bool_]  # [S]
    pairs: NDArray[np.int64]  # [1] those of the states met: once all are known, nothing is left

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"detour": SAME, "pairs": Limit(0, int(self.options.n_actions.sum()))}


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """Algorithm 1, with a plan in place of its lines 8 to 10."""
    options, u = walk.options, rng.random()
    if u < options.beta[0]:
        return at_random(options, s, u)
    a = walk.ways.way[s]
    if a == HERE:
        return draw(walk.unknown, s, u, options.beta[0])
    if a == NONE:
        return pick(options.actions, options.n_actions, s, rng.random())
    return a


@hot
def observe(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> int:
    """Keep the unknown actions after a step, and the ways where it changed them."""
    wish, n = NOTHING, counts.n[s, a]
    meet(walk.met, walk.pairs, walk.options.n_actions, s)
    meet(walk.met, walk.pairs, walk.options.n_actions, t)
    new = seen(counts, s, a, t) == 1.0
    if new and note(walk.ways.links, s, a, t):
        wish = ROOM
    if not known.mask[s, a] or news & PAIR:
        count_up(walk.unknown, walk.options, counts.n, known.mask, s, a, UNTRIED)
    doubled = n & (n - 1) == 0  # at 1, 2, 4, ... visits
    if news & END or (known.rho_known[s] and (new or doubled or news & PAIR)):
        mend(walk, counts, known, s, a, t, news)
    return wish + GIVE_UP if walk.pairs[0] == known.pairs[0] else wish


@rare
def mend(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> None:
    """Mend the ways after a step that changed what s, or t, is worth or where it leads."""
    if news & END:
        first = walk.unknown.top.shape[1] // 2
        for b in range(counts.n.shape[1]):
            walk.unknown.top[t, first + b] = OUT
        replay(walk.unknown, t)
        revise(walk.ways, counts, t, a, 0.0)
    if known.rho_known[s]:
        own = walk.detour[0] if walk.unknown.top[s, 1] > OUT else 0.0
        revise(walk.ways, counts, s, a, own)


@hot
def meet(met: Any, pairs: Any, n_actions: Any, s: int) -> None:
    """Count the pairs of a state when it is met first."""
    if not met[s]:
        met[s] = True
        pairs[0] += n_actions[s]


@dataclass(frozen=True)
class Planned(Exploration):
    """Algorithm 1 in open states; elsewhere the fastest known way to one."""

    gamma: Annotated[float, Within(0, 0.9999), "discount per step on the way"] = 0.95
    detour: Annotated[float, Within(0, 1), "worth of an unknown pair of a rho-known state"] = 0.5

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Walk:
        """Unknown actions and ways in what was counted so far."""
        options = new_options(known.available, beta)
        unknown = known.available & ~known.mask
        keys = np.where(counts.n > 0, counts.n, UNTRIED)
        own = np.where(known.rho_known, self.detour * unknown.any(axis=1), 1.0)
        ways = new_ways(counts, own, self.gamma)
        met = counts.n.any(axis=1) | known.terminal | (ways.links.to != NONE)
        return Walk(
            options=options,
            unknown=new_tournament(np.where(unknown, keys, OUT)),
            ways=ways,
            detour=np.array([self.detour]),
            met=met,
            pairs=np.array([options.n_actions[met].sum()]),
        )

    def grow(self, walk: Walk) -> Walk:
        """Make room for more transitions, if there is none."""
        return walk._replace(ways=with_room(walk.ways))
