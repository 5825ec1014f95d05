"""The plan of the default learner: values with a bonus for each of its doubts.

One kernel for every form of the visits by next state; see `gim.agents.analogist` for what it
computes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import bind
from gim.agents.backups import most_of, sums_apart, sums_csr, sums_dense
from gim.planning.sweeps import take_best

sums = sums_dense  # the template is bound to those of one form of N


class Doubts(NamedTuple):
    """What a plan goes by at each pair, [S*A] each."""

    r: NDArray[np.float64]  # expected reward; inf: unknown, -inf: not available
    one: NDArray[np.float64]  # 1 / visits, those that are inferred included; 0: none
    spread: NDArray[np.float64]  # variance of a single reward
    noise: NDArray[np.float64]  # variance of the mean reward, by a share of an episode
    rule: NDArray[np.float64]  # of the standard deviation: what the rule may be wrong by
    own: NDArray[np.float64]  # of the variance: what the pair may differ from its rule by
    open: NDArray[np.float64]  # of the square of what the best state is better: it may follow, too
    more: NDArray[np.float64]  # the square of what it may pay besides, by its chance
    hidden: NDArray[np.float64]  # what a pair never met might pay more than all that were


class Values(NamedTuple):
    """What is filled; read, too, from the last step on."""

    q: NDArray[np.float64]  # [H, S, A] values; -inf where not available
    pairs: NDArray[np.float64]  # [H, S*A] the same memory
    v: NDArray[np.float64]  # [H + 1, S] their maxima; the last row is 0
    policy: NDArray[np.int64]  # [H, S]
    v0: NDArray[np.float64]  # [H + 1, S] maxima if nothing is hidden; the last row is 0


class Room(NamedTuple):
    """What a plan works in: what allocates, or makes views, takes long to compile."""

    mean: NDArray[np.float64]  # [S*A] sums over next states of N v; zeros at first, as the next two
    square: NDArray[np.float64]  # [S*A] of N v^2
    later: NDArray[np.float64]  # [S*A] of N v0
    q0: NDArray[np.float64]  # [S, A] values if nothing is hidden
    without: NDArray[np.float64]  # [S*A] the same memory
    policy0: NDArray[np.int64]  # [S] the best of them


def doubting(
    N: Any, doubts: Any, ceiling: Any, tests: bool, values: Any, first: int, last: int, room: Any
) -> None:
    """Backward induction with bonuses, into `values`, from the step `first` on.

    It goes by what `values` holds from the step `last` on; `tests` says whether anything is hidden.
    Bare tuples, which are handed over faster, stand for `Doubts`, `Values` and `Room`; the rows of
    N are columns [S, S*A], CSR or apart (see `gim.agents.backups`).
    """
    doubts, values, room = Doubts(*doubts), Values(*values), Room(*room)
    q, flat, v, v0 = values.q, values.pairs, values.v, values.v0
    mean, square, later = room.mean, room.square, room.later
    H, S, A = q.shape
    for h in range(last - 1, first - 1, -1):
        if h < H - 1:  # else they are 0
            sums(N, v[h + 1], v0[h + 1], tests, mean, square, later)
        best = most_of(v[h + 1])
        for i in range(S * A):
            one = doubts.one[i]
            future = mean[i] * one
            variance = max(0.0, square[i] * one - future * future) + doubts.spread[i]
            better = best - future
            apart = doubts.own[i] * variance + doubts.open[i] * better * better
            apart += doubts.more[i] + doubts.noise[i]
            bonus = doubts.rule[i] * math.sqrt(variance) + math.sqrt(apart)
            flat[h, i] = min(ceiling[h], doubts.r[i] + future + bonus)
            if tests:
                room.without[i] = min(ceiling[h], doubts.r[i] + later[i] * one + bonus)
                if doubts.hidden[i] > 0.0:
                    test = doubts.r[i] + later[i] * one + doubts.hidden[i] * (H - h) / H
                    flat[h, i] = min(ceiling[h], max(flat[h, i], test))
        take_best(q[h], v[h], values.policy[h])
        if tests:
            take_best(room.q0, v0[h], room.policy0)
        else:  # by element: what numba says of unequal shapes would take a second to compile
            for s in range(S):
                v0[h, s] = v[h, s]


doubting_dense = bind(doubting, "dense", sums=sums_dense)
doubting_csr = bind(doubting, "csr", sums=sums_csr)
doubting_apart = bind(doubting, "apart", sums=sums_apart)


def room_for(S: int, A: int) -> tuple[Any, ...]:
    """A `Room` for `doubting`."""
    q0 = np.empty((S, A))
    return *np.zeros((3, S * A)), q0, q0.reshape(-1), np.empty(S, np.int64)
