"""The transitions met, as linked lists: which pairs led to a state, and where a pair has led.

A list grows at its head, so to note a transition costs O(1), and all that led to a state is found
without a look at any other. Memory is proportional to the transitions met; a full table asks for
room.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import rare
from gim._compile.memory import VISITS, Limit, Limits
from gim.model.counts import Counts, transitions

END = -1  # of a list
ROOMY = 1 << 12  # transitions there is room for to begin with: a run pays for room in milliseconds
PAIR, STATE, ALSO_TO, ALSO_FROM = 0, 1, 2, 3  # columns of Links.table


class Links(NamedTuple):
    """Transitions (s, a, s'), each numbered k in the order in which they were met."""

    to: NDArray[np.int32]  # [S] the last transition to each state, or END
    of: NDArray[np.int32]  # [S, A] the last transition of each pair, or END
    table: NDArray[np.int32]  # [capacity, 4] s*A + a and s'; the one before it to the same state,
    # and of the same pair, or END
    used: NDArray[np.int64]  # [1] transitions met

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        any_of = Limit(END, np.iinfo(np.int32).max)
        return {"to": any_of, "of": any_of, "table": any_of._replace(grows=True), "used": VISITS}

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        (used,), (S, A) = self.used.tolist(), self.of.shape
        if self.table.shape[1:] != (4,) or used >= len(self.table):  # there is room for another
            return f"a table of {self.table.shape} for {used} transitions"
        pairs, states = self.table[:used, :2].astype(np.int64).T
        if used and not (pairs.min() >= 0 <= states.min() and pairs.max() < S * A):
            return "a transition of no pair"
        if np.unique(pairs * S + states).size < used or states.max(initial=0) >= S:
            return "a transition that is met twice, or leads nowhere"
        again = new_links(S, A, pairs, states)  # a list that does not end would never be left
        lists = (self.to, self.of, self.table[:used])
        same = map(np.array_equal, lists, (again.to, again.of, again.table[:used]))
        return "" if all(same) else "lists of transitions that were not met so"


def new_links(S: int, A: int, pairs: NDArray[np.int64], states: NDArray[np.int64]) -> Links:
    """Note these transitions, from pairs to states."""
    table = np.full((max(ROOMY, 2 * len(pairs)), 4), END, np.int32)
    links = Links(
        to=np.full(S, END, np.int32),
        of=np.full((S, A), END, np.int32),
        table=table,
        used=np.array([len(pairs)]),
    )
    table[: len(pairs), PAIR], table[: len(pairs), STATE] = pairs, states
    _link(links.to, table[:, ALSO_TO], states)
    _link(links.of.ravel(), table[:, ALSO_FROM], pairs)
    return links


def _link(last: NDArray[np.int32], before: NDArray[np.int32], lists: NDArray[np.int64]) -> None:
    """Chain transition k to the one before it in the same of these lists."""
    order = np.argsort(lists, kind="stable")
    same = lists[order][1:] == lists[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    last[lists] = np.arange(len(lists))


def full(links: Links) -> bool:
    """Whether there is no room for another transition."""
    return bool(links.used[0] == len(links.table))


def longer(array: NDArray[Any]) -> NDArray[Any]:
    """The same array with twice the rows."""
    return np.concatenate([array, np.zeros_like(array)])


def met(counts: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Pair, next state and count of every transition counted so far.

    A prior may count a visit in parts; a part that the next visit would swallow (1 + x is 1) is
    none, since a transition is noted when its count becomes 1.
    """
    S, A = counts.n.shape
    if not counts.n.any():  # leaves the pages of a large table untouched
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    N = transitions(counts)
    table = sparse.coo_array(N if sparse.issparse(N) else N.reshape(S * A, S))
    some = table.data + 1.0 > 1.0
    return table.row[some].astype(np.int64), table.col[some].astype(np.int64), table.data[some]


@rare
def note(links: Any, s: int, a: int, t: int) -> bool:
    """Note a transition that is met first; True if there is no room for another."""
    k = links.used[0]
    links.table[k, PAIR] = s * links.of.shape[1] + a
    links.table[k, STATE] = t
    links.table[k, ALSO_TO] = links.to[t]
    links.table[k, ALSO_FROM] = links.of[s, a]
    links.to[t] = k
    links.of[s, a] = k
    links.used[0] = k + 1
    return k + 1 == links.table.shape[0]
