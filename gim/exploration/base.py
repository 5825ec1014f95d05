"""What a way of exploring is: two compiled functions over a small memory of its own.

To add a walk, write one file in this package::

    @hot
    def choose(walk, counts, known, s, rng): ...                 # -> action

    @hot
    def observe(walk, counts, known, s, a, t, news): ...         # keep the memory up to date

    @dataclass(frozen=True)
    class FirstUnknown(Exploration):                             # registered as `first_unknown`
        choose = staticmethod(choose)
        observe = staticmethod(observe)
        def start(self, counts, known, beta, rng): return new_choices(known.available, beta, rng)

`gim.GIM(exploration="first_unknown")` then walks so. One in a package of your own is found as well
(docs/extending.md); `gim.testing.check_walk` checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.jit import hot, rare
from gim.memory import SAME, Limits
from gim.model.counts import Counts, Known
from gim.registry import Registered, Registry
from gim.sampling import listed

explorations = Registry("walk", "gim.exploration")

NONE = -1  # no action


@dataclass(frozen=True)
class Exploration(Registered, registry=explorations):
    """Base of all walks.

    `choose(walk, counts, known, s, rng) -> a` picks an action; `observe(walk, counts, known, s, a,
    t, news)` is called after each step has been counted, with what became known by it (the sum of
    PAIR, STATE and END of `gim.model.counts`).
    """

    choose: ClassVar[Callable[..., int]]
    observe: ClassVar[Callable[..., None]]
    plans: ClassVar[bool] = False  # whether it wants `plan` at each state that becomes rho-known
    growth: ClassVar[float] = 0.0  # of the visits since a plan that asks for another; 0: never

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Any:
        """Make the walk's memory, a NamedTuple of arrays, from what was counted so far.

        With probability `beta` any walk takes a random action.
        """
        raise TypeError(f"{type(self).__name__} must define start(counts, known, beta, rng)")

    def plan(self, walk: Any, counts: Counts, known: Known, prior: Any) -> bool:
        """Plan the way to what is not known; False: nothing unknown can be reached.

        `prior` is what the agent infers (`gim.inference.Prior`), up to date where the walk has a
        `growth`, and of size 0 for an agent that infers nothing.
        """
        return True


class Choices(NamedTuple):
    """What every walk needs: the actions of each state and who wins a tie."""

    beta: NDArray[np.float64]  # [1]
    actions: NDArray[np.int64]  # [S, A] available actions, first in each row
    n_actions: NDArray[np.int64]  # [S] how many there are
    rank: NDArray[np.int64]  # [S, A] a random order: the lower rank wins a tie

    def limits(self) -> Limits:
        """See `gim.memory`."""
        return dict.fromkeys(self._fields, SAME)


def new_choices(available: NDArray[np.bool_], beta: float, rng: np.random.Generator) -> Choices:
    """List the available actions of each state and draw its order of them.

    Without the order the lowest index would win every tie, and whole columns of the dynamic
    matrices would stay empty.
    """
    S, A = available.shape
    rank = rng.permuted(np.tile(np.arange(A), (S, 1)), axis=1)
    return Choices(np.array([beta]), *listed(available), rank)


def favourites(choices: Choices, counts: Counts, known: Known) -> NDArray[np.int64]:
    """`most_tried_unknown` of every state, [S]."""
    key = counts.n * counts.n.shape[1] - choices.rank
    return np.where(known.available & ~known.mask, key, np.iinfo(np.int64).min).argmax(axis=1)


@hot
def ahead(choices: Any, counts: Any, s: int, a: int, b: int) -> bool:
    """Whether a was tried more often than b in s; the lower rank wins a tie."""
    more = counts.n[s, a] - counts.n[s, b]
    return more > 0 or (more == 0 and choices.rank[s, a] < choices.rank[s, b])


@rare
def most_tried_unknown(choices: Any, counts: Any, known: Any, s: int) -> int:
    """argmax n(s,a) over the unknown actions of a state (Alg. 1, line 7), or NONE."""
    best = NONE
    for i in range(choices.n_actions[s]):
        a = choices.actions[s, i]
        if not known.mask[s, a] and (best == NONE or ahead(choices, counts, s, a, best)):
            best = a
    return best


@hot
def least_tried(choices: Any, counts: Any, s: int) -> int:
    """argmin n(s,a) over the actions of a state."""
    best = choices.actions[s, 0]
    for i in range(1, choices.n_actions[s]):
        a = choices.actions[s, i]
        less = counts.n[s, best] - counts.n[s, a]
        if less > 0 or (less == 0 and choices.rank[s, a] < choices.rank[s, best]):
            best = a
    return best


@hot
def keep_favourite(choices: Any, favourite: Any, counts: Any, known: Any, s: int, a: int) -> None:
    """Keep favourite[s] = most_tried_unknown after a visit of (s, a); O(A/m) amortised."""
    if known.mask[s, favourite[s]]:
        favourite[s] = most_tried_unknown(choices, counts, known, s)
    elif not known.mask[s, a] and ahead(choices, counts, s, a, favourite[s]):
        favourite[s] = a
