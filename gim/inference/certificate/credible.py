"""The credible kind: models drawn from what is believed, each planned.

In each of them (`gim.inference.certificate.dynamics` and `payments` say what is believed, `draws`
how it is drawn) the best policy and the plan earn something, and every pair is off by something.
The bounds are quantiles of these. The statement is Bayes': it holds with the stated probability if
the world is as likely as any that is drawn; the study counts how often it does. A policy that is
likely to meet pairs that nobody tried, and that are like no other, gets no bound.
"""

from __future__ import annotations

import math

import numpy as np

from gim.inference.belief import Belief
from gim.inference.certificate.draws import Rewards, errors_in_models, returns_in_models
from gim.inference.certificate.dynamics import BelievedRows, Kinds, dynamics, kinds, predictions
from gim.inference.certificate.facts import Bounds, Facts, Floats, Ints
from gim.inference.certificate.judges import parts_of
from gim.inference.certificate.payments import as_tried, payments
from gim.inference.certificate.shared import Shared, groupings, shared_along, shared_distance

BLOCK = 1 << 22  # numbers that are held at once while pairs are bounded
ROUNDING = 1e-9  # of a place among drawn values
# Pairs of a state err together, and a plan is chosen for what it promises; drawn apart, errors
# would cancel.
TOGETHER = 1.5


def credible(facts: Facts, share: float, of_pairs: float, rng: np.random.Generator) -> Bounds:
    """Bounds that hold with probability `share`, and for the share `of_pairs` of the pairs."""
    models = math.ceil(2.0 / (1.0 - max(share, of_pairs)))  # so that some lie beyond any bound
    said = kinds(facts.judges, rng) if facts.judges.pairs.size else None
    found = dynamics(facts, said, max(100, models), rng)
    everyone = np.ones(facts.playable.shape, bool)
    silent, unlike = (everyone, everyone) if said is None else (said.silent, said.unlike)
    value, l1 = pair_bounds(facts, said, found, of_pairs, rng)
    rewards = payments(facts, found.returns, unlike)
    best, played, earned = drawn_returns(facts, found, rewards, rng)
    off = TOGETHER * (earned - earned.mean())
    both = (1.0 + share) / 2.0  # a bound on either side
    middle = float(earned.mean()), facts.expected  # two estimates: neither is left out
    earns = min(middle) - float(at_most(-off, both)), max(middle) + float(at_most(off, both))
    most = max(float(at_most(best, both)), earns[1])
    loss = float(at_most(best - played, share))
    blind = facts.chance_of(facts.playable & unlike & (facts.belief.counts.n == 0))
    if blind > 1.0 - share:  # then draws are no more than a guess
        low, high = facts.frame.reward_range
        earns = -float(facts.aim.most(-low)[0]), float(facts.aim.most(high)[0])
        most, loss = earns[1], earns[1] - earns[0]
        return Bounds(value, l1, silent, earns, most, loss, blind)
    usual = math.nan
    if loss >= min(facts.trivial, abs(facts.expected)):  # that helps nobody
        rewards = as_tried(rewards, facts.belief.counts)
        best, played, _ = drawn_returns(facts, found, rewards, rng)
        usual = float(at_most(best - played, share))
    return Bounds(value, l1, silent, earns, most, loss, blind, usual)


def drawn_returns(
    facts: Facts, found: BelievedRows, rewards: Rewards, rng: np.random.Generator
) -> Floats:
    """What is earned in each model, [3, models]; see `returns_in_models`."""
    ends, start, aim = chance_of_end(facts.belief), facts.model.start, facts.aim
    parts = (facts.playable, ends, facts.chances, start, aim.steps, aim.discount)
    return np.asarray(returns_in_models(found.returns, rewards, *parts, rng).T)


def at_most(values: Floats, share: float) -> Floats:
    """What one more value of the kind of these [models, ...] does not exceed, with this share."""
    place = min(math.ceil((len(values) + 1) * share - ROUNDING), len(values)) - 1
    return np.asarray(np.partition(values, place, axis=0)[place])


def chance_of_end(belief: Belief) -> Floats:
    """The chance [S] that a state ends the episode: as often as states do of which that is known.

    Where none was seen to, none does.
    """
    left, ends = belief.counts.n.any(axis=1), int(belief.terminal.sum())
    unknown = (ends + 0.5) / (ends + left.sum() + 1.0) if ends else 0.0
    return np.where(belief.terminal, 1.0, np.where(left, 0.0, unknown))


def pair_bounds(
    facts: Facts, said: Kinds | None, found: BelievedRows, share: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Bounds on |(p - p~).V_{h+1}|, [H - 1, S, A], and on ||p - p~||_1, [S, A]; 0: not playable.

    Errors of each pair's own are drawn; where rules predict, those of its like are added.
    """
    S, A = facts.playable.shape
    F, rows = facts.F, facts.model.rows()
    here, model, none = np.asarray(rows @ F), parts_of(rows), np.zeros((S, 0))
    value, l1 = np.zeros((S * A, F.shape[1])), np.zeros(S * A)
    ruled = facts.ruled and F.shape[1] > 0
    more = in_common(facts, said, found, rng) if said is not None and ruled else None
    each = len(found.along.n0) * (F.shape[1] + 1)
    for pairs in _blocks(np.flatnonzero(facts.playable), each):
        off = errors_in_models(found.along, pairs, F, here[pairs], model, rng)[0]
        parts = (found.everywhere, pairs, none, np.zeros((pairs.size, 0)))
        distance = errors_in_models(*parts, model, rng)[1]
        if more is not None:
            rests, along, apart = more
            off += rests[pairs, None] * along.of(pairs)
            distance += rests[pairs] * apart.of(pairs)[:, :, 0]
        value[pairs], l1[pairs] = at_most(np.abs(off), share), at_most(distance, share)
    return value.T.reshape(-1, S, A), l1.reshape(S, A)


def in_common(
    facts: Facts, said: Kinds, found: BelievedRows, rng: np.random.Generator
) -> tuple[Floats, Shared, Shared]:
    """How far pairs [S*A] rest on predictions; what these share along F, and in L1."""
    F, judges, models = facts.F, facts.judges, len(found.along.n0)
    n, n0 = facts.belief.counts.n.ravel(), said.curve.n0(judges.evidence).ravel()
    own, middle = n0[judges.pairs], F.shape[1] // 2
    told = predictions(facts.belief.prior, judges)
    groups = groupings(judges, n, told, F)
    along = shared_along(judges, own, told, F, groups, models, rng)
    one = [each[:, middle : middle + 1] for each in groups]
    apart = shared_distance(judges, own, told, one, models, rng)
    return found.along.holds * n0 / (n0 + n), along, apart


def _blocks(pairs: Ints, each: int) -> list[Ints]:
    """Pairs in parts of which each takes no more numbers than may be held, `each` a pair."""
    return np.array_split(pairs, math.ceil(pairs.size * each / BLOCK)) if pairs.size else []
