"""The guaranteed certificate: inequalities instead of a prior.

**Returns.** They rest on counts alone: what is inferred, of whatever kind, promises nothing. With
probability 1 - delta, for all pairs, steps and numbers n of visits at once,

    |(p_hat - p).V*_{h+1}| <= sd(V*) sqrt(2 L / (n - 1)) + 7 span L / (3 (n - 1)) =: b,
    ||p_hat - p||_1        <= sqrt(2 (S ln 2 + L) / n) =: e,

with L = ln(12 S A H n (n + 1) / delta) and the sd over the n outcomes (Maurer and Pontil, 2009;
Weissman et al., 2003). V* does not depend on the counts, so the first, narrow one holds although
visits were chosen by what came of others. That V* is not known costs a term: where l <= V* <= u,

    sd(V*) <= sd(u) + sqrt(p_hat.(u - l)^2).

Interval iteration (Givan, Leach and Dean, 2000) encloses the optimum and what the plan is worth:

    u_h = max over a of  r + p_hat.u + b,    l_h = r + p_hat.l - b - e max(u - l) / 2  for the plan,

or with e span(u) / 2 instead of b, and e span(l) / 2 instead of both terms, where that is less. A
pair never met may lead anywhere and pay anything. Rewards are enclosed by Bernstein's inequality
with the variance that was seen; they are taken to be certain if
SURE visits to pairs met before paid what the first had. Where episodes begin is enclosed as well if
it was only seen (`begun`).

**Pairs.** ||p - p~||_1 is at most the second term and what the model p~ differs from the counts by;
a pair never met has no bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.unseen import Beginnings
from gim.belief.aim import Aim
from gim.belief.certificate.credible import UNTOLD, Bounds
from gim.model.counts import Counts
from gim.model.rewards import KnownRewards

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none
STARTS = 0.1  # of the probability of an error that goes to where episodes begin, if that was seen
SURE = 100  # visits of pairs met before that all paid as the first: then rewards are certain


class Facts(NamedTuple):
    """All that the bounds are made from."""

    counts: Counts
    rewards: KnownRewards
    N: sparse.csr_array  # [S*A, S] visits
    available: Bools  # [S, A]
    terminal: Bools  # [S] states seen to end an episode
    reward_range: tuple[float, float]
    aim: Aim
    chances: Floats  # [H, S, A] with which the policy plays, or [1, S, A]: always
    begins: Beginnings

    @property
    def playable(self) -> Bools:
        """[S, A] available pairs of states that do not end an episode."""
        return np.asarray(self.available & ~self.terminal[:, None])


def guaranteed(facts: Facts, told: bool, share: float) -> Bounds:
    """Bounds that hold with probability `share`."""
    if not told:
        return Bounds((-math.inf, math.inf), math.inf, math.inf, UNTOLD)
    part = STARTS if facts.begins.seen.size else 0.0
    least, most = enclosed(facts, 1.0 - (1.0 - share) * (1.0 - part))
    low, high = begun(facts.begins, least[0], most[0], (1.0 - share) * part)
    return Bounds((low, high), high, high - low)


def begun(begins: Beginnings, least: Floats, most: Floats, delta: float) -> tuple[float, float]:
    """The same from where episodes begin, if that was seen, with probability 1 - delta.

    Where E episodes began, ||p_hat - p||_1 <= sqrt(2 (S ln 2 + ln(3 / delta)) / E) =: e. The values
    of the optimum do not depend on where they did, so that for these Hoeffding's inequality holds
    as well; for the chance of all other states together, if all began in one, so does
    (1 - p)^E >= delta / 3.
    """
    start, seen, may = begins.known, begins.seen, begins.may
    if not begins.listed:
        start = np.append(start, max(1.0 - float(start.sum()), 0.0))
        may = np.append(may, True)
    low, high = float(start @ least), float(start @ most)
    if not seen.size:
        return low, high
    E, L = float(seen.sum()), math.log(3.0 / delta)
    e = min(math.sqrt(2.0 * (may.sum() * math.log(2.0) + L) / E) / 2.0, 1.0)
    span = float(most[may].max() - least[may].min())
    if np.count_nonzero(seen) == 1:
        e = min(e, 1.0 - math.exp(-L / E))
    down = max(low - e * float(np.ptp(least[may])), float(least[may].min()))
    off = min(e * float(np.ptp(most[may])), math.sqrt(L / (2.0 * E)) * span)
    return down, min(high + off, float(most[may].max()))


def enclosed(facts: Facts, share: float) -> tuple[Floats, Floats]:
    """The least that the plan earns from each step and state on, and the most that any policy does.

    [H + 1, S] each; all of it holds at once with probability `share`. Where nobody has listed all
    states there is one more, from which on anything may come.
    """
    counts, N, chances = facts.counts, facts.N, facts.chances
    (S, A), H, last = facts.playable.shape, facts.aim.steps, len(chances) - 1
    discount, functions = facts.aim.discount, facts.aim.horizon or 1  # V* is one for all steps
    n = counts.n.astype(np.float64)
    visits = np.maximum(n, 1.0)
    L = np.log(12.0 * S * A * functions * visits * (visits + 1.0) / (1.0 - share))
    low, high = rewards_within(facts, L)
    known = facts.rewards
    if known.given and not known.by_next.size:
        low = high = np.where(facts.playable, known.r, 0.0)
    more = 0 if facts.begins.listed else 1
    e = np.minimum(np.sqrt(2.0 * ((S + more) * math.log(2.0) + L) / visits), 2.0)
    p_hat = sparse.diags_array(1.0 / visits.ravel()) @ N
    p_hat = sparse.csr_array((p_hat.data, p_hat.indices, p_hat.indptr), shape=(S * A, S + more))
    ceiling, floor = facts.aim.most(facts.reward_range[1]), -facts.aim.most(-facts.reward_range[0])
    never_left = ~counts.n.any(axis=1)  # may turn out to be an end, worth 0
    least, most = np.zeros((H + 1, S + more)), np.zeros((H + 1, S + more))
    some = slice(0, S)
    if facts.aim.horizon is None:  # what follows the last step lies between the extremes
        least[H], most[H] = floor[-1], ceiling[-1]
        least[H, some][facts.terminal] = most[H, some][facts.terminal] = 0.0
    for h in range(H - 1, -1, -1):
        u, w = most[h + 1], least[h + 1]
        mean_u, mean_w, gap = (np.asarray(p_hat @ f).reshape(S, A) for f in (u, w, (u - w) ** 2))
        spread = np.maximum(np.asarray(p_hat @ u**2).reshape(S, A) - mean_u**2, 0.0)
        sd, span, others = np.sqrt(spread) + np.sqrt(gap), u.max() - w.min(), visits - 1.0 + 1e-12
        b = sd * np.sqrt(2.0 * L / others) + 7.0 * span * L / (3.0 * others)
        up = np.minimum(mean_u + np.minimum(b, e * np.ptp(u) / 2.0), u.max())
        down = np.maximum(mean_w - b - e * (u - w).max() / 2.0, mean_w - e * np.ptp(w) / 2.0)
        up = np.where(n > 0, up, u.max())
        down = np.where(n > 0, np.maximum(down, w.min()), w.min())
        best = np.where(facts.available, high + discount * up, -np.inf).max(axis=1)
        least[h], most[h] = floor[h], ceiling[h]
        most[h, some] = np.minimum(best, ceiling[h])
        earned = (chances[min(h, last)] * (low + discount * down)).sum(axis=1)
        least[h, some] = np.maximum(earned, floor[h])
        least[h, some][never_left] = np.minimum(least[h, some][never_left], 0.0)
        most[h, some][never_left] = np.maximum(most[h, some][never_left], 0.0)
        least[h, some][facts.terminal] = most[h, some][facts.terminal] = 0.0
    return least, most


def rewards_within(facts: Facts, L: Floats) -> tuple[Floats, Floats]:
    """Bounds on r(s,a) that hold everywhere, [S, A] each; all that is possible where unseen.

    Rewards are taken to be certain if no pair has ever paid two different ones, though SURE times
    one could have. How widely single ones spread is not known: as far as r(s,a) does, or as
    payments of 0 or w would.
    """
    counts = facts.counts
    n = np.maximum(counts.n, 1).astype(np.float64)
    r = counts.R / n
    spread = np.maximum(counts.R2 / n - r**2, 0.0)
    spread[spread <= ROUNDING * float(np.abs(r).max()) ** 2] = 0.0
    pooled = (n * spread)[counts.n >= 2].sum() / max(n[counts.n >= 2].sum(), 1.0)
    least, largest = facts.reward_range
    off = np.sqrt(2 * L * (n * spread + pooled) / (n + 1) / n)
    size = np.maximum(np.abs(counts.R), np.sqrt(counts.R2))
    paid = counts.R2 / np.where(size > 0, size, 1.0)  # w, if it is 0 or w
    certain = pooled == 0 and (n - 1.0).sum() >= SURE
    off += (not certain) * np.maximum(largest - least, paid) * L / (3 * n)
    unseen = counts.n == 0
    low = np.where(unseen, least, np.maximum(r - off, least))
    high = np.where(unseen, largest, np.minimum(r + off, largest))
    return np.where(facts.playable, low, 0.0), np.where(facts.playable, high, 0.0)


def of_pairs(
    facts: Facts, model: sparse.csr_array, F: Floats, share: float
) -> tuple[Floats, Floats]:
    """Bounds on |(p - p~).f| for functions F [S, M], [M, S*A], and on ||p - p~||_1, [S*A]."""
    S, n = len(facts.available), np.maximum(facts.counts.n.ravel(), 1.0)
    p_hat = sparse.diags_array(1.0 / n) @ facts.N
    l1 = np.sqrt(2.0 * (S * math.log(2.0) + np.log(n * (n + 1.0) / (1.0 - share))) / n)
    l1 = np.where(facts.counts.n.ravel() > 0, np.minimum(l1, 2.0), 2.0)
    value = l1[:, None] * np.ptp(F, axis=0) / 2.0 + np.abs((p_hat - model) @ F)
    return value.T, l1 + np.asarray(abs(p_hat - model).sum(axis=1)).ravel()
