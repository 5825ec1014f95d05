"""Whether an episode surprised those who knew what came before it: a cheap first question."""

from __future__ import annotations

import math
from typing import Any

from gim._compile.jit import hot, seldom
from gim.belief.knowledge import Knowledge

FAR = 2.0  # standard deviations of what an episode is expected to tell, beyond which it surprises
PAID = 3.0  # those of a reward
MOST = 1e6  # limit: visits that a rule may count for
ROUNDING = 1e-6  # limit: of a variance, as a share of a square


def surprising(belief: Knowledge, trail: Any, episode: int) -> bool:
    """Whether what came of the steps of this episode was less likely than what comes of such steps.

    That is -ln p of what came, in sum, more than FAR standard deviations above its expectation, or
    a reward unlike those that the same step has paid. Of large worlds, whose triples are hashed,
    it is not asked.
    """
    counts, prior, row = belief.counts, belief.prior, episode % len(trail.pairs)
    if counts.keys.size:
        return True
    by_triple = counts.paid.size > 0
    return bool(
        _surprising(
            *(trail.pairs[row], trail.next[row], trail.r[row]),
            *(counts.n.ravel(), counts.next, len(counts.n)),
            *(prior.q, prior.next, prior.first, prior.n0.ravel(), prior.doubt.ravel()),
            counts.next if by_triple else counts.n.ravel().astype(float),
            counts.paid if by_triple else counts.R.ravel(),
            counts.paid2 if by_triple else counts.R2.ravel(),
            not belief.rewards.given,
        )
    )


@seldom(lambda pair, next, r, n, N, S, *_: 0.6 * pair.size * S)
def _surprising(
    pair: Any,
    next: Any,
    r: Any,
    n: Any,
    N: Any,
    S: int,
    q: Any,
    to: Any,
    first: Any,
    n0: Any,
    doubt: Any,
    visits: Any,
    paid: Any,
    paid2: Any,
    pays: bool,
) -> bool:
    excess, variance, by_triple = 0.0, 0.0, visits.size == N.size
    for i in range(pair.size):
        p = pair[i]
        if p < 0:
            break
        worth, e, last = 0.0, 0, 0
        if n0.size > 0 and n0[p] > 0.0:
            worth, e, last = min(n0[p], MOST) * (1.0 - doubt[p]), first[p], first[p + 1]
        total, mean, square, came = n[p] + worth, 0.0, 0.0, 0.0
        for t in range(S):
            x = N[p * S + t] + 1.0 / S
            if t == next[i]:
                x -= 1.0
            if e < last and to[e] == t:
                x += worth * q[e]
                e += 1
            told = -math.log(max(x, 1e-300) / total)
            mean += x * told
            square += x * told * told
            if t == next[i]:
                came = told
        mean /= total
        excess += came - mean
        variance += max(square / total - mean * mean, 0.0)
        if pays:
            k = p * S + next[i] if by_triple else p
            if _paid_otherwise(pair, next, r, i, k, S, by_triple, visits, paid, paid2):
                return True
    return excess > FAR * math.sqrt(variance)


@hot
def _paid_otherwise(
    pair: Any,
    next: Any,
    r: Any,
    i: int,
    k: int,
    S: int,
    by_triple: bool,
    visits: Any,
    paid: Any,
    paid2: Any,
) -> bool:
    """Whether a reward is unlike those that the same step paid in earlier episodes."""
    mean, before = paid[k] / visits[k], visits[k]
    if abs(r[i] - mean) <= ROUNDING * (1.0 + abs(mean)):
        return False
    sum, squares = paid[k], paid2[k]
    for j in range(pair.size):
        if pair[j] < 0:
            break
        if (pair[j] * S + next[j] if by_triple else pair[j]) == k:
            sum -= r[j]
            squares -= r[j] * r[j]
            before -= 1.0
    if before < 0.5:
        return False
    mean = sum / before
    spread = max(squares / before - mean * mean, 0.0) + ROUNDING * (1.0 + mean * mean) ** 2
    return (r[i] - mean) * (r[i] - mean) > PAID * PAID * spread
