"""What a way of exploring is: two compiled functions over a small memory of its own.

To add a walk, write one file in this package::

    @hot
    def choose(walk, counts, known, s, rng): ...                 # -> action

    @hot
    def observe(walk, counts, known, s, a, t, news): ...         # -> NOTHING, or what it asks for

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

from gim._base.registry import Registered, Registry
from gim._compile.jit import hot
from gim._compile.memory import SAME, Limits
from gim.belief.knowledge import Knowledge
from gim.mdp.sampling import listed, pick
from gim.model.counts import Counts, Known

explorations = Registry("walk", "gim.paper.walks")

NOTHING, PLAN, ROOM, GIVE_UP = 0, 1, 2, 4  # what `observe` may ask for, added up


@dataclass(frozen=True)
class Exploration(Registered, registry=explorations):
    """Base of all walks.

    `choose(walk, counts, known, s, rng) -> a` picks an action; `observe(walk, counts, known, s, a,
    t, news) -> wish` is called after each step has been counted, with what became known by it (the
    sum of PAIR, STATE and END of `gim.model.counts`). It may ask for PLAN (a call of `plan`), for
    ROOM (a call of `grow`), or to GIVE_UP, since nothing unknown is left where it has been.
    """

    choose: ClassVar[Callable[..., int]]
    observe: ClassVar[Callable[..., int]]
    plans: ClassVar[bool] = False  # whether it plans when it asks, and when it has found nothing
    growth: ClassVar[float] = 0.0  # of the visits since a plan that asks for another; 0: never

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Any:
        """Make the walk's memory, a NamedTuple of arrays, from what was counted so far.

        With probability `beta` any walk takes a random action.
        """
        raise TypeError(f"{type(self).__name__} must define start(counts, known, beta, rng)")

    def plan(self, walk: Any, belief: Knowledge, known: Known) -> bool:
        """Plan the way to what is not known; False: nothing unknown can be reached.

        `belief` is what the agent has seen and infers; what it infers is up to date where the walk
        has a `growth`.
        """
        return True

    def grow(self, walk: Any) -> Any:
        """The same memory with more room, after `observe` asked for it."""
        return walk


class Options(NamedTuple):
    """What every walk needs: the actions of each state, and how often it takes any of them."""

    beta: NDArray[np.float64]  # [1]
    actions: NDArray[np.int64]  # [S, A] available actions, first in each row
    n_actions: NDArray[np.int64]  # [S] how many there are

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return dict.fromkeys(self._fields, SAME)


def new_options(available: NDArray[np.bool_], beta: float) -> Options:
    """List the available actions of each state."""
    return Options(np.array([beta]), *listed(available))


@hot
def at_random(options: Any, s: int, u: float) -> Any:
    """The random action that a number u below beta stands for."""
    return pick(options.actions, options.n_actions, s, u / options.beta[0])


class Choices(NamedTuple):
    """The actions of each state and a fixed order of them, for walks that break ties by it."""

    beta: NDArray[np.float64]  # [1]
    actions: NDArray[np.int64]  # [S, A] available actions, first in each row
    n_actions: NDArray[np.int64]  # [S] how many there are
    rank: NDArray[np.int64]  # [S, A] a random order: the lower rank wins a tie

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return dict.fromkeys(self._fields, SAME)


def new_choices(available: NDArray[np.bool_], beta: float, rng: np.random.Generator) -> Choices:
    """List the available actions of each state and draw its order of them.

    Without the order the lowest index would win every tie, and whole columns of the dynamic
    matrices would stay empty.
    """
    S, A = available.shape
    rank = rng.permuted(np.tile(np.arange(A), (S, 1)), axis=1)
    return Choices(np.array([beta]), *listed(available), rank)
