"""Counts plus prior: the one place where what was seen and what is inferred meet.

A prediction counts as visits that were never made,

    N(s'|s,a) = n(s'|s,a) + w n0 q(s'|s,a),   n(s,a) + w n0   in all,

so the estimate is p = N / n and data take over as they come; rewards likewise. A pair's own visits
decide how far the prediction still counts there: w is the probability that it holds, given them
(`gim.analogy.prior`). One visit that contradicts a sharp prediction removes it at that
pair, many that agree leave it. An agent's own rule (a threshold, a bonus, a posterior) goes on from
this `Evidence` and need not know that there is a prior. Without one the evidence is the counts
themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import entry, seldom
from gim.analogy.prior import (
    Floats,
    Ints,
    Prior,
    clipped,
    holds,
    log_gamma,
    log_odds,
    probability,
    rewards_hold,
)
from gim.model.counts import (
    Counts,
    compact,
    is_crowded,
    nonzeros,
    rewards_by_triple,
    transitions,
)
from gim.model.rewards import KnownRewards, payments

# -- a dense prior as a plan reads it: each row once


LARGE = 1 << 20  # numbers of a table of counts, from which plans read the prior apart
CROWDED = 4  # one in so many successors is predicted where rows are kept as a table


class SharedRows(NamedTuple):
    """The rows of a prior, each once."""

    kind: Ints  # [S*A] the row of each pair
    columns: Floats  # [S, rows] by next state
    r: Floats  # [S*A] expected reward of the predicted successors; 0 if nothing is said of it
    r2: Floats  # [S*A] that of its square


class Apart(NamedTuple):
    """Visits by next state as a sum of two: what was counted, and what is predicted."""

    met: tuple[Any, Any, Any]  # values, columns and row starts of the counts
    n0: Floats  # [S*A] visits that each prediction counts for
    rows: SharedRows


def is_dense(counts: Counts, prior: Prior) -> bool:
    """Whether plans had better read this prior apart from the counts."""
    if counts.keys.size or counts.next.size < LARGE or not np.isfinite(prior.n0).all():
        return False
    return CROWDED * prior.q.size > counts.next.size


def shared_rows(prior: Prior) -> SharedRows:
    """The rows of a prior, each once."""
    S, A = prior.n0.shape
    kinds: dict[bytes, int] = {}
    kind = np.zeros(S * A, np.int64)
    rows: list[Floats] = []
    for i, (begin, end) in enumerate(zip(prior.first[:-1], prior.first[1:], strict=True)):
        row = prior.next[begin:end].tobytes() + prior.q[begin:end].tobytes()
        kind[i] = kinds.setdefault(row, len(kinds))
        if kind[i] == len(rows):
            rows.append(
                np.bincount(prior.next[begin:end], prior.q[begin:end], S).astype(np.float64)
            )
    r = np.zeros((2, S * A))
    if prior.r_next.size:
        pair = np.repeat(np.arange(S * A), np.diff(prior.first))
        for k in range(2):
            r[k] = np.bincount(pair, prior.q * prior.r_next ** (k + 1), S * A)
    return SharedRows(kind, np.array(rows).T.copy(), *r)


# -- evidence of pairs whose counts are dense, kept up to date


Bools = NDArray[np.bool_]


class Counted(NamedTuple):
    """What was counted, by triple."""

    N: Floats  # [S*A*S] n(s'|s,a)
    paid: Floats  # [S*A*S] sums of rewards; [0] if nobody asks for them
    paid2: Floats  # those of their squares likewise


class Predicted(NamedTuple):
    """What is predicted of every pair, and what that is worth."""

    q: Floats  # [nnz] p(s'|s,a), pair by pair
    next: Ints  # [nnz] the s' that they speak of, rising within a pair
    first: Ints  # [S*A + 1] where the successors of each pair begin
    r_next: Floats  # [nnz] r(s,a,s'), or [0]
    leak: Floats  # [S*A] share that goes to any state at all
    doubt: Floats  # [S*A] the chance that it does not hold
    r_noise: Floats  # [S*A] variance of single rewards
    n0: Floats  # [S*A] visits that it is worth
    replaces: Bools  # [S*A] whether it stands in place of visits
    pays: Bools  # [S*A] whether rewards are inferred


class Kept(NamedTuple):
    """What is filled for each pair that is put together."""

    worth: Floats  # [S*A] w n0
    columns: Floats  # [S, S*A] n + w n0 q
    R: Floats  # [S*A] sums of rewards, where these depend on the next state
    R2: Floats  # [S*A] those of their squares


class DenseEvidence:
    """The evidence of one prior, pair by pair.

    Args:
        counts: dense; those of the same run whenever evidence is asked for.
        prior: what is inferred.
        terminal: [S] states of which nothing is inferred.
    """

    def __init__(self, counts: Counts, prior: Prior, terminal: NDArray[np.bool_]) -> None:
        S, pairs = len(counts.n), counts.n.size
        self.prior, self.terminal = prior, terminal.copy()
        self.goes_on = ~terminal[:, None]
        n0 = (prior.n0 * self.goes_on).ravel()
        self.replaced = np.isinf(n0)  # [S*A] a prediction that stands in place of visits
        self.n0 = np.where(self.replaced, 1.0, n0)
        self.doubted = bool((prior.doubt > 0).any() and not self.replaced.any())
        self.by_next = bool(prior.r_next.size and counts.paid.size)
        self.visits = np.full(pairs, -1)  # [S*A] of each pair when it was put together
        self.pays = np.zeros(pairs, bool)  # [S*A] whether its reward was inferred then
        self.worth = np.zeros(pairs)  # [S*A] w n0, the visits that its prediction counts for
        self.columns = np.zeros((S, pairs))  # visits by next state, as plans read them
        self.R, self.R2 = np.zeros((2, pairs))  # where rewards depend on the next state

    def is_of(self, prior: Prior, terminal: NDArray[np.bool_]) -> bool:
        """Whether it is still of this prior, and of these ends."""
        mine = self.prior.q is prior.q and self.prior.n0 is prior.n0
        return mine and np.array_equal(self.terminal, terminal)

    def now(self, counts: Counts) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The fields of `gim.belief.evidence.Evidence`, as the counts are now.

        Arrays that are kept are written to again by the next call.
        """
        prior, n = self.prior, counts.n.astype(np.float64)
        r_n0 = rewards_hold(counts, prior) * prior.r_n0 * self.goes_on
        pays = (r_n0 > 0).ravel()
        news = np.flatnonzero((counts.n.ravel() != self.visits) | (pays != self.pays))
        self.pays = pays
        if news.size:
            self._meet(counts, news)
        seen = np.where(self.replaced.reshape(n.shape), 0.0, n) + self.worth.reshape(n.shape)
        N = self.columns.T.reshape(*n.shape, -1)
        if self.by_next:
            R, R2 = (each.reshape(n.shape) for each in (self.R, self.R2))
            return N, seen, R, R2, np.where(r_n0 > 0, seen, n)
        instead = np.isinf(r_n0)
        keep, r_n0 = np.where(instead, 0.0, 1.0), np.where(instead, 1.0, r_n0)
        R = keep * counts.R + r_n0 * prior.r
        R2 = keep * counts.R2 + r_n0 * (prior.r**2 + prior.r_noise)
        return N, seen, R, R2, keep * n + r_n0

    def _meet(self, counts: Counts, at: Ints) -> None:
        """Put these pairs together anew."""
        prior = self.prior
        self.visits[at] = counts.n.ravel()[at]
        put_together(
            at,
            (counts.next, counts.paid, counts.paid2),
            (
                prior.q,
                prior.next,
                prior.first,
                prior.r_next,
                prior.leak.ravel(),
                prior.doubt.ravel(),
                prior.r_noise.ravel(),
                self.n0,
                self.replaced,
                self.pays,
            ),
            self.doubted,
            self.by_next,
            (self.worth, self.columns, self.R, self.R2),
        )


