"""The compiled sweeps under every planner, over dense and sparse transitions alike.

A sum over next states always runs from the first to the last. So dense, sparse, compiled and plain
agree to the last bit (a zero adds nothing), and actions that are equal get equal values, which
keeps ties exact. One such sum would wait for each of its additions. Eight dense rows side by side
do not, and run as fast as memory delivers them; sparse rows are short, and there a sweep takes the
best action, the changes and their range in the pass that reads them, and stores nothing per pair.
Indices are unsigned: a signed one is first looked at for being negative, which costs a quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gim._compile.jit import bind, entry, hot
from gim.planning.types import Ints

EPS = float(np.finfo(np.float64).eps)


@hot
def expect_dense(P: Any, pairs: Any, v: Any, out: Any) -> None:
    """out[k] = sum of P[i, t] v[t] over t, for row i = pairs[k] of P [S*A, S]."""
    S = v.size
    eights = pairs.size - pairs.size % 8
    for k in range(0, eights, 8):
        i0, i1, i2, i3 = pairs[k], pairs[k + 1], pairs[k + 2], pairs[k + 3]
        i4, i5, i6, i7 = pairs[k + 4], pairs[k + 5], pairs[k + 6], pairs[k + 7]
        x0 = x1 = x2 = x3 = x4 = x5 = x6 = x7 = 0.0
        for t in range(S):
            x0 += P[i0, t] * v[t]
            x1 += P[i1, t] * v[t]
            x2 += P[i2, t] * v[t]
            x3 += P[i3, t] * v[t]
            x4 += P[i4, t] * v[t]
            x5 += P[i5, t] * v[t]
            x6 += P[i6, t] * v[t]
            x7 += P[i7, t] * v[t]
        out[k], out[k + 1], out[k + 2], out[k + 3] = x0, x1, x2, x3
        out[k + 4], out[k + 5], out[k + 6], out[k + 7] = x4, x5, x6, x7
    for k in range(eights, pairs.size):
        x = 0.0
        for t in range(S):
            x += P[pairs[k], t] * v[t]
        out[k] = x


@hot
def expect_csr(P: Any, pairs: Any, v: Any, out: Any) -> None:
    """The same for CSR rows, P = (data, indices, indptr)."""
    data, indices, indptr = P
    one = np.uint64(1)
    for k in range(pairs.size):
        x = 0.0
        j, end = np.uint64(indptr[pairs[k]]), np.uint64(indptr[pairs[k] + 1])
        while j < end:
            x += data[j] * v[indices[j]]
            j += one
        out[k] = x


@hot
def add_rewards(q: Any, r: Any, available: Any, discount: float) -> None:
    """Turn the expected values in q [S, A] into r + discount q; -inf where not available."""
    S, A = q.shape
    for s in range(S):
        for a in range(A):
            q[s, a] = r[s, a] + discount * q[s, a] if available[s, a] else -np.inf


@hot
def take_best(q: Any, best: Any, policy: Any) -> None:
    """Each state's largest value in q [S, A], and the lowest action that has it."""
    S, A = q.shape
    for s in range(S):
        best[s] = q[s, 0]
        policy[s] = 0
        for a in range(1, A):
            if q[s, a] > best[s]:
                best[s] = q[s, a]
                policy[s] = a


expect = expect_dense  # the templates below are bound to one or the other


def _expected(P: Any, pairs: Any, v: Any, out: Any) -> None:
    expect(P, pairs, v, out)


@hot
def back_up_dense(
    P: Any, pairs: Any, r: Any, discount: float, v: Any, q: Any, best: Any, pi: Any
) -> Any:
    """One Bellman sweep, best = T v, with q [S, A] and the greedy policy pi [S].

    Gives the least and the largest of best - v, and the largest size of an entry of either.
    Rewards r [S, A] are -inf where a pair is not available.
    """
    expect_dense(P, pairs, v, q.reshape(-1))
    S, A = r.shape
    for s in range(S):
        for a in range(A):
            q[s, a] = r[s, a] + discount * q[s, a]
    take_best(q, best, pi)
    low, high, largest = np.inf, -np.inf, 0.0
    for s in range(S):
        low = min(low, best[s] - v[s])
        high = max(high, best[s] - v[s])
        largest = max(largest, abs(best[s]), abs(v[s]))
    return low, high, largest


@hot
def back_up_csr(
    P: Any, pairs: Any, r: Any, discount: float, v: Any, q: Any, best: Any, pi: Any
) -> Any:
    """The same for CSR rows, of all pairs, in one pass and without q."""
    data, indices, indptr = P
    S, A = r.shape
    low, high, largest = np.inf, -np.inf, 0.0
    one = np.uint64(1)
    i, j = np.uint64(0), np.uint64(indptr[0])
    for s in range(S):
        top, arg = -np.inf, 0
        for a in range(A):
            i += one
            end = np.uint64(indptr[i])
            x = 0.0
            while j < end:
                x += data[j] * v[indices[j]]
                j += one
            value = r[s, a] + discount * x
            # No branch: which action is best is hard to predict.
            arg += (a - arg) * int(value > top)
            top = value if value > top else top
        best[s], pi[s] = top, arg
        low = min(low, top - v[s])
        high = max(high, top - v[s])
        largest = max(largest, abs(top), abs(v[s]))
    return low, high, largest


