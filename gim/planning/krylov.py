"""The compiled work of inexact policy iteration: sweeps in place, and a policy's value by BiCGSTAB.

The value of a policy solves v = r + discount P v. Each row is first solved for its own state, which
leaves v = pay + N v with nothing on the diagonal of N = L + U, its parts below and above. Sweeping
through the states in order (Gauss-Seidel) inverts I - L or I - U. BiCGSTAB (van der Vorst 1992)
runs on the system with both inverted around it,

    (I - L)^-1 (I - N) (I - U)^-1 y = (I - L)^-1 (pay - v - N v),   v + (I - U)^-1 y the new value,

and since I - N = (I - L) + (I - U) - I, its product costs no more than one with N (Eisenstat 1981).
Discounts near 1 leave a few slow directions, one for each part that is hard to leave: sweeps alone
take 1 / (1 - discount) of themselves for these, a Krylov method some for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gim._compile.jit import entry, rare


@entry
def improve(P: Any, r: Any, discount: float, backward: bool, v: Any) -> float:
    """One Bellman sweep in place: each state is renewed with what the last ones have become.

    Each action is solved for the state's own value: staying put takes no sweeps. Like the plain
    sweep it brings v closer to the optimum by `discount`, in the largest entry, or more.

    Args:
        P: CSR rows of S*A pairs, (data, unsigned indices, indptr).
        r: rewards [S, A], -inf where a pair is not available.
        discount: the weight of each step against the one before.
        backward: from the last state to the first.
        v: values [S], renewed.

    Returns:
        The largest change.
    """
    data, indices, indptr = P
    S, A = r.shape
    one, change = np.uint64(1), 0.0
    for k in range(S):
        s = S - 1 - k if backward else k
        here, top = v[s], -np.inf
        i = np.uint64(s * A)
        j = np.uint64(indptr[i])
        for a in range(A):
            i += one
            end = np.uint64(indptr[i])
            x, own = 0.0, 0.0
            while j < end:
                x += data[j] * v[indices[j]]
                own += data[j] if indices[j] == s else 0.0
                j += one
            q = r[s, a] + discount * x
            if own > 0.0:
                q = here + (q - here) / (1.0 - discount * own)
            top = q if q > top else top
        v[s] = top
        change = max(change, abs(top - here))
    return change


@entry
def pack(P: Any, r: Any, discount: float, policy: Any, N: Any, pay: Any) -> None:
    """The rows of a policy [S], each solved for its own state: v = pay + N v.

    N is filled: data and indices with room for all of them, and indptr [S + 1]; pay [S] as well.
    """
    data, indices, indptr = P
    weights, columns, ends = N
    S, A = r.shape
    n = 0
    for s in range(S):
        i = s * A + int(policy[s])
        own = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            own += data[j] if indices[j] == s else 0.0
        scale = 1.0 / (1.0 - discount * own)
        ends[s] = n
        for j in range(indptr[i], indptr[i + 1]):
            if indices[j] != s:
                weights[n], columns[n] = scale * discount * data[j], indices[j]
                n += 1
        pay[s] = scale * r[s, policy[s]]
    ends[S] = n


@rare
def solve_upper(N: Any, x: Any, y: Any) -> None:
    """y = (I - U)^-1 x, from the last state to the first.

    The neighbour that was solved last is not read back: that wait would be half of the time.
    """
    weights, columns, ends = N
    one, last = np.uint64(1), 0.0
    for k in range(x.size):
        s = x.size - 1 - k
        total = x[s]
        j, first = np.uint64(ends[s + 1]), np.uint64(ends[s])
        while j > first and columns[j - one] > s + 1:
            j -= one
            total += weights[j] * y[columns[j]]
        if j > first and columns[j - one] > s:
            total += weights[j - one] * last
        y[s] = last = total


@rare
def solve_lower(N: Any, x: Any, y: Any, spare: Any, other: Any) -> tuple[float, float]:
    """y += (I - L)^-1 (x - y), from the first state to the last.

    Gives the products of the new y with `other` and with itself.
    """
    weights, columns, ends = N
    one, last = np.uint64(1), 0.0
    product, square = 0.0, 0.0
    for s in range(x.size):
        total = x[s] - y[s]
        j, end = np.uint64(ends[s]), np.uint64(ends[s + 1])
        while j < end and columns[j] + 1 < s:
            total += weights[j] * spare[columns[j]]
            j += one
        if j < end and columns[j] < s:
            total += weights[j] * last
        spare[s] = last = total
        y[s] += total
        product += y[s] * other[s]
        square += y[s] * y[s]
    return product, square


@entry
def solve(N: Any, pay: Any, goal: float, limit: int, v: Any, room: Any) -> tuple[int, float]:
    """Bring v [S] closer to the solution of v = pay + N v.

    Args:
        N: CSR rows [S, S] without a diagonal, columns ascending, (data, unsigned indices, indptr).
        pay: [S].
        goal: by which factor the largest residual is to fall.
        limit: the largest number of iterations.
        v: values [S], renewed if the residual did fall.
        room: seven arrays [S] to work in.

    Returns:
        The number of iterations, and the factor by which the residual fell; NaN if it broke down.
        Then, and if it grew, v is what it was.
    """
    weights, columns, ends = N
    left, shadow, p, ap, t, y, spare = room
    S = v.size
    first, rho = 0.0, 0.0
    for s in range(S):
        x = pay[s] - v[s]
        for j in range(ends[s], ends[s + 1]):
            k = columns[j]
            x += weights[j] * (v[k] + left[k] if k < s else v[k])
        left[s] = shadow[s] = p[s] = x
        y[s] = 0.0
        first = max(first, abs(x))
        rho += x * x
    n, largest = 0, first
    while n < limit and largest > goal * first and rho == rho:  # NaN does not equal itself
        n += 1
        solve_upper(N, p, ap)
        product, _ = solve_lower(N, p, ap, spare, shadow)
        alpha = rho / product
        for s in range(S):
            left[s] -= alpha * ap[s]
        solve_upper(N, left, t)
        product, square = solve_lower(N, left, t, spare, left)
        omega = product / square
        last, rho, largest = rho, 0.0, 0.0
        for s in range(S):
            y[s] += alpha * p[s] + omega * left[s]
            left[s] -= omega * t[s]
            rho += shadow[s] * left[s]
            largest = max(largest, abs(left[s]))
        beta = rho / last * alpha / omega
        for s in range(S):
            p[s] = left[s] + beta * (p[s] - omega * ap[s])
    if rho != rho:
        return n, np.nan
    if largest < first:
        solve_upper(N, y, t)
        for s in range(S):
            v[s] += t[s]
    return n, largest / first if first > 0.0 else 0.0
