"""Ways to the goals of a walk, kept up to date as goals go: local repairs in place of plans.

The worth of a state is what it is worth itself as a goal, or gamma^time in expectation until a goal
is reached, whichever is more:

    worth(s) = max(own(s), max_a gamma * sum_s' p(s'|s,a) worth(s')),

solved for worth(s) where a pair may stay. A way hopes for the best of the states it may lead to,
which is worth more than where it starts, so hopes form trees whose roots are goals. When a goal
goes, its tree is forgotten and its states look for other ways among what stands around them; then
changes of worth spread backwards along the transitions met, as in prioritised sweeping (Moore and
Atkeson, 1993), as long as they are larger than `SLACK` of what one step costs. So no way leads in
a circle, and the work is that of the states whose ways led to the goal that went.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import entry, hot, rare
from gim._compile.memory import SAME, VISITS, Limit, Limits
from gim.model.counts import Counts, seen
from gim.paper.walks.transitions import (
    ALSO_FROM,
    ALSO_TO,
    END,
    PAIR,
    STATE,
    Links,
    full,
    longer,
    met,
    new_links,
)

NONE = -1  # no way
HERE = -2  # the state itself is the goal
SLACK = 0.25
TINY = 1e-290  # a worth below this is none
TOLERANCE = 1e-4  # of sums from a file: visits of a prior need not be whole
TOLD = -1.0  # in `before`: nothing has changed


class Ways(NamedTuple):
    """Where to go from each state, and what it takes to mend that."""

    own: NDArray[np.float64]  # [S] worth as a goal: 1 is the most, 0 no goal
    worth: NDArray[np.float64]  # [S]
    way: NDArray[np.int64]  # [S] action, HERE or NONE
    hope: NDArray[np.int64]  # [S] the best state that the way may lead to
    links: Links
    p: NDArray[np.float64]  # [capacity] p(s'|s,a) of each link, as of the last look at its pair
    gamma: NDArray[np.float64]  # [1]
    before: NDArray[np.float64]  # [S] worth before a change that others must be told of, or TOLD
    queue: NDArray[np.int64]  # [S] the states with such a change, a ring
    first: NDArray[np.int64]  # [1] place of the first of them
    waiting: NDArray[np.int64]  # [1] how many they are
    work: NDArray[np.int64]  # [1] links looked at so far

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        S, A = self.links.of.shape
        states = Limit(0, S - 1)
        return {
            "own": Limit(0, 1),
            "worth": Limit(0, 1 + TOLERANCE),
            "way": Limit(min(HERE, NONE), A - 1),
            "hope": states,
            "p": Limit(0, 1 + TOLERANCE, grows=True),
            "gamma": SAME,
            "before": SAME,  # between two steps nothing is left to tell
            "queue": states,
            "first": states,
            "waiting": SAME,
            "work": VISITS,
        }

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        links, p = len(self.links.table), self.p.shape
        if p != (links,):
            return f"p of {p} for {links} links"
        used = int(self.links.used[0])
        sums = np.bincount(self.links.table[:used, PAIR], self.p[:used])
        over = sums.max(initial=0.0) > 1 + TOLERANCE  # worths would rise for ever
        return "p of a pair that sums to more than 1" if over else ""


def new_ways(counts: Counts, own: NDArray[np.float64], gamma: float) -> Ways:
    """Find the ways in what was counted so far."""
    S, A = counts.n.shape
    pairs, states, N = met(counts)
    links = new_links(S, A, pairs, states)
    ways = Ways(
        own=own,
        worth=own.copy(),
        way=np.where(own > 0, HERE, NONE),
        hope=np.arange(S),
        links=links,
        p=np.zeros(len(links.table)),
        gamma=np.array([gamma]),
        before=np.full(S, TOLD),
        queue=np.zeros(S, np.int64),
        first=np.zeros(1, np.int64),
        waiting=np.zeros(1, np.int64),
        work=np.zeros(1, np.int64),
    )
    if pairs.size:
        ways.p[: pairs.size] = N / counts.n.ravel()[pairs]
        _find_all(ways)
    return ways


def with_room(ways: Ways) -> Ways:
    """The same with room for more transitions, if there is none."""
    if not full(ways.links):
        return ways
    links = ways.links._replace(table=longer(ways.links.table))
    return ways._replace(links=links, p=longer(ways.p))


@hot
def look(ways: Any, counts: Any, s: int, a: int) -> None:
    """Bring p(.|s,a) up to date."""
    k = ways.links.of[s, a]
    while k != END:
        ways.p[k] = seen(counts, s, a, ways.links.table[k, STATE]) / counts.n[s, a]
        k = ways.links.table[k, ALSO_FROM]


@hot
def leads(ways: Any, s: int, a: int) -> Any:
    """What (s, a) is worth as a way, and the best state that it may lead to."""
    total, stay, hope = 0.0, 0.0, s
    k = ways.links.of[s, a]
    while k != END:
        t, p = int(ways.links.table[k, STATE]), ways.p[k]
        if t == s:
            stay = p
        else:
            total += p * ways.worth[t]
            if hope == s or ways.worth[t] > ways.worth[hope]:
                hope = t
        ways.work[0] += 1
        k = ways.links.table[k, ALSO_FROM]
    worth = ways.gamma[0] * total / (1.0 - ways.gamma[0] * stay)
    return worth if worth > TINY else 0.0, hope


@hot
def slack(ways: Any) -> float:
    """The share of a worth by which it may be out of date."""
    return SLACK * (1.0 - ways.gamma[0])


@hot
def enqueue(ways: Any, s: int) -> None:
    """The worth of s is about to change: others must be told."""
    if ways.before[s] == TOLD:
        ways.before[s] = ways.worth[s]
        ways.queue[(ways.first[0] + ways.waiting[0]) % ways.queue.size] = s
        ways.waiting[0] += 1


@rare
def reckon(ways: Any, s: int) -> bool:
    """Find the best way from s, whatever it was; whether it is better by more than the slack."""
    best, way, hope = ways.own[s], HERE if ways.own[s] > 0.0 else NONE, s
    for a in range(ways.links.of.shape[1]):
        worth, top = leads(ways, s, a)
        if worth > best:
            best, way, hope = worth, a, top
    better = best > (1.0 + slack(ways)) * ways.worth[s]
    ways.worth[s], ways.way[s], ways.hope[s] = best, way, hope
    return better


@rare
def tell(ways: Any) -> None:
    """Tell of every change those it may concern, and so on until all is told.

    A worth that rose may make any pair that leads there the better way; one that fell concerns
    those whose way it was.
    """
    while ways.waiting[0] > 0:
        t = ways.queue[ways.first[0]]
        ways.first[0] = (ways.first[0] + 1) % ways.queue.size
        ways.waiting[0] -= 1
        rose, fell = ways.worth[t] > ways.before[t], ways.worth[t] < ways.before[t]
        ways.before[t] = TOLD
        k = ways.links.to[t] if rose or fell else END
        while k != END:
            s, a = divmod(int(ways.links.table[k, PAIR]), ways.links.of.shape[1])
            ways.work[0] += 1
            if (rose or ways.way[s] == a) and ways.own[s] < 1.0 and s != t:
                worth, hope = leads(ways, s, a)
                if worth > (1.0 + slack(ways)) * ways.worth[s]:
                    enqueue(ways, s)
                    ways.worth[s], ways.way[s], ways.hope[s] = worth, a, hope
                elif ways.way[s] == a and worth < (1.0 - slack(ways)) * ways.worth[s]:
                    enqueue(ways, s)
                    reckon(ways, s)
            k = ways.links.table[k, ALSO_TO]


@rare
def fall(ways: Any) -> None:
    """The goals of the queue have gone: forget all ways that led there, and find others."""
    first, size = ways.first[0], ways.queue.size
    i = 0
    while i < ways.waiting[0]:
        t = ways.queue[(first + i) % size]
        ways.worth[t], ways.way[t] = 0.0, NONE
        k = ways.links.to[t]
        while k != END:
            s, a = divmod(int(ways.links.table[k, PAIR]), ways.links.of.shape[1])
            ways.work[0] += 1
            if ways.way[s] == a and ways.hope[s] == t:
                enqueue(ways, s)
            k = ways.links.table[k, ALSO_TO]
        i += 1
    n, back, sweeps = ways.waiting[0], True, 2  # back and forth, until none finds a better way
    while sweeps > 0:
        sweeps -= 1
        for j in range(n):
            place = first + (n - 1 - j if back else j)
            if reckon(ways, ways.queue[place % size]):
                sweeps = 1
        back = not back
    tell(ways)


@rare
def revise(ways: Any, counts: Any, s: int, a: int, own: float) -> None:
    """More is known of where (s, a) leads, or s is worth less as a goal."""
    gone = own < ways.own[s]
    for b in range(0 if gone else a, ways.links.of.shape[1] if gone else a + 1):
        look(ways, counts, s, b)
    if gone:
        enqueue(ways, s)
        ways.own[s] = own
        fall(ways)
    elif ways.way[s] == a or leads(ways, s, a)[0] > ways.worth[s]:
        enqueue(ways, s)
        reckon(ways, s)
        tell(ways)


@entry
def _find_all(ways: Any) -> None:
    """Find the way from every state that is not a goal of the first rank."""
    for s in range(ways.own.size):
        if ways.own[s] < 1.0:
            enqueue(ways, s)
    fall(ways)
