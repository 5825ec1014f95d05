"""Counts plus prior: the one place where what was seen and what is inferred meet.

A prediction counts as visits that were never made,

    N(s'|s,a) = n(s'|s,a) + w n0 q(s'|s,a),   n(s,a) + w n0   in all,

so the estimate is p = N / n and data take over as they come; rewards likewise. A pair's own visits
decide how far the prediction still counts there: w is the probability that it holds, given them,

    w = (1 - doubt) DM(n(.|s,a); n0 q) / ((1 - doubt) DM(n(.|s,a); n0 q) + doubt DM(n(.|s,a); 1/S)),

where DM is the Dirichlet-multinomial likelihood. One visit that contradicts a sharp prediction
removes it at that pair, many that agree leave it. An agent's own rule (a threshold, a bonus, a
posterior) goes on from this `Evidence` and need not know that there is a prior. Without one the
evidence is the counts themselves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.inference.prior import Floats, Prior
from gim.inference.shared_rows import EIGHT, LARGE, Apart, SharedRows, met_rows
from gim.jit import entry, hot, seldom
from gim.model.counts import (
    Counts,
    compact,
    is_crowded,
    nonzeros,
    rewards_by_triple,
    transitions,
)
from gim.model.known_rewards import KnownRewards, payments

HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class Evidence(NamedTuple):
    """What counts and prior say together, as if all of it had been counted."""

    N: Any  # [S, A, S], or CSR of S*A rows, or `Apart`: visits by next state
    n: Floats  # [S, A] visits
    R: Floats  # [S, A] sum of rewards
    R2: Floats  # [S, A] sum of squared rewards
    n_r: Floats  # [S, A] visits behind the rewards


def evidence(
    counts: Counts,
    prior: Prior,
    terminal: NDArray[np.bool_],
    rewards: KnownRewards | None = None,
    rows: SharedRows | None = None,
) -> Evidence:
    """Put counts and prior together.

    Args:
        counts: what was seen.
        prior: what is inferred; of size 0, or silent, leaves the counts as they are.
        terminal: [S] states seen to end an episode, perhaps since the prior was made: nothing is
            inferred of them.
        rewards: where they are known they stand for those that were seen.
        rows: those of the prior, if a plan can read counts and prior apart (see `shared_rows`).
    """
    if rewards is None or not rewards.given:
        return _learned(counts, prior, terminal, rows)
    return with_rewards(_learned(counts, prior, terminal), rewards)


def with_rewards(seen: Evidence, rewards: KnownRewards) -> Evidence:
    """The same with the rewards that are known, if they are."""
    if not rewards.given:
        return seen
    R, R2, n_r = payments(rewards, csr_of(seen.N, seen.n), seen.n)
    return seen._replace(R=R, R2=R2, n_r=n_r)


def _learned(
    counts: Counts, prior: Prior, terminal: NDArray[np.bool_], shared: SharedRows | None = None
) -> Evidence:
    """Counts and prior together, rewards as they were seen and inferred."""
    n = counts.n.astype(np.float64)
    if not prior.speaks:
        return Evidence(compact(counts), n, counts.R, counts.R2, n)
    goes_on = ~terminal[:, None]
    n0, r_n0 = prior.n0 * goes_on, rewards_hold(counts, prior) * prior.r_n0 * goes_on
    N = transitions(counts)
    rows = csr_of(N, counts.n) if shared is None else met_rows(N.reshape(n.size, -1), n.ravel())
    if np.isfinite(n0).all() and (prior.doubt > 0).any():
        said = _said_of(rows, prior, shared)
        parts = n0.ravel(), prior.leak.ravel(), prior.doubt.ravel()
        n0 = holds(rows, said, *parts, len(n0)).reshape(n0.shape) * n0
    by_next = None
    if prior.r_next.size and counts.paid.size:
        by_next = _rewards_by_next(rows, counts, prior, np.where(r_n0 > 0, n0, 0.0), shared)
    replaced = np.isinf(n0)
    keep, n0 = np.where(replaced, 0.0, 1.0), np.where(replaced, 1.0, n0)
    of_rewards, r_n0 = np.where(np.isinf(r_n0), 0.0, 1.0), np.where(np.isinf(r_n0), 1.0, r_n0)
    apart = None if shared is None else Apart(rows, n0.ravel(), shared)
    total, all_visits = apart or _added(N, rows, prior, keep, n0), keep * n + n0
    if by_next is not None:
        R, R2 = by_next
        return Evidence(total, all_visits, R, R2, np.where(r_n0 > 0, all_visits, n))
    return Evidence(
        N=total,
        n=all_visits,
        R=of_rewards * counts.R + r_n0 * prior.r,
        R2=of_rewards * counts.R2 + r_n0 * (prior.r**2 + prior.r_noise),
        n_r=of_rewards * n + r_n0,
    )


def csr_of(N: Any, n: Any) -> tuple[Any, Any, Any]:
    """Values, columns and row starts of visits by next state, dense [S, A, S] or CSR."""
    return (N.data, N.indices, N.indptr) if sparse.issparse(N) else nonzeros(N, n)


def _added(N: Any, rows: Any, prior: Prior, keep: Floats, n0: Floats) -> Any:
    """keep * N + n0 * q, dense where the counts are dense and the sum is no sparser.

    Beyond LARGE numbers a table no longer fits into a cache, and sparse rows are read faster.
    """
    if not sparse.issparse(N) and N.size < LARGE and is_crowded(N, prior.q.size):
        total = N * keep[:, :, None]
        add_dense(total.reshape(n0.size, -1), prior.q, prior.next, prior.first, n0.ravel())
        return total
    met, columns, starts = rows
    said = prior.q, prior.next, prior.first
    parts = add_csr(met, columns, starts, *said, keep.ravel(), n0.ravel())
    return sparse.csr_array(parts, shape=(n0.size, len(n0)))


def _rewards_by_next(
    rows: Any, counts: Counts, prior: Prior, n0: Floats, shared: SharedRows | None
) -> tuple[Floats, Floats]:
    """Sums of rewards and of their squares where they depend on the next state, [S, A] each.

    A successor that was met pays what it paid there, the others what is predicted.
    """
    paid = rewards_by_triple(counts, *rows[1:])
    visits = n0 if shared is None else np.where(counts.n > 0, n0, 0.0)
    R, R2 = add_rewards(rows, *paid, prior.q, prior.next, prior.first, prior.r_next, visits.ravel())
    if shared is not None:  # what a pair never met pays is known beforehand
        R += np.where(counts.n > 0, 0.0, n0).ravel() * shared.r
        R2 += np.where(counts.n > 0, 0.0, n0).ravel() * shared.r2
    return R.reshape(n0.shape), R2.reshape(n0.shape) + n0 * prior.r_noise


def add_rewards(
    rows: Any, paid: Any, paid2: Any, q: Any, next: Any, first: Any, r_next: Any, n0: Any
) -> Any:
    """What was paid plus n0 times what predicted successors pay, and squares, by row."""
    R, R2 = np.zeros((2, n0.size))
    _add_rewards(rows, paid, paid2, q, next, first, r_next, n0, R, R2)
    return R, R2


@entry
def _add_rewards(
    rows: Any,
    paid: Any,
    paid2: Any,
    q: Any,
    next: Any,
    first: Any,
    r_next: Any,
    n0: Any,
    R: Any,
    R2: Any,
) -> None:
    N, columns, starts = rows
    for i in range(len(n0)):
        for j in range(starts[i], starts[i + 1]):
            R[i] += paid[j]
            R2[i] += paid2[j]
        if n0[i] > 0.0:
            j = starts[i]
            for k in range(first[i], first[i + 1]):
                while j < starts[i + 1] and columns[j] < next[k]:
                    j += 1
                met = j < starts[i + 1] and columns[j] == next[k]
                r = paid[j] / N[j] if met else r_next[k]
                R[i] += n0[i] * q[k] * r
                R2[i] += n0[i] * q[k] * r * r


@seldom(lambda total, q, *_: 3 * q.size, by_views=True)
def add_dense(total: Any, q: Any, next: Any, first: Any, n0: Any) -> None:
    """Add n0 q to the rows of `total` [S*A, S], in place."""
    for i in range(len(n0)):
        for j in range(first[i], first[i + 1]):
            total[i, next[j]] += n0[i] * q[j]


@entry
def add_csr(
    N: Any, columns: Any, starts: Any, q: Any, next: Any, first: Any, keep: Any, n0: Any
) -> Any:
    """keep * N + n0 * q, row by row, of two tables of sparse rows in order; zeros are left out."""
    most, none = N.size + q.size, n0.size  # none: beyond every state
    data, indices = np.empty(most), np.empty(most, np.int64)
    indptr = np.zeros(n0.size + 1, np.int64)
    size = 0
    for i in range(n0.size):
        j, k = starts[i], first[i]
        while j < starts[i + 1] or k < first[i + 1]:
            left = columns[j] if j < starts[i + 1] else none
            right = next[k] if k < first[i + 1] else none
            t, value = min(left, right), 0.0
            if left == t:
                value += keep[i] * N[j]
                j += 1
            if right == t:
                value += n0[i] * q[k]
                k += 1
            if value != 0.0:
                data[size], indices[size] = value, t
                size += 1
        indptr[i + 1] = size
    return data[:size], indices[:size], indptr


def _said_of(rows: Any, prior: Prior, shared: SharedRows | None) -> tuple[Any, Any, Any]:
    """What is predicted of every pair, CSR parts; where rows are shared, of what was met alone."""
    if shared is None:
        return prior.q, prior.next, prior.first
    kind = np.repeat(shared.kind, np.diff(rows[2]))
    return shared.blocks[kind // EIGHT, rows[1], kind % EIGHT], rows[1], rows[2]


def holds(rows: Any, said: Any, n0: Floats, leak: Floats, doubt: Floats, S: int) -> Floats:
    """The probability w that each prediction holds at its pair, given its own visits.

    `rows` are the visits of some pairs and `said` is what is predicted of them, CSR parts; the
    others have a number for each pair.
    """
    sides = compare_likelihoods(rows, said, n0, leak, S)
    odds = np.log(np.maximum(doubt, 1e-300)) - np.log1p(-np.minimum(doubt, 1 - 1e-12))
    other = np.clip(sides[1] - sides[0], -700.0, 700.0) + odds
    w = 1.0 / (1.0 + np.exp(np.clip(other, -700.0, 700.0)))
    return np.where(doubt > 0, w, 1.0)


@hot
def log_gamma(x: float) -> float:
    """ln Gamma(x) for x > 0, by Stirling's series; the same bits compiled and plain."""
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    y = 1.0 / (x * x)
    series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2PI + series - math.log(product)


