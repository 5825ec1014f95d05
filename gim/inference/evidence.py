"""Counts plus prior: the one place where what was seen and what is inferred meet.

A prediction counts as visits that were never made,

    N(s'|s,a) = n(s'|s,a) + w n0 q(s'|s,a),   n(s,a) + w n0   in all,

so the estimate is p = N / n and data take over as they come; rewards likewise. A pair's own visits
decide how far the prediction still counts there: w is the probability that it holds, given them
(`gim.inference.likelihoods`). One visit that contradicts a sharp prediction removes it at that
pair, many that agree leave it. An agent's own rule (a threshold, a bonus, a posterior) goes on from
this `Evidence` and need not know that there is a prior. Without one the evidence is the counts
themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.inference.dense_evidence import DenseEvidence
from gim.inference.likelihoods import holds, rewards_hold
from gim.inference.prior import Floats, Prior
from gim.inference.shared_rows import EIGHT, LARGE, Apart, SharedRows, met_rows
from gim.jit import entry
from gim.model.counts import (
    Counts,
    compact,
    is_crowded,
    nonzeros,
    rewards_by_triple,
    transitions,
)
from gim.model.known_rewards import KnownRewards, payments


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
    kept: dict[str, Any] | None = None,
) -> Evidence:
    """Put counts and prior together.

    Args:
        counts: what was seen.
        prior: what is inferred; of size 0, or silent, leaves the counts as they are.
        terminal: [S] states seen to end an episode, perhaps since the prior was made: nothing is
            inferred of them.
        rewards: where they are known they stand for those that were seen.
        rows: those of the prior, if a plan can read counts and prior apart (see `shared_rows`).
        kept: what earlier calls have put together, to go on from, of counts that have only grown
            since; the arrays that come of it are written to again by the next call.
    """
    known = rewards is not None and rewards.given
    seen = _learned(counts, prior, terminal, None if known else rows, kept)
    if rewards is None or not known:
        return seen
    R, R2, n_r = payments(rewards, csr_of(seen.N, seen.n), seen.n)
    return seen._replace(R=R, R2=R2, n_r=n_r)


def _learned(
    counts: Counts,
    prior: Prior,
    terminal: NDArray[np.bool_],
    shared: SharedRows | None,
    kept: dict[str, Any] | None,
) -> Evidence:
    """Counts and prior together, rewards as they were seen and inferred."""
    if not prior.speaks:
        n = counts.n.astype(np.float64)
        return Evidence(compact(counts), n, counts.R, counts.R2, n)
    if shared is None and _stays_dense(counts, prior):
        if kept is not None:
            return Evidence(*_kept(counts, prior, terminal, kept).now(counts))
        N, *others = DenseEvidence(counts, prior, terminal).now(counts)
        return Evidence(np.ascontiguousarray(N), *others)
    return _sparse(counts, prior, terminal, shared)


def _stays_dense(counts: Counts, prior: Prior) -> bool:
    """Whether the sum is a table: where the counts are one, and it is no sparser.

    Beyond LARGE numbers a table no longer fits into a cache, and sparse rows are read faster.
    """
    small = not counts.keys.size and counts.next.size < LARGE
    return small and is_crowded(counts.next, prior.q.size)


def _kept(
    counts: Counts, prior: Prior, terminal: NDArray[np.bool_], kept: dict[str, Any]
) -> DenseEvidence:
    """What earlier calls have put together, if it is still of this prior."""
    found = kept.get("evidence")
    if not isinstance(found, DenseEvidence) or not found.is_of(prior, terminal):
        found = kept["evidence"] = DenseEvidence(counts, prior, terminal)
    return found


def _sparse(
    counts: Counts, prior: Prior, terminal: NDArray[np.bool_], shared: SharedRows | None
) -> Evidence:
    """The same of sparse rows, added up or apart."""
    n, goes_on = counts.n.astype(np.float64), ~terminal[:, None]
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
    total, all_visits = apart or _added(rows, prior, keep, n0), keep * n + n0
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


def _added(rows: Any, prior: Prior, keep: Floats, n0: Floats) -> sparse.csr_array:
    """keep * N + n0 * q."""
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