@seldom(lambda at, counted, said, doubted, by_next, kept: 3 * at.size * len(kept[1]))
def put_together(at: Any, counted: Any, said: Any, doubted: bool, by_next: bool, kept: Any) -> None:
    """n + w n0 q of the pairs `at`, and their rewards where these depend on the next state.

    Bare tuples, which are handed over faster, stand for what was `Counted`, is `Predicted` and is
    `Kept`. In the order of `gim.belief.evidence` for sparse rows, so that both have the same
    bits.
    """
    counted, said, kept = Counted(*counted), Predicted(*said), Kept(*kept)
    N, paid, paid2 = counted.N, counted.paid, counted.paid2
    q, next, first, n0 = said.q, said.next, said.first, said.n0
    columns, R, R2 = kept.columns, kept.R, kept.R2
    S = columns.shape[0]
    blank = log_gamma(1.0 / S)
    for i in at:
        w = n0[i]
        if doubted and said.doubt[i] > 0.0:
            total, with_q, without, k = 0.0, 0.0, 0.0, first[i]
            for t in range(S):
                x = N[i * S + t]
                if x != 0.0 and w > 0.0:
                    while k < first[i + 1] and next[k] < t:
                        k += 1
                    predicted = q[k] if k < first[i + 1] and next[k] == t else 0.0
                    alpha = n0[i] * ((1.0 - said.leak[i]) * predicted + said.leak[i] / S)
                    total += x
                    without += log_gamma(1.0 / S + x) - blank
                    if alpha <= 0.0:
                        with_q = -np.inf
                    else:
                        with_q += log_gamma(alpha + x) - log_gamma(alpha)
            if total > 0.0:
                with_q = with_q + log_gamma(n0[i]) - log_gamma(n0[i] + total)
                without = without - log_gamma(1.0 + total)
            w = probability(clipped(without - with_q) + log_odds(said.doubt[i])) * n0[i]
        kept.worth[i] = w
        for t in range(S):
            columns[t, i] = 0.0 if said.replaces[i] else N[i * S + t]
        for k in range(first[i], first[i + 1]):
            columns[next[k], i] += w * q[k]
        if by_next:
            R[i] = R2[i] = 0.0
            for t in range(S):
                if N[i * S + t] != 0.0:
                    R[i] += paid[i * S + t]
                    R2[i] += paid2[i * S + t]
            counts_for = w if said.pays[i] else 0.0
            if counts_for > 0.0:
                for k in range(first[i], first[i + 1]):
                    j = i * S + next[k]
                    r = paid[j] / N[j] if N[j] != 0.0 else said.r_next[k]
                    R[i] += counts_for * q[k] * r
                    R2[i] += counts_for * q[k] * r * r
            R2[i] += counts_for * said.r_noise[i]


# --


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
    rows = csr_of(N, counts.n)
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
    return shared.columns[rows[1], kind], rows[1], rows[2]
