"""The plan of the default learner: values with bonuses and one test (`gim.agents.analogist`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gim.agents.backups import (
    gains_apart,
    gains_csr,
    gains_dense,
    most_of,
    raise_bars,
    sums_apart,
    sums_csr,
    sums_dense,
)
from gim.jit import bind
from gim.planning.sweeps import take_best

HALF = 0.5  # of the bonus for what few noisy rewards have missed
sums, gains = sums_dense, gains_dense  # the template is bound to those of one form of N


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
    steps: Any,
    room: Any,
) -> None:
    """Backward induction with bonuses and one test, into `plan`, from the first of `steps` on.

    It goes by what `plan` holds from the last of them on. `seen` is the evidence with its columns
    [S, S*A], CSR or apart (see `gim.agents.backups`); `frame` the available pairs, terminal states
    and the reward range; `test` [S*A] what a pair might pay; `astray` [S*A] times what the rest of
    the episode costs, if it does, might be saved (both 0: nothing is hidden); `leaves` [S*A] the
    chance that a pair leads elsewhere which only stayed so far, and then to the best state;
    `pooled` [S*A] the variance of a single reward, which counts as one visit; `scales` multiply the
    parts of the bonus that stand for next states, for those that few visits have missed, for the
    best of them, and for noisy rewards, what a test may find, and (0 or 1) the best state that it
    may lead to; `plan` is q, the same with pairs in a row [H, S*A], v, policy, and v without a
    test; `room` is to work in, zeros: what allocates, or makes views, takes long to compile.
    """
    scale, rare, hope, full, find, ways = scales
    (N, n, R, R2, n_r), (available, terminal, (low, high)) = seen, frame
    (q, values, v, policy, v0) = plan
    first, last = steps
    # reward, 1/n, its doubt squared, bonus per step; sums over next states; bars; without a test
    (r, one, noise, bonus), (mean, square, later, gain), bar, (q0, without, policy0) = room
    H, S, A = q.shape
    many = 0  # pairs to test
    for s in range(S):
        for a in range(A):
            i = s * A + a
            if not available[s, a]:
                r[i] = -np.inf
            elif n[s, a] > 0.0:
                many += test[i] + astray[i] > 0.0
                one[i] = 1.0 / n[s, a]
                r[i] = high  # unless something is known of it
                if n_r[s, a] > 0.0:
                    r[i] = R[s, a] / n_r[s, a]
                    spread = max(0.0, R2[s, a] - n_r[s, a] * r[i] * r[i]) + pooled[i]
                    of_rewards = full if pooled[i] > 0.0 else scale
                    noise[i] = of_rewards * of_rewards * spread / n_r[s, a] / n_r[s, a]
                    missed = HALF * full * min(high - low, math.sqrt(pooled[i]))
                    bonus[i] = missed * L / n_r[s, a] / 3.0
            elif not terminal[s]:
                r[i] = np.inf  # brought down to the ceiling
    tests = many > 0
    for h in range(last - 1, first - 1, -1):
        best, anything = most_of(v[h + 1]), rare * (H - h) * (high - low)
        if h < H - 1:  # else they are 0
            sums(N, v[h + 1], v0[h + 1], tests, mean, square, later)
        for i in range(S * A):
            future = mean[i] * one[i]
            variance = max(0.0, square[i] * one[i] - future * future) * one[i]
            doubt = scale * scale * variance + noise[i]
            beyond = (anything + hope * (best - future)) * L * one[i] / 3.0
            beyond += leaves[i] * (best - future)
            now = r[i] + (H - h) * bonus[i] + beyond + math.sqrt(2.0 * L * doubt)
            values[h, i] = min(ceiling[h], now + future)
            if tests:
                without[i] = min(ceiling[h], now + later[i] * one[i])
        if tests:
            if find > 0.0 and h < H - 1:  # at the last step there is nothing to be gained
                raise_bars(q0, test, astray, later, one, bar)
                gains(N, v0[h + 1], bar, gain)
            instead = ways * max(0.0, most_of(v0[h + 1]))
            for i in range(S * A):
                if test[i] + astray[i] > 0.0:
                    hidden = test[i] + astray[i] * max(0.0, instead - later[i] * one[i])
                    x = without[i] + hidden + find * gain[i] * one[i]
                    values[h, i] = min(ceiling[h], max(values[h, i], x))
            take_best(q0, v0[h], policy0)
        take_best(q[h], v[h], policy[h])
        if not tests:
            v0[h] = v[h]


hopeful_dense = bind(hopeful, "dense", sums=sums_dense, gains=gains_dense)
hopeful_csr = bind(hopeful, "csr", sums=sums_csr, gains=gains_csr)
hopeful_apart = bind(hopeful, "apart", sums=sums_apart, gains=gains_apart)


def room_for(S: int, A: int) -> Any:
    """What `hopeful` works in."""
    rows, q0 = tuple(np.zeros((9, S * A))), np.empty((S, A))
    without = q0, q0.reshape(-1), np.empty(S, np.int64)
    return rows[:4], rows[4:8], rows[8], without
