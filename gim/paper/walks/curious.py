"""beta-CuriousWalking, Algorithm 1 of the paper.

Decisions where the paper is silent: ties are broken uniformly at random, at every step anew (a
fixed order makes the walk circle); t(a) = 0/0 of an action never tried is 0, since nothing shows
that it leads anywhere; a state is rho-known at ceil(rho*A) known actions; "a random action" is any
available one. One random number does it all: below beta it picks any action, above it breaks ties.

As the proof of Theorem 1 claims, a step costs amortised O(log A), whatever S is: the keys of both
`argmax` stand in a tournament per state, n(s,a) of the unknown actions until the state is rho-known
and t(a) from then on, and a state that becomes rho-known tells the pairs that led to it, no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot, rare
from gim._compile.memory import VISITS, Limits
from gim.model.counts import END as TERMINAL
from gim.model.counts import STATE, Counts, Known, seen
from gim.paper.walks.base import (
    NOTHING,
    ROOM,
    Exploration,
    Options,
    at_random,
    new_options,
)
from gim.paper.walks.tournament import (
    OUT,
    Tournament,
    count_up,
    draw,
    new_tournament,
    put,
    replay,
)
from gim.paper.walks.transitions import (
    ALSO_TO,
    END,
    PAIR,
    Links,
    full,
    longer,
    met,
    new_links,
    note,
)


class Walk(NamedTuple):
    """What Algorithm 1 asks for at a step, kept up to date."""

    options: Options
    best: Tournament  # over n(s,a) of the unknown a; in a rho-known state over t(a)
    escapes: NDArray[np.float64]  # [S, A] sum of n(s'|s,a) over the s' that are open
    open: NDArray[np.bool_]  # [S] not rho-known
    links: Links

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"escapes": VISITS}


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """Algorithm 1; the comments give its lines."""
    u = rng.random()
    if u < walk.options.beta[0]:  # 1-2
        return at_random(walk.options, s, u)
    return draw(walk.best, s, u, walk.options.beta[0])  # 3-10


@hot
def score(escapes: Any, n: Any, s: int, a: int) -> float:
    """t(a) of line 9."""
    return escapes[s, a] / n[s, a] if n[s, a] > 0 else 0.0


@hot
def observe(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> int:
    """Keep both keys after a step."""
    wish = NOTHING
    if walk.open[t]:
        walk.escapes[s, a] += 1.0
        if seen(counts, s, a, t) == 1.0 and note(walk.links, s, a, t):
            wish = ROOM
    if news & STATE:
        close(walk, counts, s)
    if news & TERMINAL:
        close(walk, counts, t)
    if not walk.open[s]:
        put(walk.best, s, a, score(walk.escapes, counts.n, s, a))
    else:
        count_up(walk.best, walk.options, counts.n, known.mask, s, a, 0.0)
    return wish


@rare
def close(walk: Any, counts: Any, closed: int) -> None:
    """A state is open no more: it is no escape, and its own actions go by theirs."""
    walk.open[closed] = False
    k = walk.links.to[closed]
    while k != END:
        s, a = divmod(int(walk.links.table[k, PAIR]), counts.n.shape[1])
        left = walk.escapes[s, a] - seen(counts, s, a, closed)
        walk.escapes[s, a] = left if left > 1e-9 else 0.0  # a prior's visits need not be whole
        if not walk.open[s]:
            put(walk.best, s, a, score(walk.escapes, counts.n, s, a))
        k = walk.links.table[k, ALSO_TO]
    first = walk.best.top.shape[1] // 2
    for i in range(walk.options.n_actions[closed]):
        a = walk.options.actions[closed, i]
        walk.best.top[closed, first + a] = score(walk.escapes, counts.n, closed, a)
    replay(walk.best, closed)


@dataclass(frozen=True)
class Curious(Exploration):
    """beta-CuriousWalking (Alg. 1): finish actions one by one, then leave for open states."""

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Walk:
        """The keys of what was counted so far."""
        S, A = counts.n.shape
        open_ = ~known.rho_known
        pairs, states, N = met(counts)
        led = open_[states]
        escapes = np.bincount(pairs[led], N[led], S * A).astype(np.float64).reshape(S, A)
        t = np.where(known.available, escapes / np.maximum(counts.n, 1), OUT)
        n = np.where(known.available & ~known.mask, counts.n, OUT)
        return Walk(
            options=new_options(known.available, beta),
            best=new_tournament(np.where(open_[:, None], n, t)),
            escapes=escapes,
            open=open_,
            links=new_links(S, A, pairs[led], states[led]),
        )

    def grow(self, walk: Walk) -> Walk:
        """Make room for more transitions, if there is none."""
        if not full(walk.links):
            return walk
        return walk._replace(links=walk.links._replace(table=longer(walk.links.table)))
