"""beta-CuriousWalking, Algorithm 1 of the paper.

Decisions where the paper is silent: ties go to the lower rank in a random order of the actions,
drawn once per state; t(a) = 0/0 of an action never tried is 0, since nothing shows that it leads
anywhere; a state is rho-known at ceil(rho*A) known actions; "a random action" is any available one,
picked by the same random number that decided for it.

As the proof of Theorem 1 claims, a step costs amortised logarithmic time: the unknown action taken
most often is kept per state, and t(a) stands in a tournament tree per state, grown anew when some
state has become rho-known since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.exploration.base import NONE, Choices, Exploration, favourites, keep_favourite, new_choices
from gim.jit import hot, rare
from gim.model.counts import END, STATE, Counts, Known, seen, transitions
from gim.sampling import pick


class Walk(NamedTuple):
    """What Algorithm 1 asks for at a step, kept up to date."""

    choices: Choices
    favourite: NDArray[np.int64]  # [S] argmax n(s,a) over the unknown a
    escapes: NDArray[np.float64]  # [S, A] sum of n(s'|s,a) over the s' that are not rho-known
    t: NDArray[np.float64]  # [S, A] t(a) of line 9, where `fresh`
    tree: NDArray[np.int64]  # [S, 2*width] node i holds the better of nodes 2i and 2i+1
    fresh: NDArray[np.bool_]  # [S] whether t and tree hold


@hot
def score(walk: Any, counts: Any, s: int, a: int) -> float:
    """t(a) of line 9."""
    return walk.escapes[s, a] / counts.n[s, a] if counts.n[s, a] > 0 else 0.0


@hot
def winner(walk: Any, s: int, a: int, b: int) -> int:
    """The better of two actions by t, the lower rank winning a tie; NONE loses."""
    if a == NONE or b == NONE:
        return max(a, b)
    gain = walk.t[s, a] - walk.t[s, b]
    rank = walk.choices.rank
    return a if gain > 0 or (gain == 0 and rank[s, a] < rank[s, b]) else b


@rare
def grow(walk: Any, counts: Any, s: int) -> None:
    """Line 9 for all actions of a state, and the tree over them."""
    width = walk.tree.shape[1] // 2
    for i in range(2 * width):
        walk.tree[s, i] = NONE
    for i in range(walk.choices.n_actions[s]):
        a = walk.choices.actions[s, i]
        walk.t[s, a] = score(walk, counts, s, a)
        walk.tree[s, width + a] = a
    for i in range(width - 1, 0, -1):
        walk.tree[s, i] = winner(walk, s, walk.tree[s, 2 * i], walk.tree[s, 2 * i + 1])
    walk.fresh[s] = True


@hot
def climb(walk: Any, counts: Any, s: int, a: int) -> None:
    """Line 9 for one action, and its path to the root."""
    walk.t[s, a] = score(walk, counts, s, a)
    i = (walk.tree.shape[1] // 2 + a) // 2
    while i > 0:
        walk.tree[s, i] = winner(walk, s, walk.tree[s, 2 * i], walk.tree[s, 2 * i + 1])
        i //= 2


@rare
def shut(walk: Any, counts: Any, closed: int) -> None:
    """A state has become rho-known: it is no escape any more."""
    S, A = walk.escapes.shape
    for s in range(S):
        walk.fresh[s] = False
        for a in range(A):
            walk.escapes[s, a] -= seen(counts, s, a, closed)


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """Algorithm 1; the comments give its lines."""
    choices = walk.choices
    u, beta = rng.random(), choices.beta[0]
    if u < beta:  # 1-2
        return pick(choices.actions, choices.n_actions, s, u / beta)
    if not known.rho_known[s]:  # 3-7
        return walk.favourite[s]
    if not walk.fresh[s]:  # 8-9
        grow(walk, counts, s)
    return walk.tree[s, 1]  # 10


@hot
def observe(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> None:
    """Keep the favourite and the escape scores after a step."""
    just_closed = (t == s and news & STATE) or news & END
    if just_closed or not known.rho_known[t]:
        walk.escapes[s, a] += 1.0
    if news & (STATE + END):
        if news & STATE:
            shut(walk, counts, s)
        if news & END:
            shut(walk, counts, t)
    if not known.rho_known[s]:
        keep_favourite(walk.choices, walk.favourite, counts, known, s, a)
    elif walk.fresh[s]:
        climb(walk, counts, s, a)


@dataclass(frozen=True)
class Curious(Exploration):
    """beta-CuriousWalking (Alg. 1): finish actions one by one, then leave for open states."""

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Walk:
        """Favourites and escapes of what was counted so far; no state is fresh."""
        S, A = counts.n.shape
        choices = new_choices(known.available, beta, rng)
        width = max(2, 1 << (A - 1).bit_length())
        return Walk(
            choices=choices,
            favourite=favourites(choices, counts, known),
            escapes=(transitions(counts) @ (~known.rho_known).astype(float)).reshape(S, A),
            t=np.zeros((S, A)),
            tree=np.full((S, 2 * width), NONE),
            fresh=np.zeros(S, bool),
        )
