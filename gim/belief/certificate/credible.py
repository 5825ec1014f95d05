"""The credible kind: worlds that the belief holds possible (`gim.belief.worlds`).

What the policy earns in the mean of the belief is in the middle, and to either side lie so many
standard deviations as a normal variable stays within with this share. The same of what the best
policy earns gives the upper bound. It holds if the world is as likely as those that were drawn and
inferred anew; benchmarks count how often it does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from gim.analogy.unseen import RESTS, widened
from gim.belief.worlds import Floats, Spread, Worlds
from gim.planning.planners import Model

UNTOLD = "untold"  # how large rewards may be was not told, and the bound would rest on it
MODELS = 60  # drawn for bounds on pairs


class Bounds(NamedTuple):
    """What a kind of certificate says of returns."""

    earns: tuple[float, float]  # what the policy earns
    best: float  # the most that any policy earns
    loss: float  # the most that the policy loses of that
    why: str = ""  # why there is no bound on returns, if there is none
    within: tuple[float, float] | None = None  # r(s,a) that they rest on, if not told


class Episodes(NamedTuple):
    """What episodes returned, of which the next may be unlike all."""

    number: float
    sd: float  # of their returns
    span: float  # between the best and the worst


def credible(
    worlds: Worlds,
    policy: object,
    episodes: Episodes,
    rewards: tuple[float, float],
    told: bool,
    share: float,
) -> Bounds:
    """Bounds on what a policy earns, and on what the best one does, with this share each.

    Args:
        worlds: what is held possible.
        policy: in any form that an MDP takes.
        episodes: that were seen.
        rewards: the least and the most that a step may pay, as told or as seen.
        told: whether they were told.
        share: the probability with which each statement holds.
    """

    def ask(model: Model, start: Floats) -> Floats:
        earned, best = worlds.worth(model, policy, start), worlds.optimum(model, start)
        return np.array([earned, best, best - earned])

    found = worlds.spread(ask)
    luck = worlds.lucky(ask, found.mean)
    luck[0] = max(worlds.flattery - float(found.mean[2]), 0.0)  # none of a policy of no plan
    luck[0] = np.hypot(found.rules[0], luck[0])
    found = found._replace(rules=np.maximum(found.rules, luck))
    if told:
        return _bounds(worlds, policy, episodes, rewards, share, found)
    within = widened(*rewards)
    narrow, wide = (
        _bounds(worlds, policy, episodes, limits, share, found) for limits in (rewards, within)
    )
    room = (rewards[1] - rewards[0]) * float(worlds.aim.most(1.0)[0])
    more = max(narrow.earns[0] - wide.earns[0], wide.earns[1] - narrow.earns[1])
    if more > RESTS * room:
        return Bounds((-math.inf, math.inf), math.inf, math.inf, UNTOLD)
    return wide._replace(within=within)


def _bounds(
    worlds: Worlds,
    policy: object,
    episodes: Episodes,
    rewards: tuple[float, float],
    share: float,
    found: Spread,
) -> Bounds:
    """The same if rewards lie between these."""
    next_one = 1.0 / (episodes.number + 1.0)
    never = np.array([episodes.sd, episodes.span, episodes.span]) * next_one
    off, wide = worlds.unseen(policy, rewards)
    off_all = np.array([off, max(off, 0.0), abs(off)])
    sd, middle = found.total(never, wide), found.mean + off_all
    both, one = float(norm.ppf((1.0 + share) / 2.0)), float(norm.ppf(share))
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
    within, both = [rewards] if told else [rewards, widened(*rewards)], norm.ppf((1 + share) / 2)
    ends = []
    for limits in within:
        off, wide = worlds.unseen(policy, limits, other)
        middle, sd = float(found.mean[0]) + off, float(found.total(wide)[0])
        ends.append((middle - both * sd, middle + both * sd))
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

    Of models that are drawn whole, rules and pairs, each errs by no more with this share. What
    halves of the data would have said adds to that: which candidate predicts is drawn by none.
    """
    mean, z = worlds.whole.model().transitions, float(norm.ppf((1.0 + share) / 2.0))
    here, models = mean @ F, max(MODELS, math.ceil(2.0 / (1.0 - share)))
    value, l1 = np.empty((models, *here.shape)), np.empty((models, mean.shape[0]))
    for k in range(models):
        rows = worlds.drawn_rows(k)
        value[k] = np.abs(rows @ F - here)
        l1[k] = np.asarray(abs(rows - mean).sum(axis=1)).ravel()
    halves = [model.transitions for model, _ in worlds.halves]
    apart = np.mean([((rows - mean) @ F) ** 2 for rows in halves], axis=0)
    away = np.mean(
        [np.asarray(abs(rows - mean).sum(axis=1)).ravel() ** 2 for rows in halves], axis=0
    )
    value = np.hypot(at_most(value, share), z * np.sqrt(apart))
    return value.T, np.hypot(at_most(l1, share), z * np.sqrt(away))


def at_most(values: Floats, share: float) -> Floats:
    """What one more value of the kind of these [models, ...] does not exceed, with this share."""
    place = min(math.ceil((len(values) + 1) * share - 1e-9), len(values)) - 1
    return np.asarray(np.partition(values, place, axis=0)[place])