back_up = back_up_dense


def _sweep(
    P: Any, pairs: Any, r: Any, discount: float, v: Any, q: Any, best: Any, pi: Any
) -> tuple[float, float, float]:
    return back_up(P, pairs, r, discount, v, q, best, pi)


def _steps(P: Any, pairs: Any, r: Any, discount: float, H: int, v: Any, q: Any, pi: Any) -> float:
    """H sweeps from 0, back and forth between the rows of v [2, S]; the last one fills v[0].

    The policy of step h goes to row h of pi [H, S], or all to one, [1, S]. Gives the largest value.
    """
    largest = 0.0
    v[H % 2] = 0.0
    for h in range(H - 1, -1, -1):
        found = back_up(P, pairs, r, discount, v[1 - h % 2], q, v[h % 2], pi[min(h, len(pi) - 1)])
        largest = max(largest, found[2])
    return largest


def _follow(
    P: Any, pairs: Any, r: Any, discount: float, sweeps: int, enough: float, v: Any, spare: Any
) -> tuple[int, float]:
    """Evaluate a policy in place: up to this many sweeps v <- r + discount P v over its pairs [S].

    After each, all of v moves by what the mean change would still add up to (MacQueen 1966,
    Porteus 1971); where the policy mixes fast, hardly anything else is left to do. It stops when
    the changes differ by no more than `enough`.

    Gives the number of sweeps, and by how much changes differed in the last.
    """
    span = 0.0
    for k in range(sweeps):
        expect(P, pairs, v, spare)
        low, high = np.inf, -np.inf
        for s in range(v.size):
            spare[s] = r[s] + discount * spare[s]
            low = min(low, spare[s] - v[s])
            high = max(high, spare[s] - v[s])
        ahead = discount / (1.0 - discount) * (low + high) / 2
        for s in range(v.size):
            v[s] = spare[s] + ahead
        span = high - low
        if span <= enough:
            return k + 1, span
    return sweeps, span


def _visited(P: Any, pairs: Any, v: Any, out: Any) -> float:
    """Steps of `_expected`."""
    return pairs.size * (P[0].size / max(P[2].size, 1) if isinstance(P, tuple) else v.size)


def _swept(P: Any, pairs: Any, r: Any, discount: float, H: int, *_: Any) -> float:
    """Steps of `_steps`."""
    return 0.5 * H * (P[0].size if isinstance(P, tuple) else P.size)


expected_dense = bind(_expected, "dense", work=_visited, expect=expect_dense)
expected_csr = bind(_expected, "csr", work=_visited, expect=expect_csr)
sweep_dense = bind(_sweep, "dense", back_up=back_up_dense)
sweep_csr = bind(_sweep, "csr", back_up=back_up_csr)
steps_dense = bind(_steps, "dense", work=_swept, back_up=back_up_dense)
steps_csr = bind(_steps, "csr", work=_swept, back_up=back_up_csr)
follow_dense = bind(_follow, "dense", expect=expect_dense)
follow_csr = bind(_follow, "csr", expect=expect_csr)


@entry
def gather(P: Any, pairs: Any, held: Any, places: Any) -> None:
    """Copy the CSR rows of these pairs [S] to their states' places, if others are `held` there.

    The place of state s, in arrays of data and indices, begins at ends[2 s] and is filled up to
    ends[2 s + 1]: read as CSR, places = (data, indices, ends) has the state's row at 2 s.
    """
    data, indices, indptr = P
    weights, columns, ends = places
    one = np.uint64(1)
    for s in range(pairs.size):
        if pairs[s] == held[s]:
            continue
        held[s] = pairs[s]
        n = np.uint64(ends[2 * s])
        j, end = np.uint64(indptr[pairs[s]]), np.uint64(indptr[pairs[s] + 1])
        while j < end:
            weights[n], columns[n] = data[j], indices[j]
            n += one
            j += one
        ends[2 * s + 1] = n


def rows_of(P: Any, S: int, A: int) -> Any:
    """Give transitions as the sweeps take them: [S*A, S], or the three arrays of a CSR."""
    if sparse.issparse(P):
        if P.shape != (S * A, S):
            raise ValueError(f"P has shape {P.shape}, not {(S * A, S)}: row s*A + a for each pair")
        return P.data, P.indices, P.indptr
    if P.shape != (S, A, S):
        raise ValueError(f"P has shape {P.shape}, not {(S, A, S)}: [state, action, next state]")
    return P.reshape(S * A, S)


def pairs_of(policy: Any, A: int) -> Ints:
    """Give the row s*A + policy[s] of each state, [S]."""
    return np.arange(policy.size) * A + policy


def compact(A: int) -> np.dtype:
    """The smallest unsigned type that holds every action."""
    return np.min_scalar_type(A - 1)
