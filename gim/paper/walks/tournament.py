"""A tournament over the actions of each state: the largest key at hand, ties broken at random.

A node keeps the largest key below it and how many leaves have it, so a uniform draw among the
actions that attain the maximum is one descent, and a new key one climb: O(log A) each. Visits only
grow, so who leads by them leads for long, and `count_up` takes a short cut: until the lead is over
a visit changes nothing, and two comparisons tell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot, rare
from gim._compile.memory import Limit, Limits

OUT = -1.0  # the key of an action that must not be drawn; all others are 0 or more
UNKNOWN = -1  # who leads alone, or whether anyone does, is not at hand


class Tournament(NamedTuple):
    """A binary tree per state: the root is node 1, nodes 2i and 2i+1 stand below node i."""

    top: NDArray[np.float64]  # [S, 2*width] the largest key at or below a node; leaf width + a
    ties: NDArray[np.int32]  # [S, 2*width] how many leaves have it
    sole: NDArray[np.int32]  # [S] the only action with the largest key, or UNKNOWN

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        width = self.top.shape[1] // 2
        return {
            "top": Limit(OUT, np.inf),
            "ties": Limit(1, width),
            "sole": Limit(UNKNOWN, width - 1),
        }

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        width = self.top.shape[1] // 2
        again, sole = new_tournament(self.top[:, width:]), self.sole
        right = ((self.top == again.top) & (self.ties == again.ties))[:, 1:].all(axis=1)
        alone = again.ties[:, 1] == 1
        alone &= self.top[np.arange(sole.size), width + sole] == self.top[:, 1]
        won = right & (alone | (sole == UNKNOWN))
        return "" if won.all() else "a match that nobody has won"


def new_tournament(keys: NDArray[np.float64]) -> Tournament:
    """Hold the tournament of every state over its keys, [S, A]."""
    S, A = keys.shape
    width = max(2, 1 << (A - 1).bit_length())
    sole = np.full(S, UNKNOWN, np.int32)
    tree = Tournament(np.full((S, 2 * width), OUT), np.ones((S, 2 * width), np.int32), sole)
    tree.top[:, width : width + A] = keys
    first = width // 2  # of a level, from the leaves up
    while first > 0:
        below = tree.top[:, 2 * first : 4 * first].reshape(S, first, 2)
        ties = tree.ties[:, 2 * first : 4 * first].reshape(S, first, 2)
        best = below.max(axis=2)
        tree.top[:, first : 2 * first] = best
        tree.ties[:, first : 2 * first] = (ties * (below == best[:, :, None])).sum(axis=2)
        first //= 2
    return tree


@hot
def play(tree: Any, s: int, i: int) -> bool:
    """One match: what node i has from the two below it; whether that is news."""
    left, right = tree.top[s, 2 * i], tree.top[s, 2 * i + 1]
    ties = 0
    if left >= right:
        ties += tree.ties[s, 2 * i]
    if right >= left:
        ties += tree.ties[s, 2 * i + 1]
    top = max(left, right)
    if top == tree.top[s, i] and ties == tree.ties[s, i]:
        return False
    tree.top[s, i] = top
    tree.ties[s, i] = ties
    return True


@hot
def put(tree: Any, s: int, a: int, key: float) -> None:
    """Give one action a new key."""
    i = tree.top.shape[1] // 2 + a
    if key > tree.top[s, 1]:  # ahead of all others: it wins every match
        while i > 0:
            tree.top[s, i] = key
            tree.ties[s, i] = 1
            i >>= 1
        tree.sole[s] = a
    elif key != tree.top[s, i]:
        tree.top[s, i] = key
        if a == tree.sole[s] or key == tree.top[s, 1]:
            tree.sole[s] = UNKNOWN
        i >>= 1
        while i > 0 and play(tree, s, i):  # nobody above hears of a match without news
            i >>= 1


@hot
def count_up(tree: Any, options: Any, n: Any, out: Any, s: int, a: int, untried: float) -> None:
    """Keep the visits n of the actions that are not `out`, [S, A] each, after a visit of (s, a).

    `untried` is the key of those without a visit. While one leads alone no key is kept up to date:
    nothing changes until it is out or caught up with. Then all keys are written and all matches
    played: O(A), about once in the m visits that an action needs.
    """
    leader = tree.sole[s]
    if leader == UNKNOWN:
        put(tree, s, a, OUT if out[s, a] else float(n[s, a]))
    elif (out[s, a] or n[s, a] == 1) if a == leader else n[s, a] == n[s, leader]:
        renew(tree, options, n, out, s, untried)


@rare
def renew(tree: Any, options: Any, n: Any, out: Any, s: int, untried: float) -> None:
    """Write all keys of a state, as `count_up` says, and play all matches."""
    first = tree.top.shape[1] // 2
    for i in range(options.n_actions[s]):
        a = options.actions[s, i]
        tree.top[s, first + a] = OUT if out[s, a] else float(n[s, a]) if n[s, a] > 0 else untried
    replay(tree, s)


@rare
def replay(tree: Any, s: int) -> None:
    """All matches of a state, after its leaves have changed."""
    tree.sole[s] = UNKNOWN
    for i in range(tree.top.shape[1] // 2 - 1, 0, -1):
        play(tree, s, i)


@hot
def draw(tree: Any, s: int, u: float, above: float) -> int:
    """One of the actions with the largest key; u, uniform from `above` to 1, says which."""
    if tree.sole[s] != UNKNOWN:
        return tree.sole[s]
    ties, best = tree.ties[s, 1], tree.top[s, 1]
    k = min(int((u - above) / (1.0 - above) * ties), ties - 1)  # rounding may give 1
    i, width = 1, tree.top.shape[1] // 2
    while i < width:
        i <<= 1
        here = tree.ties[s, i] if tree.top[s, i] == best else 0
        if k >= here:
            k -= here
            i += 1
    if ties == 1:
        tree.sole[s] = i - width
    return i - width
