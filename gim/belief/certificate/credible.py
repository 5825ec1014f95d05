"""The credible kind: models drawn from what is believed, each planned.

In each of them (`gim.belief.certificate.dynamics` and `payments` say what is believed, `draws`
how it is drawn) the best policy and the plan earn something, and every pair is off by something.
The bounds are quantiles of these. The statement is Bayes': it holds with the stated probability if
the world is as likely as any that is drawn; the study counts how often it does. A policy that is
likely to meet pairs that nobody tried, and that are like no other, gets no bound.
"""

from __future__ import annotations

import math

import numpy as np

from gim.analogy.unseen import RESTS, new_states, widened
from gim.belief.belief import Belief
from gim.belief.certificate.draws import Rewards, errors_in_models, returns_in_models
from gim.belief.certificate.dynamics import BelievedRows, Kinds, dynamics, kinds, predictions
from gim.belief.certificate.facts import Bools, Bounds, Facts, Floats, Ints
from gim.belief.certificate.judges import parts_of
from gim.belief.certificate.payments import as_tried, payments
from gim.belief.certificate.shared import Shared, groupings, shared_along, shared_distance

BLOCK = 1 << 22  # numbers that are held at once while pairs are bounded
ROUNDING = 1e-9  # of a place among drawn values
# Pairs of a state err together, and a plan is chosen for what it promises; drawn apart, errors
# would cancel.
TOGETHER = 1.5
UNTRIED = "untried"  # the policy meets pairs of which nothing is known
UNTOLD = "untold"  # how large rewards may be was not told, and the bound would rest on it


def credible(facts: Facts, share: float, of_pairs: float, rng: np.random.Generator) -> Bounds:
    """Bounds that hold with probability `share`, and for the share `of_pairs` of the pairs."""
    models = math.ceil(2.0 / (1.0 - max(share, of_pairs)))  # so that some lie beyond any bound
    said = kinds(facts.judges, rng) if facts.judges.pairs.size else None
    found = dynamics(facts, said, max(100, models), rng)
    everyone = np.ones(facts.playable.shape, bool)
    silent, unlike = (everyone, everyone) if said is None else (said.silent, said.unlike)
    value, l1 = pair_bounds(facts, said, found, of_pairs, rng)
    blind = facts.chance_of(facts.playable & unlike & (facts.belief.counts.n == 0))
    nothing = Bounds(value, l1, silent, (-math.inf, math.inf), math.inf, math.inf, blind)
    everything = possible(facts)
    if blind > 1.0 - share and not (facts.told and not facts.beginnings.listed):
        if facts.told:  # draws are no more than a guess
            nothing = nothing._replace(earns=everything, best=everything[1])
            nothing = nothing._replace(loss=everything[1] - everything[0])
        return nothing._replace(why=UNTRIED)
    seed, within = int(rng.integers(1 << 62)), None
    earns, most, loss, usual = on_returns(facts, found, unlike, share, seed)
    if not facts.told:
        low, high = facts.frame.reward_range
        within = widened(low, high)
        wide = on_returns(facts.with_range(*within), found, unlike, share, seed)
        room = (high - low) * float(facts.aim.most(1.0)[0])
        if max(earns[0] - wide[0][0], wide[0][1] - earns[1]) > RESTS * room:
            return nothing._replace(why=UNTOLD)
        earns, most, loss, usual = wide
    else:
        span = everything[1] - everything[0]
        more = blind * span if blind > 1.0 - share else 0.0  # of these episodes nothing is known
        earns = max(earns[0] - more, everything[0]), min(earns[1] + more, everything[1])
        most, loss = min(most + more, everything[1]), min(loss + more, span)
    return Bounds(value, l1, silent, earns, most, loss, blind, usual, "", within)


def on_returns(
    facts: Facts, found: BelievedRows, unlike: Bools, share: float, seed: int
) -> tuple[tuple[float, float], float, float, float]:
    """What is earned, the most that any policy earns, the loss, and that as pairs tried pay."""
    rng = np.random.default_rng(seed)
    rewards = payments(facts, found.returns, unlike)
    best, played, earned = drawn_returns(facts, found, rewards, rng)
    off = TOGETHER * (earned - earned.mean())
    both = (1.0 + share) / 2.0  # a bound on either side
    middle = float(earned.mean()), facts.expected  # two estimates: neither is left out
    earns = min(middle) - float(at_most(-off, both)), max(middle) + float(at_most(off, both))
    most = max(float(at_most(best, both)), earns[1])
    loss = float(at_most(best - played, share))
    usual = math.nan
    if loss >= min(facts.trivial, abs(facts.expected)):  # that helps nobody
        rewards = as_tried(rewards, facts.belief.counts)
        best, played, _ = drawn_returns(facts, found, rewards, rng)
        usual = float(at_most(best - played, share))
    return earns, most, loss, usual


def possible(facts: Facts) -> tuple[float, float]:
    """The least and the most that an episode may return in this range of rewards."""
    low, high = facts.frame.reward_range
    return -float(facts.aim.most(-low)[0]), float(facts.aim.most(high)[0])


def drawn_returns(
    facts: Facts, found: BelievedRows, rewards: Rewards, rng: np.random.Generator
) -> Floats:
    """What is earned in each model, [3, models]; see `returns_in_models`."""
    ends, aim, begins = chance_of_end(facts.belief), facts.aim, facts.beginnings
    models = len(found.returns.n0)
    start, elsewhere = begins.drawn(models, rng), np.zeros((1, 2))
    if not begins.listed:
        low, high = rewards.low, rewards.high
        if facts.frame.terminal.any():  # one may be there, too
            low, high = min(low, 0.0), max(high, 0.0)
        away = new_states(facts.judges.all, models, rng)
        elsewhere = np.stack([away, rng.uniform(low, high, models)], axis=1)
    parts = (facts.playable, ends, facts.chances, np.ascontiguousarray(start), elsewhere)
    given = (found.returns, rewards, *parts, aim.steps, aim.discount)
    return np.asarray(returns_in_models(*given, rng).T)


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
