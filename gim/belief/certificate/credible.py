"""The credible kind: worlds that the belief holds possible (`gim.belief.worlds`).

What the policy earns in the mean of the belief is in the middle, and to either side lie so many
times what it differs by from there in the worlds that were drawn, in the mean square, as Student's
t stays within with this share. The same of what the best policy earns gives the upper bound. It
holds if the world is as likely as those that were drawn; benchmarks count how often it does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from gim.analogy.unseen import RESTS, widened
from gim.belief.worlds import DRAWS, Floats, Spread, Worlds
from gim.planning.planners import Model

UNTOLD = "untold"  # how large rewards may be was not told, and the bound would rest on it
MODELS = 60  # drawn for bounds on pairs
ROOM = 1 << 24  # numbers that are held at once for these


class Bounds(NamedTuple):
    """What a kind of certificate says of returns."""

    earns: tuple[float, float]  # what the policy earns
    best: float  # the most that any policy earns
    loss: float  # the most that the policy loses of that
    why: str = ""  # why there is no bound on returns, if there is none
    within: tuple[float, float] | None = None  # r(s,a) that they rest on, if not told


def credible(
    worlds: Worlds,
    policy: object,
    rewards: tuple[float, float],
    told: bool,
    share: float,
) -> Bounds:
    """Bounds on what a policy earns, and on what the best one does, with this share each.

    Args:
        worlds: what is held possible.
        policy: in any form that an MDP takes.
        rewards: the least and the most that a step may pay, as told or as seen.
        told: whether they were told.
        share: the probability with which each statement holds.
    """

    def ask(model: Model, start: Floats) -> Floats:
        earned, best = worlds.worth(model, policy, start), worlds.optimum(model, start)
        return np.array([earned, best, best - earned])

    found = worlds.spread(ask)
    if told:
        return _bounds(worlds, policy, rewards, share, found)
    within = widened(*rewards)
    narrow, wide = (_bounds(worlds, policy, limits, share, found) for limits in (rewards, within))
    room = (rewards[1] - rewards[0]) * float(worlds.aim.most(1.0)[0])
    more = max(narrow.earns[0] - wide.earns[0], wide.earns[1] - narrow.earns[1])
    if more > RESTS * room:
        return Bounds((-math.inf, math.inf), math.inf, math.inf, UNTOLD)
    return wide._replace(within=within)


def _bounds(
    worlds: Worlds,
    policy: object,
    rewards: tuple[float, float],
    share: float,
    found: Spread,
) -> Bounds:
    """The same if rewards lie between these."""
    off, wide = worlds.unseen(policy, rewards)
    off_all = np.array([off, max(off, 0.0), abs(off)])
    sd, middle = found.total(wide), found.mean + off_all
    both, one = stdtrit(DRAWS - 1, (1.0 + share) / 2.0), stdtrit(DRAWS - 1, share)
    least, most = possible(worlds, rewards)
    low, high = middle[0] - both * sd[0], middle[0] + both * sd[0]
    low, high = min(max(low, least), most), max(min(high, most), least)
    best = max(min(middle[1] + both * sd[1], most), high)
    loss = min(max(middle[2] + one * sd[2], 0.0), best - low)
    return Bounds((float(low), float(high)), float(best), float(loss))


def more_than(
    worlds: Worlds,
    policy: object,
    other: object,
    rewards: tuple[float, float],
    told: bool,
    share: float,
) -> tuple[float, float, float]:
    """By how much a policy earns more than another: expected, and bounds with this share.

    They are infinite where they would rest on how large rewards may be, and nobody told.
    """

    def ask(model: Model, start: Floats) -> Floats:
        less = worlds.worth(model, other, start)
        return np.array([worlds.worth(model, policy, start) - less])

    found = worlds.spread(ask)
    ends = []
    for limits in [rewards] if told else [rewards, widened(*rewards)]:
        off, wide = worlds.unseen(policy, limits, other)
        middle, sd = float(found.mean[0]) + off, found.total(wide)
        off = float(stdtrit(DRAWS - 1, (1.0 + share) / 2.0) * sd[0])
        ends.append((middle - off, middle + off))
    low, high = ends[-1]
    room = (rewards[1] - rewards[0]) * float(worlds.aim.most(1.0)[0])
    if max(ends[0][0] - low, high - ends[0][1]) > RESTS * room:
        return float(found.mean[0]), -math.inf, math.inf
    return float(found.mean[0]), float(low), float(high)


def possible(worlds: Worlds, rewards: tuple[float, float]) -> tuple[float, float]:
    """The least and the most that an episode may return in this range of rewards."""
    low, high = rewards
    return -float(worlds.aim.most(-low)[0]), float(worlds.aim.most(high)[0])


def of_pairs(worlds: Worlds, F: Floats, share: float) -> tuple[Floats, Floats]:
    """Bounds on |(p - p~).f| for functions F [S, M], [M, S*A], and on ||p - p~||_1, [S*A].

    Of worlds that are drawn, each errs by no more with this share; what halves of the data alone
    would have said adds to that, as a whole differs from the truth.
    """
    mean, size = worlds.whole.model().transitions, worlds.whole.n.size
    models, apart = max(MODELS, math.ceil(2.0 / (1.0 - share))), worlds.apart()
    z = float(ndtri((1.0 + share) / 2.0))
    l1, value = np.empty((models, size)), np.empty((F.shape[1], size))
    some = max(1, ROOM // (models * size))  # functions that are looked at together
    for first in range(0, max(F.shape[1], 1), some):
        f = F[:, first : first + some]
        here, off = mean @ f, np.empty((models, size, f.shape[1]))
        for k in range(models):
            rows = worlds.drawn_world(worlds.rng(1000 + k), k)[0]
            off[k] = np.abs(rows @ f - here)
            if not first:
                l1[k] = np.asarray(abs(rows - mean).sum(axis=1)).ravel()
        halves = np.mean([(rows @ f) ** 2 for rows in apart], axis=0) if apart else 0.0
        value[first : first + some] = np.hypot(at_most(off, share), z * np.sqrt(halves)).T
    away = [np.asarray(abs(rows).sum(axis=1)).ravel() ** 2 for rows in apart] or [np.zeros(size)]
    return value, np.hypot(at_most(l1, share), z * np.sqrt(np.mean(away, axis=0)))


def at_most(values: Floats, share: float) -> Floats:
    """What one more value of the kind of these [models, ...] does not exceed, with this share."""
    place = min(math.ceil((len(values) + 1) * share - 1e-9), len(values)) - 1
    return np.asarray(np.partition(values, place, axis=0)[place])
