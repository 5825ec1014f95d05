"""The steps of GIM, compiled: walk and count, then follow the policy (and count on).

The comments give the lines of Algorithm 2.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import GO_ON, GROW, TERMINATED, THINK
from gim.exploration.curious import choose, observe
from gim.inference.base import Prior
from gim.inference.belief import VISITS, due
from gim.jit import bind, hot
from gim.model.counts import END, STATE, Counts, Known, count, update_known

NEVER = np.iinfo(np.int64).max  # as a number of visits
# Places in Memory.phase:
EXPLORING, IDLE, PATIENCE, WANTS_PLANS, LAST, REPLAN, LEARNS_ON, STALE = 0, 1, 2, 3, 4, 5, 6, 7


class Memory(NamedTuple):
    """Counts and known-ness, the walk, and after exploration the model and its policy."""

    counts: Counts
    known: Known
    walk: Any  # the exploration's own NamedTuple
    phase: NDArray[np.int64]  # [8] exploring?, steps since an unknown pair was met, their limit,
    # does the walk plan?, visits that end exploration, visits that ask for the walk's next plan,
    # does learning go on?, is the policy out of date?
    schedule: NDArray[np.int64]  # [2] visits in all, and those at which to infer next
    policy: NDArray[np.int64]  # [H, S]
    P: NDArray[np.float64]  # [S, A, S] once completed, else [0, 0, 0]
    r: NDArray[np.float64]  # [S, A] likewise
    prior: Prior  # what is inferred in place of completion; of size 0 without an inference


@hot
def lost(idle: int) -> bool:
    """After 64, 128, 256, ... steps without an unknown pair the way is planned anew."""
    return idle >= 64 and idle & (idle - 1) == 0


def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Lines 7-8 and 21-22: walk, or follow the policy."""
    if memory.phase[EXPLORING]:
        return choose(memory.walk, memory.counts, memory.known, s, rng)
    return memory.policy[h, s]


def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Lines 10-15: count, update the known-ness mask, and wake when enough is known."""
    counts, known, phase, schedule = memory.counts, memory.known, memory.phase, memory.schedule
    if not phase[EXPLORING] and not phase[LEARNS_ON]:
        return GO_ON
    full = count(counts, s, a, r, t)  # 10-13
    schedule[VISITS] += 1
    phase[IDLE] = phase[IDLE] + 1 if known.mask[s, a] else 0
    news = update_known(known, counts, s, a, t, end == TERMINATED)  # 14
    if not phase[EXPLORING]:
        if counts.n[s, a] & (counts.n[s, a] - 1) == 0 or due(memory):
            phase[STALE] = True
        return THINK if phase[STALE] and end != GO_ON else GROW if full else GO_ON
    observe(memory.walk, counts, known, s, a, t, news)
    if news > 0 and known.pairs[0] >= known.goal[0]:  # 15
        return THINK
    if phase[IDLE] >= phase[PATIENCE] or schedule[VISITS] >= phase[LAST]:
        return THINK
    if phase[WANTS_PLANS] and (news & (STATE + END) or lost(phase[IDLE])):
        return THINK
    if schedule[VISITS] >= phase[REPLAN]:
        return THINK
    return GROW if full else GO_ON


@cache
def walking(template: Any, choose: Any, observe: Any) -> Any:
    """`act` or `learn` with a walk's own functions in it."""
    return bind(template, "walk", inner=True, choose=choose, observe=observe)