def compare_likelihoods(rows: Any, said: Any, n0: Any, leak: Any, S: int) -> Any:
    """ln DM(N; n0 ((1 - leak) q + leak/S)) and ln DM(N; 1/S) of every row, [2, rows].

    `rows` are the counts and `said` is what is predicted, CSR parts with their columns in order.
    The first is -inf where something was seen that is impossible under the prediction.
    """
    sides = np.zeros((2, n0.size))
    _compare(rows, said, n0, leak, S, sides)
    return sides


@entry
def _compare(rows: Any, said: Any, n0: Any, leak: Any, S: int, sides: Any) -> None:
    (N, columns, starts), (q, next, first) = rows, said
    blank = log_gamma(1.0 / S)
    for i in range(n0.size):
        if n0[i] <= 0.0 or starts[i] == starts[i + 1]:
            continue
        total, with_q, without, k = 0.0, 0.0, 0.0, first[i]
        for j in range(starts[i], starts[i + 1]):
            while k < first[i + 1] and next[k] < columns[j]:
                k += 1
            predicted = q[k] if k < first[i + 1] and next[k] == columns[j] else 0.0
            alpha = n0[i] * ((1.0 - leak[i]) * predicted + leak[i] / S)
            total += N[j]
            without += log_gamma(1.0 / S + N[j]) - blank
            if alpha <= 0.0:
                with_q = -np.inf
            else:
                with_q += log_gamma(alpha + N[j]) - log_gamma(alpha)
        sides[0, i] = with_q + log_gamma(n0[i]) - log_gamma(n0[i] + total)
        sides[1, i] = without - log_gamma(1.0 + total)


