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

**Pairs.** The bounds on inferred pairs are for a share of them. A judge (`judges`) has an error x
that can be seen, up to the noise of counting, which makes it larger on the whole. If an inferred
pair is no worse predicted than the judges with about as much evidence, its error is at most the
ceil((K + 1) share)-th in rising order of theirs with that share, whatever the distribution. The K
that were met most often are asked. Where it is less, the bound is

    2/3 sqrt(tau2 / (1 - share)),     tau2 the mean of x^2 less the noise, two standard errors up,

by the inequality of Vysochanskij and Petunin (1980) for errors with one mode, which is Markov's
times 2/3. Pairs are alike in their errors as they are, or in units of how far single outcomes are
predicted to spread (where all moves end at an edge no prediction can be far off): the bound is the
larger of both. For the L1 distance the unit is the chance 1 - max q that the likeliest outcome does
not come: where outcomes are certain, a prediction is off by all that it leaves open. Where rules
predict, what no judge shows is added: the luck that all visits of an action had together
(`left_open`), as far as the same inequality lets it go. The model differs from the prediction by
what is known exactly, and is added.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from gim.analogy.base import Frame
from gim.analogy.unseen import Beginnings
from gim.analogy.worth import strata_of
from gim.belief.certificate.dynamics import kinds, predictions
from gim.belief.certificate.facts import Bools, Bounds, Facts, Floats
from gim.belief.certificate.shared import left_open
from gim.model.counts import Counts

ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none
ASKED = 100  # judges of a stratum that are asked for a quantile, those met most often
MARGIN = 2.0  # standard errors added to the mean squared error
STARTS = 0.1  # of the probability of an error that goes to where episodes begin, if that was seen
SURE = 100  # visits of pairs met before that all paid as the first: then rewards are certain
UNTOLD = "untold"  # how large rewards may be was not told


def guaranteed(facts: Facts, share: float, of_pairs: float, rng: np.random.Generator) -> Bounds:
    """Bounds that hold with probability `share`, and for the share `of_pairs` of the pairs."""
    silent = np.ones(facts.playable.shape, bool)
    if facts.judges.pairs.size:
        silent = kinds(facts.judges, rng).silent
    value, l1, silent = pair_bounds(facts, silent, of_pairs)
    if not facts.told:
        return Bounds(value, l1, silent, (-math.inf, math.inf), math.inf, math.inf, why=UNTOLD)
    part = STARTS if facts.beginnings.seen.size else 0.0
    least, most = enclosed(facts, 1.0 - (1.0 - share) * (1.0 - part))
    low, high = begun(facts.beginnings, least[0], most[0], (1.0 - share) * part)
    return Bounds(value, l1, silent, (low, high), high, high - low)


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
    counts, N, frame, chances = facts.belief.counts, facts.judges.all, facts.frame, facts.chances
    (S, A), H, last = facts.playable.shape, facts.aim.steps, len(chances) - 1
    discount, functions = facts.aim.discount, facts.aim.horizon or 1  # V* is one for all steps
    n = counts.n.astype(np.float64)
    visits = np.maximum(n, 1.0)
    L = np.log(12.0 * S * A * functions * visits * (visits + 1.0) / (1.0 - share))
    low, high = rewards_within(counts, frame, L)
    known = facts.belief.rewards
    if known.given and not known.by_next.size:
        low = high = np.where(facts.playable, known.r, 0.0)
    more = 0 if facts.beginnings.listed else 1
    e = np.minimum(np.sqrt(2.0 * ((S + more) * math.log(2.0) + L) / visits), 2.0)
    p_hat = sparse.diags_array(1.0 / visits.ravel()) @ N
    p_hat = sparse.csr_array((p_hat.data, p_hat.indices, p_hat.indptr), shape=(S * A, S + more))
    ceiling, floor = facts.aim.most(frame.reward_range[1]), -facts.aim.most(-frame.reward_range[0])
    never_left = ~counts.n.any(axis=1)  # may turn out to be an end, worth 0
    least, most = np.zeros((H + 1, S + more)), np.zeros((H + 1, S + more))
    some = slice(0, S)
    if facts.aim.horizon is None:  # what follows the last step lies between the extremes
        least[H], most[H] = floor[-1], ceiling[-1]
        least[H, some][frame.terminal] = most[H, some][frame.terminal] = 0.0
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
        best = np.where(frame.available, high + discount * up, -np.inf).max(axis=1)
        least[h], most[h] = floor[h], ceiling[h]
        most[h, some] = np.minimum(best, ceiling[h])
        earned = (chances[min(h, last)] * (low + discount * down)).sum(axis=1)
        least[h, some] = np.maximum(earned, floor[h])
        least[h, some][never_left] = np.minimum(least[h, some][never_left], 0.0)
        most[h, some][never_left] = np.maximum(most[h, some][never_left], 0.0)
        least[h, some][frame.terminal] = most[h, some][frame.terminal] = 0.0
    return least, most


