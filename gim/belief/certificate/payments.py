"""What is believed of r(s,a), ready to be drawn."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gim.analogy.prior import Prior, no_prior, rewards_hold
from gim.analogy.unseen import weight
from gim.belief.certificate.draws import Rewards, Rows
from gim.belief.certificate.facts import Bools, Facts, Floats, Ints
from gim.belief.certificate.judges import Judges
from gim.model.counts import Counts, rewards_by_triple
from gim.model.rewards import KnownRewards

ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none


def payments(facts: Facts, rows: Rows, unlike: Bools) -> Rewards:
    """What is believed of the rewards of every pair, whose dynamics are `rows`.

    A pair that was met pays what it has paid, up to the noise of single rewards; what is predicted
    counts as visits, if it holds. The reward of a pair never met is as predicted, but for the
    chance that it is not, and may else be anything; so may that of one `unlike` [S, A] all judges.
    """
    counts, prior = facts.belief.counts, facts.belief.prior
    if facts.belief.rewards.given:
        return known(facts.belief.rewards, rows)
    prior = prior if prior.n0.size else no_prior(*counts.n.shape)
    met, n = counts.n > 0, np.maximum(counts.n, 1)
    given = np.isinf(prior.r_n0)  # known from elsewhere
    r_n0 = np.where(given, 0.0, prior.r_n0)
    told = met | given | ((r_n0 > 0) & ~unlike)
    visits = np.where(told, np.maximum(counts.n + r_n0, 1e-300), np.inf)
    own = counts.R / n
    mean = np.where(given, prior.r, (counts.R + r_n0 * prior.r) / visits)
    noise = noise_of(counts, facts.judges)
    by_next, holds = np.zeros((2, 0)), rewards_hold(counts, prior)
    by_triple = counts.paid.size > 0 and not given.any()
    if by_triple and prior.r_next.size:
        holds = triples_hold(counts, prior, facts.judges.all)
    holds = np.where(met & ~given, holds, 1.0).ravel()
    if by_triple:
        each = np.stack([np.where(met, own, mean).ravel(), mean.ravel()])
        by_next, alike = paid_by_next(facts, rows, prior, each)
        holds *= 1.0 - alike
    low, high = (float(each) for each in facts.frame.reward_range)
    return Rewards(
        mean=np.stack([own.ravel(), mean.ravel()]),
        sd=np.sqrt(np.stack([noise / n, np.where(given, 0.0, noise / visits)])).reshape(2, -1),
        holds=holds,
        free=np.where(met | given, 0.0, np.where(told, prior.r_doubt, 1.0)).ravel(),
        by_next=by_next,
        pays=np.array([low, high]),
        low=low,
        high=high,
        visits=np.stack([counts.n, np.where(given, np.inf, visits)]).reshape(2, -1),
        unseen=0.0 if given.any() else weight(facts.judges.all),
    )


def known(rewards: KnownRewards, rows: Rows) -> Rewards:
    """Rewards that are known beforehand: certain, by pair or by each successor of `rows`."""
    r, by_next = rewards.r.ravel(), np.zeros((2, 0))
    if rewards.by_next.size:
        pair = np.repeat(np.arange(r.size), np.diff(rows.first))
        parts = (rewards.by_next, rewards.next, rewards.first)
        listed = sparse.csr_array(parts, shape=(r.size, len(rewards.r)))
        place = places_of(listed, pair, rows.next)
        paid = np.where(place >= 0, rewards.by_next[place], r[pair])
        by_next = np.stack([paid, paid])
    zero, (low, high) = np.zeros(r.size), rewards.range
    low, high = min(low, float(r.min())), max(high, float(r.max()))
    sure, pays = np.zeros((2, r.size)), np.array([low, high])
    return Rewards(np.stack([r, r]), sure, zero + 1.0, zero, by_next, pays, low, high, sure)


def as_tried(rewards: Rewards, counts: Counts) -> Rewards:
    """The same if pairs of which nothing is known pay as those that were met do."""
    met = np.sort((counts.R / np.maximum(counts.n, 1))[counts.n > 0])
    return rewards._replace(pays=np.repeat(met, 2) if met.size else np.zeros(2))


def triples_hold(counts: Counts, prior: Prior, N: sparse.csr_array) -> Floats:
    """`rewards_hold` where r(s,a,s') is predicted: each successor that was met has its say.

    A pair that led to the one good state of three paid more than it does on average, and is no
    exception for that.
    """
    paid = rewards_by_triple(counts, N.indices, N.indptr)[0] / N.data
    pair = np.repeat(np.arange(N.shape[0]), np.diff(N.indptr))
    place = places_of(prior.rows(), pair, N.indices)
    told = (place >= 0) & (prior.r_n0.ravel()[pair] > 0)
    pair, paid, visits, said = pair[told], paid[told], N.data[told], prior.r_next[place[told]]
    noise = prior.r_noise.ravel()[pair]
    wide = float(np.var(np.append(paid, said))) + noise if paid.size else noise
    floor = 1e-18 * (1.0 + paid**2 + wide)  # equal but for rounding
    narrow, off = np.maximum(noise * (1.0 / visits + 1.0), floor), (paid - said) ** 2
    wide = np.maximum(wide, narrow)
    each = 0.5 * (np.log(narrow / wide) + off / narrow - off / wide)
    doubt = np.clip(prior.r_doubt.ravel(), 1e-300, 1.0 - 1e-12)
    odds = np.log(doubt) - np.log1p(-doubt) + np.bincount(pair, each, doubt.size)
    return np.asarray(1.0 / (1.0 + np.exp(np.clip(odds, -700.0, 700.0)))).reshape(counts.n.shape)


def noise_of(counts: Counts, judges: Judges) -> Floats:
    """Variance of a single reward of each pair [S, A], in which that of all counts as one visit.

    Where rewards are kept by next state it is what differs given the next state: all else is the
    dynamics'.
    """
    N, n = judges.all, np.maximum(counts.n, 1)
    scatter, more = np.maximum(counts.R2 - counts.R**2 / n, 0.0), np.maximum(counts.n - 1.0, 0.0)
    paid, paid2 = rewards_by_triple(counts, N.indices, N.indptr)
    if paid is not None:
        pair = np.repeat(np.arange(n.size), np.diff(N.indptr))
        each = np.maximum(paid2 - paid**2 / N.data, 0.0)
        scatter = np.bincount(pair, each, n.size).reshape(n.shape)
        more = np.bincount(pair, N.data - 1.0, n.size).reshape(n.shape)
    scatter[scatter <= ROUNDING * counts.R2] = 0.0
    pooled = float(scatter.sum() / max(more.sum(), 1.0))
    return np.asarray((scatter + pooled) / (more + 1.0))


def paid_by_next(facts: Facts, rows: Rows, prior: Prior, mean: Floats) -> tuple[Floats, Floats]:
    """What each successor of `rows` pays, [2, nnz], and the chance [S*A] that the first is right.

    As met, or else as predicted, or the pair's `mean` [2, S*A]. But a state may pay what it pays
    all who come to it, whatever is predicted: a pair may lead to the goal and not have shown it
    yet. Each triple that was met tells which of both is nearer, if they differ, without itself.
    """
    N = facts.judges.all
    paid, visits = rewards_by_triple(facts.belief.counts, N.indices, N.indptr)[0], N.data
    met = np.repeat(np.arange(N.shape[0]), np.diff(N.indptr))
    pair = np.repeat(np.arange(rows.first.size - 1), np.diff(rows.first))
    came, total = (np.bincount(N.indices, each, N.shape[1]) for each in (visits, paid))
    found, place = mean[:, pair], places_of(N, pair, rows.next)
    by_all, says = without_itself(paid, visits, N.indices), without_itself(paid, visits, met)
    if prior.r_next.size:
        for i, t, each in ((pair, rows.next, found[1]), (met, N.indices, says)):
            at = places_of(prior.rows(), i, t)
            told = (at >= 0) & (prior.r_n0.ravel()[i] > 0)
            each[told] = prior.r_next[at[told]]
    others = (place < 0) & (came[rows.next] > 0)
    found[0, others] = (total / np.maximum(came, 1.0))[rows.next[others]]
    found[:, place >= 0] = (paid / visits)[place[place >= 0]]
    off, rival = np.abs(paid / visits - by_all), np.abs(paid / visits - says)
    apart = ROUNDING * (1.0 + float(np.abs(mean).max(initial=0.0)))
    tell = np.abs(off - rival) > apart  # not if nobody else came, or nothing else was met: NaN
    alike = np.zeros(prior.r_n0.size)
    differ = others & (np.abs(found[0] - found[1]) > apart)
    alike[pair[differ]] = ((off < rival)[tell].sum() + 1.0) / (tell.sum() + 2.0)
    return found, alike


def without_itself(paid: Floats, visits: Floats, group: Ints) -> Floats:
    """The mean payment of the group of each entry, all but its own visits; NaN: there is none."""
    total, came = (np.bincount(group, each)[group] for each in (paid, visits))
    others = came - visits
    return np.where(others > 0, (total - paid) / np.maximum(others, 1.0), np.nan)


def places_of(rows: sparse.csr_array, pair: Ints, t: Ints) -> Ints:
    """Where the entries (pair, t) stand among those of CSR rows in order; -1: nowhere."""
    S = rows.shape[1]
    keys = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)) * S + rows.indices
    wanted = pair * S + t
    place = np.searchsorted(keys, wanted)
    there = np.append(keys, -1)[place] == wanted
    return np.where(there, place, -1)