def rewards_hold(counts: Counts, prior: Prior) -> Floats:
    """The probability [S, A] that a predicted reward holds at its pair, given what it paid.

    The mean of n rewards is compared under the prediction, normal with the variance of n single
    ones besides that of r_n0, and under no prediction, where it varies as r(s,a) does over all
    pairs. Where rewards are certain, one that differs removes the prediction.
    """
    met, hold = counts.n > 0, np.ones(counts.n.shape)
    asked = met & (prior.r_doubt > 0)
    if not asked.any():
        return hold
    varies = float(np.var(counts.R[met] / counts.n[met]))
    n, r_n0, doubt = counts.n[asked], prior.r_n0[asked], prior.r_doubt[asked]
    mean, noise = counts.R[asked] / n, prior.r_noise[asked]
    wide = varies + noise
    narrow = noise * (1.0 / n + 1.0 / np.maximum(r_n0, 1e-300))
    floor = 1e-18 * (1.0 + mean**2 + wide)  # equal but for rounding
    narrow, off = np.maximum(narrow, floor), (mean - prior.r[asked]) ** 2
    wide = np.maximum(wide, narrow)
    log_odds = np.log(np.maximum(doubt, 1e-300)) - np.log1p(-np.minimum(doubt, 1 - 1e-12))
    other = log_odds + 0.5 * (np.log(narrow / wide) + off / narrow - off / wide)
    hold[asked] = 1.0 / (1.0 + np.exp(np.clip(other, -700, 700)))
    return hold
