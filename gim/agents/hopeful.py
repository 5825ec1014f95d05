"""The plan of the default learner: values with bonuses and one test (`gim.agents.analogist`)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agents.backups import (
    Given,
    gains_apart,
    gains_csr,
    gains_dense,
    most_of,
    raise_bars,
    sums_apart,
    sums_csr,
    sums_dense,
)
from gim.inference.evidence import Evidence
from gim.jit import bind
from gim.planning.sweeps import take_best

HALF = 0.5  # of the bonus for what few noisy rewards have missed
sums, gains = sums_dense, gains_dense  # the template is bound to those of one form of N


class Scales(NamedTuple):
    """What the parts of the bonus, and of a test, are multiplied by."""

    variance: float  # that of next states
    missed: float  # next states that few visits have missed
    best: float  # the best of them
    noise: float  # noisy rewards
    find: float  # what a test may find
    ways: float  # 0 or 1: the best state that it may lead to


class HopefulPlan(NamedTuple):
    """What is filled; read, too, from the last step on."""

    q: NDArray[np.float64]  # [H, S, A] values; -inf where not available
    pairs: NDArray[np.float64]  # [H, S*A] the same memory
    v: NDArray[np.float64]  # [H + 1, S] their maxima; the last row is 0
    policy: NDArray[np.int64]  # [H, S]
    v0: NDArray[np.float64]  # [H + 1, S] maxima without a test; the last row is 0


class Room(NamedTuple):
    """What a plan works in: what allocates, or makes views, takes long to compile."""

    r: NDArray[np.float64]  # [S*A] rewards; zeros at first, as all that follows up to `bar`
    one: NDArray[np.float64]  # [S*A] 1/n
    noise: NDArray[np.float64]  # [S*A] the doubt about rewards, squared
    bonus: NDArray[np.float64]  # [S*A] for each step to go
    mean: NDArray[np.float64]  # [S*A] sums over next states of N v
    square: NDArray[np.float64]  # [S*A] of N v^2
    later: NDArray[np.float64]  # [S*A] of N v0
    gain: NDArray[np.float64]  # [S*A] of N times what v0 is above the bar
    bar: NDArray[np.float64]  # [S*A] see `gim.agents.backups.raise_bars`
    q0: NDArray[np.float64]  # [S, A] values without a test
    without: NDArray[np.float64]  # [S*A] the same memory
    policy0: NDArray[np.int64]  # [S] the best without a test


def hopeful(
    seen: Any,
    frame: Any,
    ceiling: Any,
    test: Any,
    astray: Any,
    leaves: Any,
    pooled: Any,
    L: float,
    scales: Any,
    plan: Any,
    first: int,
    last: int,
    room: Any,
) -> None:
    """Backward induction with bonuses and one test, into `plan`, from the step `first` on.

    It goes by what `plan` holds from the step `last` on. Bare tuples, which are handed over faster,
    stand for an `Evidence`, what is `Given`, `Scales`, a `HopefulPlan` and `Room`; the rows of
    `seen` are columns [S, S*A], CSR or apart (see `gim.agents.backups`). `test` [S*A] is what a
    pair might pay; `astray` [S*A] times what the rest of the episode costs, if it does, might be
    saved (both 0: nothing is hidden); `leaves` [S*A] the chance that a pair leads elsewhere which
    only stayed so far, and then to the best state; `pooled` [S*A] the variance of a single reward,
    which counts as one visit.
    """
    seen, frame = Evidence(*seen), Given(*frame)
    scales, plan, room = Scales(*scales), HopefulPlan(*plan), Room(*room)
    n, n_r, low, high = seen.n, seen.n_r, frame.low, frame.high
    q, values, v, v0 = plan.q, plan.pairs, plan.v, plan.v0
    r, one, noise, bonus = room.r, room.one, room.noise, room.bonus
    mean, square, later, gain = room.mean, room.square, room.later, room.gain
    H, S, A = q.shape
    many = 0  # pairs to test
    for s in range(S):
        for a in range(A):
            i = s * A + a
            if not frame.available[s, a]:
                r[i] = -np.inf
            elif n[s, a] > 0.0:
                many += test[i] + astray[i] > 0.0
                one[i] = 1.0 / n[s, a]
                r[i] = high  # unless something is known of it
                if n_r[s, a] > 0.0:
                    r[i] = seen.R[s, a] / n_r[s, a]
                    spread = max(0.0, seen.R2[s, a] - n_r[s, a] * r[i] * r[i]) + pooled[i]
                    of_rewards = scales.noise if pooled[i] > 0.0 else scales.variance
                    noise[i] = of_rewards * of_rewards * spread / n_r[s, a] / n_r[s, a]
                    missed = HALF * scales.noise * min(high - low, math.sqrt(pooled[i]))
                    bonus[i] = missed * L / n_r[s, a] / 3.0
            elif not frame.terminal[s]:
                r[i] = np.inf  # brought down to the ceiling
    tests = many > 0
    for h in range(last - 1, first - 1, -1):
        best, anything = most_of(v[h + 1]), scales.missed * (H - h) * (high - low)
        if h < H - 1:  # else they are 0
            sums(seen.N, v[h + 1], v0[h + 1], tests, mean, square, later)
        for i in range(S * A):
            future = mean[i] * one[i]
            variance = max(0.0, square[i] * one[i] - future * future) * one[i]
            doubt = scales.variance * scales.variance * variance + noise[i]
            beyond = (anything + scales.best * (best - future)) * L * one[i] / 3.0
            beyond += leaves[i] * (best - future)
            now = r[i] + (H - h) * bonus[i] + beyond + math.sqrt(2.0 * L * doubt)
            values[h, i] = min(ceiling[h], now + future)
            if tests:
                room.without[i] = min(ceiling[h], now + later[i] * one[i])
        if tests:
            if scales.find > 0.0 and h < H - 1:  # at the last step there is nothing to be gained
                raise_bars(room.q0, test, astray, later, one, room.bar)
                gains(seen.N, v0[h + 1], room.bar, gain)
            instead = scales.ways * max(0.0, most_of(v0[h + 1]))
            for i in range(S * A):
                if test[i] + astray[i] > 0.0:
                    hidden = test[i] + astray[i] * max(0.0, instead - later[i] * one[i])
                    x = room.without[i] + hidden + scales.find * gain[i] * one[i]
                    values[h, i] = min(ceiling[h], max(values[h, i], x))
            take_best(room.q0, v0[h], room.policy0)
        take_best(q[h], v[h], plan.policy[h])
        if not tests:
            v0[h] = v[h]


hopeful_dense = bind(hopeful, "dense", sums=sums_dense, gains=gains_dense)
hopeful_csr = bind(hopeful, "csr", sums=sums_csr, gains=gains_csr)
hopeful_apart = bind(hopeful, "apart", sums=sums_apart, gains=gains_apart)


def room_for(S: int, A: int) -> tuple[Any, ...]:
    """A `Room` for `hopeful`."""
    q0 = np.empty((S, A))
    return *np.zeros((9, S * A)), q0, q0.reshape(-1), np.empty(S, np.int64)