def rewards_within(counts: Counts, frame: Frame, L: Floats) -> tuple[Floats, Floats]:
    """Bounds on r(s,a) that hold everywhere, [S, A] each; all that is possible where unseen.

    Rewards are taken to be certain if no pair has ever paid two different ones, though SURE times
    one could have. How widely single ones spread is not known: as far as r(s,a) does, or as
    payments of 0 or w would.
    """
    n = np.maximum(counts.n, 1).astype(np.float64)
    r = counts.R / n
    spread = np.maximum(counts.R2 / n - r**2, 0.0)
    spread[spread <= ROUNDING * float(np.abs(r).max()) ** 2] = 0.0
    pooled = (n * spread)[counts.n >= 2].sum() / max(n[counts.n >= 2].sum(), 1.0)
    least, largest = frame.reward_range
    off = np.sqrt(2 * L * (n * spread + pooled) / (n + 1) / n)
    size = np.maximum(np.abs(counts.R), np.sqrt(counts.R2))
    paid = counts.R2 / np.where(size > 0, size, 1.0)  # w, if it is 0 or w
    certain = pooled == 0 and (n - 1.0).sum() >= SURE
    off += (not certain) * np.maximum(largest - least, paid) * L / (3 * n)
    unseen = counts.n == 0
    low = np.where(unseen, least, np.maximum(r - off, least))
    high = np.where(unseen, largest, np.minimum(r + off, largest))
    playable = frame.available & ~frame.terminal[:, None]
    return np.where(playable, low, 0.0), np.where(playable, high, 0.0)


def pair_bounds(facts: Facts, silent: Bools, share: float) -> tuple[Floats, Floats, Bools]:
    """Bounds on |(p - p~).V_{h+1}|, [H - 1, S, A], and on ||p - p~||_1; who has no judge, [S, A].

    By the judges, but for `silent` pairs [S, A], or by a pair's own counts where that is less.
    """
    counts, F, model = facts.belief.counts, facts.F, facts.model.rows()
    S, A = facts.playable.shape
    n = np.maximum(counts.n.ravel(), 1.0)
    p_hat = sparse.diags_array(1.0 / n) @ facts.judges.all
    l1 = np.sqrt(2.0 * (S * math.log(2.0) + np.log(n * (n + 1.0) / (1.0 - share))) / n)
    l1 = np.where(counts.n.ravel() > 0, np.minimum(l1, 2.0), 2.0)
    value = l1[:, None] * np.ptp(F, axis=0) / 2.0 + np.abs((p_hat - model) @ F)
    l1 += _norm(p_hat - model)
    judged, judged_l1 = judged_bounds(facts, silent, share)
    if facts.judges.pairs.size:
        away = predictions(facts.belief.prior, facts.judges) - model
        judged, judged_l1 = judged + np.abs(away @ F), judged_l1 + _norm(away)
    value, l1 = np.minimum(value, judged), np.minimum(l1, judged_l1)
    return value.T.reshape(-1, S, A), l1.reshape(S, A), np.isinf(judged_l1).reshape(S, A)


def judged_bounds(facts: Facts, silent: Bools, share: float) -> tuple[Floats, Floats]:
    """Bounds on |(p - q).V_{h+1}|, [S*A, H - 1], and on ||p - q||_1, [S*A], by the judges.

    They are infinite for `silent` pairs, and for those that are like too few to tell.
    """
    judges, F = facts.judges, facts.F
    l1 = np.full(facts.playable.size, np.inf)
    value = np.tile(l1[:, None], F.shape[1])
    if not judges.pairs.size:
        return value, l1
    e = judges.evidence.ravel()
    of_all, of_judges, strata = strata_of(e, e[judges.pairs])
    x, _, noise = judges.off(F)
    rows = predictions(facts.belief.prior, judges)
    wide = np.maximum(rows @ F**2 - np.asarray(rows @ F) ** 2, 0.0)
    p_hat = sparse.diags_array(1.0 / judges.n) @ judges.N
    distance = _norm(p_hat - judges.held)
    left = np.maximum(1.0 - rows.max(axis=1).toarray().ravel(), ROUNDING)
    told = ~silent.ravel()
    for k in range(strata):
        here = np.flatnonzero(of_judges == k)
        asked = here[np.argsort(-judges.n[here], kind="stable")][:ASKED]
        place = math.ceil((asked.size + 1) * share - ROUNDING) - 1
        if place >= asked.size:
            continue
        mine = told & (of_all == k)
        value[mine], l1[mine] = 0.0, 0.0
        for unit in (np.ones_like(left), left):
            quantile = np.sort((distance / unit[judges.pairs])[asked])[place]
            l1[mine] = np.maximum(l1[mine], unit[mine] * quantile)
        usual = wide[judges.pairs[here]].mean(axis=0)
        for unit in (np.ones_like(wide), np.where(usual > 0.0, np.sqrt(wide + usual), 1.0)):
            by = unit[judges.pairs]
            quantile = np.sort(np.abs(x / by)[asked], axis=0)[place]
            mode = one_mode((x / by)[here], (noise / by**2)[here], judges.n[here], share)
            value[mine] = np.maximum(value[mine], unit[mine] * np.minimum(quantile, mode))
    if facts.ruled:
        value += deviations(share) * left_open(judges, wide)
    return value, l1


def _norm(rows: sparse.csr_array) -> Floats:
    return np.asarray(abs(rows).sum(axis=1)).ravel()


def one_mode(x: Floats, noise: Floats, n: Floats, share: float) -> Floats:
    """The bound [M] of Vysochanskij and Petunin on errors whose noisy values are x [K, M]."""
    weight = (n / (n + 4.0))[:, None]
    weight = weight / weight.sum()
    squares = x**2 - noise / n[:, None]
    middle = (weight * squares).sum(axis=0)
    error = np.sqrt((weight**2 * (squares - middle) ** 2).sum(axis=0))
    tau = np.sqrt(np.maximum(middle, 0.0) + MARGIN * error)
    return np.asarray(deviations(share) * tau)


def deviations(share: float) -> float:
    """Roots of the mean square within which that share lies, if there is one mode."""
    alpha = 1.0 - share
    return 2.0 / 3.0 / math.sqrt(alpha) if alpha <= 1 / 6 else 2.0 / math.sqrt(1.0 + 3.0 * alpha)
