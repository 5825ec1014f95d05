"""A dense prior as a plan reads it: each row once, eight of them side by side.

Where p(.|s,a) has many successors, so has a prediction of it, and S*A rows of them are far more
than was ever counted. But a prior stays for as long as nothing new is inferred, and many pairs
share a row: a marginal is the same for all of them, a mean by action for all states. So its sums
over next states are taken once for each row that differs and added to those over the counts,

    N v = n v + w n0 (q v),

and nothing that has the size of the prior is put together for a plan.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.inference.prior import Floats, Ints, Prior
from gim.jit import entry, hot, seldom
from gim.model.counts import Counts

LARGE = 1 << 20  # numbers of a table of counts, from which plans read the prior apart
EIGHT = 8  # rows side by side: their sums need not wait for each other
CROWDED = 4  # one in so many successors is predicted where rows are kept as a table


class SharedRows(NamedTuple):
    """The rows of a prior, each once."""

    kind: Ints  # [S*A] the row of each pair
    blocks: Floats  # [rows / 8, S, 8] the rows
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
    pairs: list[int] = []  # the first of each kind
    for i, (begin, end) in enumerate(zip(prior.first[:-1], prior.first[1:], strict=True)):
        row = prior.next[begin:end].tobytes() + prior.q[begin:end].tobytes()
        kind[i] = kinds.setdefault(row, len(kinds))
        if kind[i] == len(pairs):
            pairs.append(i)
    blocks = np.zeros((-(-len(pairs) // EIGHT), S, EIGHT))
    fill(blocks, prior.q, prior.next, prior.first, np.array(pairs))
    sums = row_sums(prior.q, prior.r_next, prior.first)
    return SharedRows(kind, blocks, *sums)


@seldom(lambda blocks, q, *_: blocks.size)
def fill(blocks: Any, q: Any, next: Any, first: Any, pairs: Any) -> None:
    """Put the rows of these pairs into blocks [rows / 8, S, 8] of zeros."""
    for k in range(pairs.size):
        for j in range(first[pairs[k]], first[pairs[k] + 1]):
            blocks[k // EIGHT, next[j], k % EIGHT] = q[j]


@seldom(lambda q, r_next, first: 2 * q.size)
def row_sums(q: Any, r_next: Any, first: Any) -> Any:
    """The sums of q r and of q r^2 of every row, [2, rows]; 0 if nothing is said of r."""
    sums = np.zeros((2, first.size - 1))
    for i in range(first.size - 1 if r_next.size > 0 else 0):
        for j in range(first[i], first[i + 1]):
            sums[0, i] += q[j] * r_next[j]
            sums[1, i] += q[j] * r_next[j] * r_next[j]
    return sums


@entry
def met_rows(N: Any, n: Any) -> Any:
    """Values, columns and row starts of what is not 0 in the rows of N [S*A, S] with n > 0."""
    starts = np.zeros(n.size + 1, np.int64)
    for i in range(n.size):
        size = 0
        if n[i] > 0:
            for t in range(N.shape[1]):
                size += int(N[i, t] != 0.0)
        starts[i + 1] = starts[i] + size
    values, columns = np.empty(starts[-1]), np.empty(starts[-1], np.int64)
    for i in range(n.size):
        k = starts[i]
        if k < starts[i + 1]:
            for t in range(N.shape[1]):
                if N[i, t] != 0.0:
                    values[k], columns[k] = N[i, t], t
                    k += 1
    return values, columns, starts


@hot
def sums_of_blocks(blocks: Any, v: Any, v0: Any, mean: Any, square: Any, later: Any) -> None:
    """The sums of q v, q v^2 and q v0 of every row, each over t as it rises."""
    for b in range(blocks.shape[0]):
        x0 = x1 = x2 = x3 = x4 = x5 = x6 = x7 = 0.0
        y0 = y1 = y2 = y3 = y4 = y5 = y6 = y7 = 0.0
        z0 = z1 = z2 = z3 = z4 = z5 = z6 = z7 = 0.0
        for t in range(blocks.shape[1]):
            x, y, z = v[t], v[t] * v[t], v0[t]
            q0, q1, q2, q3 = blocks[b, t, 0], blocks[b, t, 1], blocks[b, t, 2], blocks[b, t, 3]
            q4, q5, q6, q7 = blocks[b, t, 4], blocks[b, t, 5], blocks[b, t, 6], blocks[b, t, 7]
            x0, y0, z0 = x0 + q0 * x, y0 + q0 * y, z0 + q0 * z
            x1, y1, z1 = x1 + q1 * x, y1 + q1 * y, z1 + q1 * z
            x2, y2, z2 = x2 + q2 * x, y2 + q2 * y, z2 + q2 * z
            x3, y3, z3 = x3 + q3 * x, y3 + q3 * y, z3 + q3 * z
            x4, y4, z4 = x4 + q4 * x, y4 + q4 * y, z4 + q4 * z
            x5, y5, z5 = x5 + q5 * x, y5 + q5 * y, z5 + q5 * z
            x6, y6, z6 = x6 + q6 * x, y6 + q6 * y, z6 + q6 * z
            x7, y7, z7 = x7 + q7 * x, y7 + q7 * y, z7 + q7 * z
        k = EIGHT * b
        mean[k], mean[k + 1], mean[k + 2], mean[k + 3] = x0, x1, x2, x3
        mean[k + 4], mean[k + 5], mean[k + 6], mean[k + 7] = x4, x5, x6, x7
        square[k], square[k + 1], square[k + 2], square[k + 3] = y0, y1, y2, y3
        square[k + 4], square[k + 5], square[k + 6], square[k + 7] = y4, y5, y6, y7
        later[k], later[k + 1], later[k + 2], later[k + 3] = z0, z1, z2, z3
        later[k + 4], later[k + 5], later[k + 6], later[k + 7] = z4, z5, z6, z7
